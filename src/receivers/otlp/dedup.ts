import type { Clock, Counter, Outcome } from "../../plugin.js";
import { ACCEPTED } from "../../runtime/kit.js";

interface DedupSettings {
  readonly max_entries: number;
  /** Milliseconds. */
  readonly ttl: number;
}

/**
 * Recognises requests that were taken before, by the idempotency key their sender gives them, and answers them with
 * success without taking them again. A key is remembered only once everything of its request was accepted; a second
 * request with the same key that comes meanwhile waits for that. Bounded in number and time, and lives as long as the
 * receiver.
 */
export class Dedup {
  private readonly settings: DedupSettings;
  private readonly clock: Clock;
  private readonly duplicates: Counter;
  /** When each key was taken, oldest first. */
  private readonly acceptedAt = new Map<string, number>();
  private readonly inProgress = new Map<string, Promise<Outcome>>();

  constructor(settings: DedupSettings, clock: Clock, duplicates: Counter) {
    this.settings = settings;
    this.clock = clock;
    this.duplicates = duplicates;
  }

  async accept(key: string, handIn: () => Promise<Outcome>): Promise<Outcome> {
    for (;;) {
      if (this.wasAccepted(key)) {
        this.duplicates.add(1);
        return ACCEPTED;
      }
      const first = this.inProgress.get(key);
      if (first === undefined) return this.acceptFirst(key, handIn);
      await first;
      if (!this.wasAccepted(key) && !this.inProgress.has(key)) return this.acceptFirst(key, handIn);
    }
  }

  private async acceptFirst(key: string, handIn: () => Promise<Outcome>): Promise<Outcome> {
    const pending = handIn();
    this.inProgress.set(key, pending);
    const outcome = await pending;
    this.inProgress.delete(key);
    if (outcome.ok && outcome.rejected === 0) this.remember(key);
    return outcome;
  }

  private wasAccepted(key: string): boolean {
    const at = this.acceptedAt.get(key);
    return at !== undefined && this.clock.monotonic() - at < this.settings.ttl;
  }

  private remember(key: string): void {
    const now = this.clock.monotonic();
    this.acceptedAt.delete(key);
    this.acceptedAt.set(key, now);
    for (const [oldest, at] of this.acceptedAt) {
      if (this.acceptedAt.size <= this.settings.max_entries && now - at < this.settings.ttl) return;
      this.acceptedAt.delete(oldest);
    }
  }
}

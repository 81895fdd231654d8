import type { Clock, Counter, Outcome } from "../../plugin.js";

export interface DedupSettings {
  readonly max_entries: number;
  /** Milliseconds. */
  readonly ttl: number;
}

const TAKEN: Outcome = { ok: true, rejected: 0, message: "" };

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
  private readonly taken = new Map<string, number>();
  private readonly underWay = new Map<string, Promise<Outcome>>();

  constructor(settings: DedupSettings, clock: Clock, duplicates: Counter) {
    this.settings = settings;
    this.clock = clock;
    this.duplicates = duplicates;
  }

  async accept(key: string, take: () => Promise<Outcome>): Promise<Outcome> {
    for (;;) {
      if (this.wasTaken(key)) {
        this.duplicates.add(1);
        return TAKEN;
      }
      const first = this.underWay.get(key);
      if (first === undefined) return this.takeFirst(key, take);
      await first;
      if (!this.wasTaken(key) && !this.underWay.has(key)) return this.takeFirst(key, take);
    }
  }

  private async takeFirst(key: string, take: () => Promise<Outcome>): Promise<Outcome> {
    const taking = take();
    this.underWay.set(key, taking);
    const outcome = await taking;
    this.underWay.delete(key);
    if (outcome.ok && outcome.rejected === 0) this.remember(key);
    return outcome;
  }

  private wasTaken(key: string): boolean {
    const at = this.taken.get(key);
    return at !== undefined && this.clock.monotonic() - at < this.settings.ttl;
  }

  private remember(key: string): void {
    const now = this.clock.monotonic();
    this.taken.delete(key);
    this.taken.set(key, now);
    for (const [oldest, at] of this.taken) {
      if (this.taken.size <= this.settings.max_entries && now - at < this.settings.ttl) return;
      this.taken.delete(oldest);
    }
  }
}

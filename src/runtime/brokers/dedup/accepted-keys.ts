import type { Clock, Outcome } from "#contract";
import { OldestFirstMap } from "../oldest-first-map.js";
import type { KeyLog, RememberedKey } from "./key-log.js";

/** How many keys are remembered, and for how many milliseconds. */
export interface DedupSettings {
  readonly max_entries: number;
  readonly ttl: number;
}

/**
 * The keys that a receiver has accepted, and those that it is accepting. While a receiver takes the place of another
 * one, both use the same keys, so a request that comes to the new one is recognised although the old one has it.
 */
export class AcceptedKeys {
  /** Requests under way, by key. */
  readonly inProgress = new Map<string, Promise<Outcome>>();
  private readonly clock: Clock;
  private readonly log: KeyLog | undefined;
  /** Time of acceptance by key (monotonic). */
  private readonly acceptedAt = new OldestFirstMap<number>();
  private users = 0;
  private opened: Promise<void> = Promise.resolve();

  constructor(clock: Clock, log: KeyLog | undefined) {
    this.clock = clock;
    this.log = log;
  }

  get isUsed(): boolean {
    return this.users > 0;
  }

  /** The first user loads the keys accepted before the last stop. */
  async open(limits: DedupSettings): Promise<void> {
    this.users += 1;
    if (this.users === 1) this.opened = this.load(limits);
    try {
      await this.opened;
    } catch (error) {
      this.users -= 1;
      throw error;
    }
  }

  /** The last user closes the log. */
  async close(): Promise<void> {
    if (this.users > 0) this.users -= 1;
    if (this.users === 0) await this.log?.close();
  }

  has(key: string, { ttl }: DedupSettings): boolean {
    const at = this.acceptedAt.get(key);
    return at !== undefined && this.clock.monotonic() - at < ttl;
  }

  remember(key: string, { ttl, max_entries }: DedupSettings, ageMs = 0): void {
    const now = this.clock.monotonic();
    this.acceptedAt.set(key, now - ageMs);
    for (let { oldest } = this.acceptedAt; oldest !== undefined; { oldest } = this.acceptedAt) {
      const isOld = now - this.acceptedAt.get(oldest)! >= ttl;
      if (this.acceptedAt.size <= max_entries && !isOld) return;
      this.acceptedAt.delete(oldest);
    }
  }

  /** Resolves when the keys are written, or writing them has failed. */
  async write(keys: readonly string[]): Promise<void> {
    await this.log?.append(keys.map((key): RememberedKey => [key, this.clock.now()]));
  }

  private async load(limits: DedupSettings): Promise<void> {
    const now = this.clock.now();
    for (const [key, at] of (await this.log?.open()) ?? []) this.remember(key, limits, Math.max(0, now - at));
  }
}

/** The keys of running receivers, by agent (told by its sockets) and by name. */
const running = new WeakMap<object, Map<string, AcceptedKeys>>();

/** Returns the keys that a running receiver of this agent uses under this name, or new ones. */
export function sharedAcceptedKeys(agent: object | undefined, name: string, create: () => AcceptedKeys): AcceptedKeys {
  if (agent === undefined) return create();
  const named = running.get(agent) ?? new Map<string, AcceptedKeys>();
  running.set(agent, named);
  for (const [each, keys] of named) if (!keys.isUsed) named.delete(each);
  const keys = named.get(name) ?? create();
  named.set(name, keys);
  return keys;
}

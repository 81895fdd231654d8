import type { SharedRedis } from "#brokers";
import type { Clock } from "../../../plugin.js";

/** Counts of other agents arrive here within this time. */
const EXCHANGE_MS = 1000;
const FORGET_MS = 3_600_000;

const ADD = `
local totals = {redis.call("HINCRBY", KEYS[1], "records", ARGV[1]), redis.call("HINCRBY", KEYS[1], "errors", ARGV[2])}
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return totals`;

export interface Counts {
  readonly records: number;
  readonly errors: number;
}

export interface CountSource {
  /** Returns the counts of this agent since the last call. */
  takeOwn(): Counts;
  /** Adds the counts of other agents since the last call. */
  addOthers(counts: Counts): void;
}

/**
 * Adds this agent's counts to the total of all agents once a second, and derives the counts of the others: the
 * difference of two totals minus its own part. No batch waits for the exchange. While the server is unreachable, and
 * between two answers, the counts of others are unknown. Several pipelines may start it; it ends with the last one.
 */
export class CountExchange {
  private readonly redis: SharedRedis;
  private readonly key: string;
  private readonly clock: Clock;
  private readonly source: CountSource;
  private users = 0;
  private totals: Counts | undefined;
  private cancel = () => {};

  constructor(redis: SharedRedis, key: string, clock: Clock, source: CountSource) {
    this.redis = redis;
    this.key = key;
    this.clock = clock;
    this.source = source;
  }

  start(): void {
    if (this.users++ > 0) return;
    this.redis.start();
    this.schedule();
  }

  stop(): void {
    if (--this.users > 0) return;
    this.cancel();
    this.redis.stop();
  }

  private schedule(): void {
    this.cancel = this.clock.after(EXCHANGE_MS, () => {
      void this.exchange().then(() => this.users > 0 && this.schedule());
    });
  }

  private async exchange(): Promise<void> {
    const own = this.source.takeOwn();
    const answer = await this.redis.run((redis) => redis.eval(ADD, 1, this.key, own.records, own.errors, FORGET_MS));
    const before = this.totals;
    this.totals = undefined;
    if (answer === undefined) return;
    const [records, errors] = answer as [number, number];
    this.totals = { records, errors };
    if (before === undefined || records < before.records + own.records) return; // the server has lost its totals
    this.source.addOthers({
      records: records - before.records - own.records,
      errors: Math.max(0, errors - before.errors - own.errors),
    });
  }
}

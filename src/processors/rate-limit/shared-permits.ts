import type { SharedRedis } from "#brokers";
import type { Clock } from "../../plugin.js";
import type { Limit } from "./allowance.js";
import { Lease } from "./lease.js";

/** A permit is valid for a window divided by this number. In the long run, that much less than the limit passes. */
const LIFE_PARTS = 20;
/** Lower bound of a permit's life, because an answer may take that long. */
const MIN_LIFE_MS = 20;
const SLOTS = 64;

/**
 * Grants permits. The permits granted in any span of `ARGV[3]` ms are at most the capacity, and fill a bucket that
 * drains at the rate of the limit. They are counted in slots of time, which are forgotten only when they are completely
 * over: late, never early. Permits that come back were never used. The answer is the number of granted permits, their
 * slot, and the ms until there may be more.
 */
const GRANT = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local want, capacity, span, perMs, slotMs = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local level, last = 0, now
local counts, sum, first = {}, 0, nil
local fields = redis.call("HGETALL", KEYS[1])
for i = 1, #fields, 2 do
  local name, value = fields[i], tonumber(fields[i + 1])
  if name == "level" then level = value
  elseif name == "last" then last = value
  elseif (tonumber(name) + 1) * slotMs <= now - span then redis.call("HDEL", KEYS[1], name)
  else counts[name] = value end
end
for i = 6, #ARGV, 2 do
  local back = math.min(tonumber(ARGV[i + 1]), counts[ARGV[i]] or 0)
  if back > 0 then
    counts[ARGV[i]] = counts[ARGV[i]] - back
    redis.call("HSET", KEYS[1], ARGV[i], counts[ARGV[i]])
    level = level - back
  end
end
for name, value in pairs(counts) do
  sum = sum + value
  if value > 0 and (first == nil or tonumber(name) < first) then first = tonumber(name) end
end
level = math.max(0, level - math.max(0, now - last) * perMs)
local granted = math.max(0, math.min(want, capacity - sum, math.floor(capacity - level + 0.000001)))
local slot = string.format("%d", math.floor(now / slotMs))
if granted > 0 then redis.call("HINCRBY", KEYS[1], slot, granted) end
redis.call("HSET", KEYS[1], "level", tostring(level + granted), "last", string.format("%d", now))
redis.call("PEXPIRE", KEYS[1], math.ceil(span * 2 + (capacity / perMs)))
local wait = 0
if first ~= nil then wait = (first + 1) * slotMs + span - now end
return {granted, slot, math.ceil(wait)}`;

/** One limit of a processor, shared with all agents that have the same one. */
export class SharedPermits {
  private readonly redis: SharedRedis;
  private readonly limit: Limit;
  private readonly name: string;
  private readonly clock: Clock;
  private readonly lifeMs: number;

  constructor(redis: SharedRedis, limit: Limit, name: string, clock: Clock) {
    this.redis = redis;
    this.limit = limit;
    this.name = name;
    this.clock = clock;
    this.lifeMs = Math.max(MIN_LIFE_MS, limit.windowMs / LIFE_PARTS);
  }

  /** Whether Redis can be reached. If not, every agent applies the limits by itself. */
  get isUp(): boolean {
    return this.redis.isUp;
  }

  lease(key: string): Lease {
    return new Lease(key, this.lifeMs);
  }

  /** The maximum that can ever pass at once. */
  get capacity(): number {
    return this.limit.limit + this.limit.burst;
  }

  /** Maximum number of permits to fetch in advance: as many as the limit lets pass during the life of a permit. */
  get maxAhead(): number {
    const { limit, windowMs } = this.limit;
    return Math.ceil((limit * this.lifeMs) / windowMs);
  }

  /** Fetches up to `want` more permits, with one request per lease at a time. Resolves when the answer is known. */
  async fetch(lease: Lease, want: number): Promise<void> {
    if (lease.asking !== undefined || want <= 0 || this.clock.monotonic() < lease.deniedUntil) return;
    await this.ask(lease, want);
  }

  private ask(lease: Lease, want: number): Promise<void> {
    lease.asking = this.request(lease, want).finally(() => {
      lease.asking = undefined;
    });
    return lease.asking;
  }

  private async request(lease: Lease, want: number): Promise<void> {
    const askedAt = this.clock.monotonic();
    const answer = await this.redis.run((redis) =>
      redis.eval(GRANT, 1, `${this.name}:${lease.key}`, ...this.argumentsFor(lease, want, askedAt)),
    );
    if (answer === undefined) return;
    const [granted, slot, waitMs] = answer as [number, string, number];
    if (granted > 0) {
      lease.add(granted, String(slot), askedAt);
      this.clock.after(this.lifeMs + 1, () => this.returnUnused(lease));
    }
    if (granted < want) lease.deniedUntil = askedAt + Math.max(1, Math.min(waitMs, this.lifeMs / 2));
  }

  /** Gives unused permits back when a key becomes idle, so that other agents can use them. */
  private returnUnused(lease: Lease): void {
    const now = this.clock.monotonic();
    if (this.isUp && lease.asking === undefined && lease.hasUnused(now)) void this.ask(lease, 0);
  }

  private argumentsFor(lease: Lease, want: number, now: number): (string | number)[] {
    const { limit, windowMs, burst } = this.limit;
    const span = windowMs + this.lifeMs;
    return [
      Math.ceil(want),
      limit + burst,
      Math.ceil(span),
      limit / windowMs,
      Math.max(1, Math.ceil(span / SLOTS)),
      ...lease.takeUnused(now).flat(),
    ];
  }
}

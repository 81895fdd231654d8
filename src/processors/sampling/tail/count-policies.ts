import { FNV64_START, fnv64 } from "#codecs";
import type { Clock } from "../../../plugin.js";
import type { CreatePolicy, Evaluate } from "./policy.js";

/** Policies that only need a trace's id or size. */

const MAX_UINT64 = 0xffffffffffffffffn;
const DEFAULT_SALT = "default-hash-seed";

/** Keeps the same traces as the Collector does with this percentage and salt. */
export function probabilisticPolicy(percentage: number, salt: string): Evaluate {
  const threshold = shareOfUint64(percentage / 100);
  const seeded = fnv64(FNV64_START, Buffer.from(salt === "" ? DEFAULT_SALT : salt));
  const idBytes = Buffer.alloc(16);
  return ({ id }) => {
    idBytes.write(id, "latin1");
    return fnv64(seeded, idBytes) <= threshold;
  };
}

/** Returns a share of 2^64 - 1, rounded to 64 significant bits and then truncated. */
function shareOfUint64(ratio: number): bigint {
  if (ratio <= 0) return 0n;
  if (ratio >= 1) return MAX_UINT64;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, ratio);
  const exponent = (view.getUint16(0) >>> 4) - 1075;
  const product = MAX_UINT64 * ((view.getBigUint64(0) & 0xfffffffffffffn) | 0x10000000000000n);
  const excess = BigInt(product.toString(2).length - 64);
  let mantissa = product >> excess;
  const rest = product - (mantissa << excess);
  const half = 1n << (excess - 1n);
  if (rest > half || (rest === half && (mantissa & 1n) === 1n)) mantissa += 1n;
  const shift = excess + BigInt(exponent);
  return shift >= 0n ? mantissa << shift : mantissa >> -shift;
}

/** Keeps as many spans as there are tokens for. A trace passes as a whole or not at all. */
export function rateLimitingPolicy(spansPerSecond: number, burst: number): CreatePolicy {
  return ({ clock }) => {
    const bucket = new TokenBucket(spansPerSecond, burst > 0 ? burst : 2 * spansPerSecond, clock);
    return ({ spanCount }) => bucket.take(spanCount);
  };
}

export function bytesLimitingPolicy(bytesPerSecond: number, burst: number): CreatePolicy {
  return ({ clock }) => {
    const bucket = new TokenBucket(bytesPerSecond, burst > 0 ? burst : 2 * bytesPerSecond, clock);
    return ({ batch }) => bucket.take(batch.byteLength);
  };
}

export function spanCountPolicy(min: number, max: number): Evaluate {
  return (trace) => trace.spanCount >= min && (max === 0 || trace.spanCount <= max);
}

/** Admits `perSecond` on average and up to `burst` at once. Time is monotonic. */
class TokenBucket {
  private readonly perSecond: number;
  private readonly burst: number;
  private readonly clock: Clock;
  private tokens: number;
  private at: number;

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.perSecond = perSecond;
    this.burst = burst;
    this.clock = clock;
    this.tokens = burst;
    this.at = clock.monotonic();
  }

  /** Takes the whole amount, or nothing and returns false. */
  take(amount: number): boolean {
    const now = this.clock.monotonic();
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.at) * this.perSecond) / 1000);
    this.at = now;
    if (amount > this.tokens) return false;
    this.tokens -= amount;
    return true;
  }
}

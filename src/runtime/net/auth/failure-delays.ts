import { isIPv6 } from "node:net";
import type { Clock } from "#contract";

interface AddressFailures {
  count: number;
  /** Monotonic times: attempts before `until` are rejected; `at` is the last failure. */
  until: number;
  at: number;
}

/** The first failures cause no delay: a client with an old password should not lock out others at its address. */
const FREE_FAILURES = 10;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 60_000;
/** An address is forgotten after this time without a failure. */
const FORGET_MS = 600_000;
const MAX_ADDRESSES = 10_000;

/**
 * Delays attempts from an address that sent wrong credentials: the delay doubles with each failure. Bounded: with very
 * many addresses, those with the oldest failures are forgotten.
 */
export class FailureDelays {
  private readonly clock: Clock;
  private readonly byAddress = new Map<string, AddressFailures>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  waitMs(address: string | undefined): number {
    const failures = this.byAddress.get(keyOf(address));
    return failures === undefined ? 0 : Math.max(0, failures.until - this.clock.monotonic());
  }

  failed(address: string | undefined): void {
    const key = keyOf(address);
    const now = this.clock.monotonic();
    const earlier = this.byAddress.get(key);
    const count = 1 + (earlier !== undefined && now - earlier.at < FORGET_MS ? earlier.count : 0);
    const over = count - FREE_FAILURES;
    const delay = over < 0 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** over);
    this.byAddress.delete(key);
    this.byAddress.set(key, { count, until: now + delay, at: now });
    if (this.byAddress.size > MAX_ADDRESSES) this.byAddress.delete(this.byAddress.keys().next().value!);
  }
}

/** An IPv6 client usually controls a whole /64, so the key is that prefix. */
function keyOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address)) return address ?? "";
  const [front = "", back = ""] = address.split("%", 1)[0]!.split("::");
  const groups = front === "" ? [] : front.split(":");
  const zeros = address.includes("::") ? 8 - groups.length - (back === "" ? 0 : back.split(":").length) : 0;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...back.split(":")].slice(0, 4).join(":");
}

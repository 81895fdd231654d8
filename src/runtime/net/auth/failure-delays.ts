import { isIPv6 } from "node:net";
import type { Clock } from "#contract";

interface AddressFailures {
  count: number;
  /** Monotonic times: nothing more is verified before; the last failure. */
  until: number;
  at: number;
}

/** So many mistakes cost nothing: a client with an old password should not shut out its neighbours. */
const FREE_FAILURES = 10;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 60_000;
/** After so long without a failure an address begins anew. */
const FORGET_MS = 600_000;
const MAX_ADDRESSES = 10_000;

/**
 * How long whoever guesses from an address waits before the next guess is looked at: it doubles with each failure. Bounded: of
 * very many addresses those whose last failure is longest ago are forgotten.
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

/** Of IPv6 whoever has one address has all of its /64. */
function keyOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address)) return address ?? "";
  const [front = "", back = ""] = address.split("%", 1)[0]!.split("::");
  const groups = front === "" ? [] : front.split(":");
  const zeros = address.includes("::") ? 8 - groups.length - (back === "" ? 0 : back.split(":").length) : 0;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill("0"), ...back.split(":")].slice(0, 4).join(":");
}

import type { Entry } from "#contract/operations";
import type { Amount } from "./store.js";

export const ZERO_AMOUNT: Amount = { entries: 0, items: 0, bytes: 0 };

/** Returns `amount` with one entry more (1) or less (-1). */
export function adjustAmount(amount: Amount, entry: Pick<Entry, "items" | "bytes">, sign: 1 | -1): Amount {
  return {
    entries: amount.entries + sign,
    items: amount.items + sign * entry.items,
    bytes: amount.bytes + sign * entry.bytes,
  };
}

/** Returns an amount without a part of it; never less than zero. */
export function subtractAmount(all: Amount, part: Amount): Amount {
  if (all.entries <= part.entries) return ZERO_AMOUNT;
  return {
    entries: all.entries - part.entries,
    items: Math.max(0, all.items - part.items),
    bytes: Math.max(0, all.bytes - part.bytes),
  };
}

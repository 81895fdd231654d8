import type { Entry } from "../../../plugin.js";
import type { Amount } from "./store.js";

export const NOTHING: Amount = { entries: 0, items: 0, bytes: 0 };

/** `amount` with an entry more (1) or less (-1). */
export function counted(amount: Amount, entry: Pick<Entry, "items" | "bytes">, times: 1 | -1): Amount {
  return {
    entries: amount.entries + times,
    items: amount.items + times * entry.items,
    bytes: amount.bytes + times * entry.bytes,
  };
}

/** What is left of an amount without a part of it; never less than nothing. */
export function less(all: Amount, part: Amount): Amount {
  if (all.entries <= part.entries) return NOTHING;
  return {
    entries: all.entries - part.entries,
    items: Math.max(0, all.items - part.items),
    bytes: Math.max(0, all.bytes - part.bytes),
  };
}

import { quoteTable, quoteText } from "#brokers/postgres";
import { entriesOfKey } from "#contract";
import type { Row } from "./batch-rows.js";

/** The idempotency keys of rows. */
interface KeyedRows {
  /** The key of each row; undefined for a row that cannot be recognised. */
  readonly ofRow: readonly (string | undefined)[];
  /** Each key once, sorted. All agents lock them in this order, so no two of them wait for each other. */
  readonly keys: readonly string[];
}

/**
 * A record made of a message has the key of the message, whatever the way and however often it arrives. All other
 * records have the key of their entry, which is stored as a whole or not at all.
 */
export function keyedRows(rows: readonly Row[], count: number, key: string | undefined): KeyedRows {
  const entries = key === undefined || rows.length !== count ? undefined : entriesOfKey(key, count);
  const ofRow: (string | undefined)[] = [];
  let at = 0;
  let left = entries?.[0]?.items ?? 0;
  for (const { messageKey } of rows) {
    if (entries !== undefined && left === 0) left = entries[++at]!.items;
    left -= 1;
    ofRow.push(messageKey ?? entries?.[at]?.id ?? key);
  }
  const keys = new Set(ofRow.filter((each) => each !== undefined));
  return { ofRow, keys: [...keys].sort() };
}

/** Begins a transaction and stores the keys in it. The result is the keys that were new. */
export function rememberText(handledTable: string, consumer: string, keys: readonly string[]): string {
  return `BEGIN; INSERT INTO ${quoteTable(handledTable)} (consumer, idempotency_key)
    SELECT ${quoteText(consumer)}, unnest(ARRAY[${keys.map(quoteText).join(",")}]) ON CONFLICT DO NOTHING RETURNING idempotency_key`;
}

/** Returns the rows whose key was new. A message that is in the batch twice is returned once. */
export function freshRows(rows: readonly Row[], { ofRow }: KeyedRows, fresh: ReadonlySet<string>): Row[] {
  const seen = new Set<string>();
  return rows.filter(({ messageKey }, i) => {
    const key = ofRow[i];
    if (key !== undefined && !fresh.has(key)) return false;
    if (messageKey === undefined) return true;
    const isFirst = !seen.has(messageKey);
    seen.add(messageKey);
    return isFirst;
  });
}

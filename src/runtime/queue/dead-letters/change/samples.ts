import { createHash } from "node:crypto";
import type { Entry, ReplaySample } from "#contract/operations";
import type { Batch } from "#otlp";
import { batchToJson } from "#otlp/json";
import { isObject } from "#text/json";

/** Larger payloads are not compared. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_TEXT = 500;
const MAX_ITEMS = 20;

/** Masks a batch for display. Rejects if it cannot be shown. */
export type MaskSample = (batch: Batch) => Promise<Batch>;

/**
 * Shows a dead letter as it is stored and as it would be sent. If masking fails, nothing is shown; without a mask, it
 * is shown unmasked. Long texts and lists are cut on both sides in the same way, so that differences stay visible.
 */
export async function sampleOf(
  { id, exporter }: Entry,
  before: Batch,
  after: { readonly batch: Batch } | { readonly problem: string },
  mask: MaskSample | undefined,
): Promise<ReplaySample> {
  const about = { id, exporter, masked: mask !== undefined };
  if ("problem" in after) return { ...about, note: after.problem };
  if (before.byteLength + after.batch.byteLength > MAX_BYTES)
    return { ...about, note: `too large to be compared here (${before.byteLength} bytes)` };
  const trees = await Promise.all([treeOf(before, mask), treeOf(after.batch, mask)]).catch(() => undefined);
  if (trees === undefined) return { ...about, note: "not shown, because it cannot be masked" };
  const changed = Buffer.compare(before.bytes, after.batch.bytes) !== 0;
  const [shownBefore, shownAfter] = shortenBoth(...trees);
  return { ...about, changed, before: shownBefore, after: shownAfter };
}

async function treeOf(batch: Batch, mask: MaskSample | undefined): Promise<unknown> {
  return JSON.parse(batchToJson(mask === undefined ? batch : await mask(batch)));
}

type ShownObject = Readonly<Record<string, unknown>>;

/** Shortens both values. Values that differ stay different. */
export function shortenBoth(before: unknown, after: unknown): [unknown, unknown] {
  if (Array.isArray(before) && Array.isArray(after)) return shortenLists(before, after);
  if (isObject(before) && isObject(after)) return shortenObjects(before, after);
  return [shorten(before), shorten(after)];
}

function shortenObjects(before: ShownObject, after: ShownObject): [ShownObject, ShownObject] {
  const [old, next]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const name of Object.keys(before)) {
    if (Object.hasOwn(after, name)) [old[name], next[name]] = shortenBoth(before[name], after[name]);
    else old[name] = shorten(before[name]);
  }
  for (const name of Object.keys(after)) if (!Object.hasOwn(before, name)) next[name] = shorten(after[name]);
  return [old, next];
}

/** Shortens long lists: keeps the items that differ if the lengths are equal, otherwise the first items. */
function shortenLists(before: readonly unknown[], after: readonly unknown[]): [unknown[], unknown[]] {
  if (before.length !== after.length) return [shortenList(before), shortenList(after)];
  const all = before.map((_, i) => i);
  const differing = all.filter((i) => JSON.stringify(before[i]) !== JSON.stringify(after[i]));
  const chosen = all.length <= MAX_ITEMS ? all : (differing.length > 0 ? differing : all).slice(0, MAX_ITEMS);
  const pairs = chosen.map((i) => shortenBoth(before[i], after[i]));
  const left = leftOut(all.length - chosen.length);
  return [
    [...pairs.map(([old]) => old), ...left],
    [...pairs.map(([, next]) => next), ...left],
  ];
}

function shortenList(items: readonly unknown[]): unknown[] {
  return [...items.slice(0, MAX_ITEMS).map(shorten), ...leftOut(items.length - MAX_ITEMS)];
}

function leftOut(count: number): string[] {
  return count > 0 ? [`… ${count} more`] : [];
}

function shorten(value: unknown): unknown {
  if (typeof value === "string") return shortenText(value);
  if (Array.isArray(value)) return shortenList(value);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shorten(member)]));
}

/** Adds the length and a hash, so that two long texts with the same beginning stay distinguishable. */
function shortenText(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 8);
  return `${text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, "")}… (${text.length} characters, sha256 ${digest})`;
}

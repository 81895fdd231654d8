import { AdminError, type DeadLetterPage, type DeadLetterQuery, type Entry, glob } from "../../plugin.js";
import type { ExporterControl } from "./control.js";
import { decodeCursor, encodeCursor } from "./cursor.js";
import type { EntryRef, QueueStore, StoredEntry } from "./store/store.js";

/** Exporters that have a queue, by id. */
export type Controls = ReadonlyMap<string, ExporterControl>;

/** A dead letter and where it is. */
export interface Found extends StoredEntry {
  readonly control: ExporterControl & { readonly store: QueueStore };
}

const DEFAULT_LIMIT = 50;
export const MOST_ON_A_PAGE = 1000;
const READ_AT_ONCE = 500;
/** A filter that finds little must not make one answer take long: about a tenth of a second for so many. */
const MOST_LOOKED_AT = 5000;

/** True for the entries a query asks for. */
export function matcher(query: DeadLetterQuery): (entry: Entry) => boolean {
  const { reason, category, signature, signal, since, until, event } = query;
  const isEvent = event === undefined ? undefined : glob(event);
  return (entry) => {
    const { failure } = entry;
    return (
      failure !== undefined &&
      (reason === undefined || failure.reason === reason) &&
      (category === undefined || failure.category === category) &&
      (signature === undefined || failure.signature === signature) &&
      (signal === undefined || entry.signal === signal) &&
      (since === undefined || failure.at >= since) &&
      (until === undefined || failure.at < until) &&
      (isEvent === undefined || failure.names.some(isEvent))
    );
  };
}

/** The stores a query looks into. Rejects an exporter that is not there. */
export function searched(controls: Controls, { exporter }: DeadLetterQuery): Found["control"][] {
  if (exporter !== undefined && !controls.has(exporter)) {
    const known = [...controls.keys()].join(", ") || "none";
    throw new AdminError("not_found", `there is no exporter ${JSON.stringify(exporter)}; there are: ${known}`);
  }
  const wanted = [...controls.values()].filter(({ id }) => exporter === undefined || id === exporter);
  return wanted.filter((control): control is Found["control"] => control.store !== undefined);
}

/** Goes through a store's dead letters page by page; what comes or goes meanwhile does no harm. */
export async function* walk(
  store: QueueStore,
  order: "oldest" | "newest" = "oldest",
  after?: EntryRef,
  readAtOnce = READ_AT_ONCE,
): AsyncGenerator<StoredEntry> {
  for (let at = after; ; ) {
    const page = await store.failed(at, readAtOnce, order);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < readAtOnce) return;
    at = last.ref;
  }
}

/** All dead letters a query finds, store by store, the oldest first; its limit and cursor are not looked at. */
export async function* search(controls: Controls, query: DeadLetterQuery): AsyncGenerator<Found> {
  const matches = matcher(query);
  for (const control of searched(controls, query)) {
    for await (const stored of walk(control.store)) if (matches(stored.entry)) yield { ...stored, control };
  }
}

/**
 * One page of what a query finds, all stores merged by the time of the failure. When a filter finds little it ends early,
 * with a cursor: the next page goes on from there.
 */
export async function listPage(
  controls: Controls,
  query: DeadLetterQuery,
  mostLookedAt = MOST_LOOKED_AT,
): Promise<DeadLetterPage> {
  const { limit = DEFAULT_LIMIT, order = "newest" } = query;
  const positions: Record<string, EntryRef> =
    query.cursor === undefined ? {} : { ...decodeCursor(query.cursor, query) };
  const matches = matcher(query);
  const readAtOnce = Math.min(isFiltered(query) ? READ_AT_ONCE : limit + 1, READ_AT_ONCE);
  const heads = await Promise.all(
    searched(controls, query).map((control) => headOf(control, order, positions[control.id], readAtOnce)),
  );
  const entries: Entry[] = [];
  for (let looked = 0; ; looked++) {
    const head = first(heads, order);
    if (head?.stored === undefined) return { entries };
    const { ref, entry } = head.stored;
    const isMatch = matches(entry);
    if (looked >= mostLookedAt || (isMatch && entries.length === limit))
      return { entries, cursor: encodeCursor(positions, query) };
    if (isMatch) entries.push(entry);
    positions[head.id] = ref;
    await head.advance();
  }
}

function isFiltered({ exporter: _, limit: __, cursor: ___, order: ____, ...filters }: DeadLetterQuery): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

interface Head {
  readonly id: string;
  stored: StoredEntry | undefined;
  advance(): Promise<void>;
}

async function headOf(
  { id, store }: Found["control"],
  order: "oldest" | "newest",
  after: EntryRef | undefined,
  readAtOnce: number,
): Promise<Head> {
  const entries = walk(store, order, after, readAtOnce);
  const head: Head = {
    id,
    stored: undefined,
    async advance() {
      head.stored = (await entries.next()).value ?? undefined;
    },
  };
  await head.advance();
  return head;
}

/** The head whose entry comes next. */
function first(heads: readonly Head[], order: "oldest" | "newest"): Head | undefined {
  const sign = order === "oldest" ? 1 : -1;
  let best: Head | undefined;
  for (const head of heads) {
    if (head.stored === undefined) continue;
    if (best === undefined || sign * (failedAt(head) - failedAt(best)) < 0) best = head;
  }
  return best;
}

function failedAt({ stored }: Head): number {
  return stored?.entry.failure?.at ?? 0;
}

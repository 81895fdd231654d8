import { AdminError } from "#contract/operations";
import type { WorkerGroup } from "./worker-group.js";

/** A page of one worker. Without a cursor it is the last one. */
interface WorkerPage<T> {
  readonly items: readonly T[];
  readonly cursor?: string | undefined;
}

interface MergedPages<T> extends WorkerPage<T> {
  readonly unavailable: readonly number[];
}

/** How pages are read and merged. */
interface PageReader<T> {
  /** Reads a page of a worker that has at most this many items. */
  read(worker: number, limit: number, cursor: string | undefined): Promise<WorkerPage<T>>;
  readonly limit: number;
  readonly cursor: string | undefined;
  /** Whether the first item comes before the second one. */
  isBefore(one: T, other: T): boolean;
}

/** Where a worker's next page begins; `done` if there is none. */
type Position = { readonly from: string | undefined } | "done";

/**
 * One page of the items of all workers, in order. Each worker is asked for a full page, and those of which only a part
 * is needed are asked again for exactly that part, because only a worker knows the cursor behind an item. So what is
 * returned and the cursor always fit together, whatever changes meanwhile: nothing is left out, and nothing comes twice.
 *
 * A worker whose search ended early has a short page with a cursor. Nothing behind its last item can be returned yet,
 * so the merged page is short too.
 */
export async function mergePages<T>(group: WorkerGroup, reader: PageReader<T>): Promise<MergedPages<T>> {
  const { read, limit, isBefore } = reader;
  const positions = new Map(decodePositions(reader.cursor));
  const asked = group.numbers.filter((worker) => positions.get(worker) !== "done");
  const { answers, unavailable } = await group.askEach(
    (worker) => read(worker, limit, fromOf(positions, worker)),
    asked,
  );
  const pages = new Map(answers.map(({ worker, value }) => [worker, value]));
  const taken = countTaken(pages, limit, isBefore);
  const parts = await group.askEach(
    async (worker) => {
      const page = pages.get(worker)!;
      const count = taken.get(worker)!;
      if (count === page.items.length) return page;
      return read(worker, count, fromOf(positions, worker));
    },
    [...pages.keys()].filter((worker) => taken.get(worker)! > 0),
  );
  for (const [worker, { items, cursor }] of pages)
    if (items.length === 0) positions.set(worker, cursor === undefined ? "done" : { from: cursor });
  for (const { worker, value } of parts.answers)
    positions.set(worker, value.cursor === undefined ? "done" : { from: value.cursor });
  const hasMore = [...pages.keys()].some((worker) => positions.get(worker) !== "done");
  return {
    items: mergeLists(
      parts.answers.map(({ value }) => value.items),
      isBefore,
    ),
    ...(hasMore && { cursor: encodePositions(positions) }),
    unavailable: [...unavailable, ...parts.unavailable],
  };
}

function fromOf(positions: ReadonlyMap<number, Position>, worker: number): string | undefined {
  const position = positions.get(worker);
  return position === undefined || position === "done" ? undefined : position.from;
}

/** How many items of each page are in the merged one. */
function countTaken<T>(
  pages: ReadonlyMap<number, WorkerPage<T>>,
  limit: number,
  isBefore: PageReader<T>["isBefore"],
): Map<number, number> {
  const taken = new Map([...pages.keys()].map((worker) => [worker, 0]));
  for (let left = limit; left > 0; left--) {
    let next: { readonly worker: number; readonly item: T } | undefined;
    for (const [worker, { items, cursor }] of pages) {
      const at = taken.get(worker)!;
      if (at === items.length && cursor !== undefined) return taken;
      if (at < items.length && (next === undefined || isBefore(items[at]!, next.item)))
        next = { worker, item: items[at]! };
    }
    if (next === undefined) return taken;
    taken.set(next.worker, taken.get(next.worker)! + 1);
  }
  return taken;
}

/** Merges lists that are in order. Of equal items, that of the first list comes first. */
function mergeLists<T>(lists: readonly (readonly T[])[], isBefore: (one: T, other: T) => boolean): T[] {
  const at = lists.map(() => 0);
  const merged: T[] = [];
  for (;;) {
    let next = -1;
    lists.forEach((list, index) => {
      const item = list[at[index]!];
      if (item !== undefined && (next === -1 || isBefore(item, lists[next]![at[next]!]!))) next = index;
    });
    if (next === -1) return merged;
    merged.push(lists[next]![at[next]!]!);
    at[next]! += 1;
  }
}

/**
 * The number of workers, then the number of each with its own cursor. A worker that is not in it has not been read yet.
 * The cursors inside recognise by themselves whether they were changed or cut.
 */
function encodePositions(positions: ReadonlyMap<number, Position>): string {
  const parts = [...positions].flatMap(([worker, position]) => {
    if (position === "done") return [`${worker}~`];
    return position.from === undefined ? [] : [`${worker}~${position.from}`];
  });
  return [parts.length, ...parts].join(".");
}

function decodePositions(cursor: string | undefined): [number, Position][] {
  if (cursor === undefined) return [];
  const [count, ...parts] = cursor.split(".");
  const read = parts.map((part): [number, Position] => {
    const [, worker, from] = /^([1-9]\d{0,3})~([\w-]*)$/.exec(part) ?? [];
    return [Number(worker), from === "" ? "done" : { from }];
  });
  const isValid = count === String(parts.length) && read.every(([worker]) => worker > 0);
  if (isValid) return read;
  throw new AdminError(
    "bad_request",
    "the cursor is damaged: give it as it was printed, or leave it out to start over",
  );
}

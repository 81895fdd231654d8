import type { ArchivedObject, ArchiveSource } from "./archive-source.js";
import { partitionRanges } from "./partitions.js";

/** The objects of an archive that belong to a time range. */
export interface ArchiveSelection {
  /** The folder inside the place; empty, or ending with a slash. */
  readonly base: string;
  /** The format of the partitions; undefined if there are none. Then objects are chosen by when they were written. */
  readonly partitions: string | undefined;
  /** The time zone of the partitions; "" is that of the machine. */
  readonly timezone: string;
  /** Milliseconds since the epoch: at or after `since`, and before `until`. */
  readonly since: number;
  readonly until: number;
}

/** How far a walk has come: everything up to the key `after`, in the list with the number `list`. */
export interface WalkPosition {
  readonly list: number;
  readonly after?: string | undefined;
}

export interface WalkedObject {
  readonly object: ArchivedObject;
  /** The position behind this object. */
  readonly position: WalkPosition;
}

/** Yields the selected objects in a fixed order, from a position on. Only the partitions of the range are listed. */
export async function* walkArchive(
  source: ArchiveSource,
  selection: ArchiveSelection,
  from: WalkPosition = { list: 0 },
  abort: AbortSignal = new AbortController().signal,
): AsyncGenerator<WalkedObject> {
  const { base, partitions, since, until } = selection;
  const prefixes = partitions === undefined ? [base] : prefixesOf(partitions, selection);
  let list = -1;
  for (const prefix of prefixes) {
    list++;
    if (list < from.list) continue;
    const after = list === from.list ? from.after : undefined;
    for await (const object of source.list(prefix, after, abort)) {
      abort.throwIfAborted();
      if (partitions === undefined && (object.modifiedAt < since || object.modifiedAt >= until)) continue;
      yield { object, position: { list, after: object.key } };
    }
  }
}

function* prefixesOf(format: string, { since, until, base, timezone }: ArchiveSelection): Generator<string> {
  for (const { prefix } of partitionRanges(format, since, until, base, timezone)) yield prefix;
}

/**
 * The folder of a prefix as people write it. Exporters name objects in the same way: a slash at the start stays, others
 * that are not needed do not.
 */
export function baseOf(prefix: string): string {
  const folders = prefix.split("/").filter((part) => part !== "" && part !== "." && part !== "..");
  return (prefix.startsWith("/") ? "/" : "") + folders.map((folder) => `${folder}/`).join("");
}

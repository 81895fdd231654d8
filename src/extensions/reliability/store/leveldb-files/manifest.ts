import { readLogRecords } from "./log.js";
import { VarintReader } from "./varint-reader.js";

/** Numbers of the fields of an edit, as LevelDB's version_edit.cc has them. */
const FIELD = { comparator: 1, log: 2, next: 3, last: 4, pointer: 5, deleted: 6, added: 7, previousLog: 9 };

/** What a MANIFEST says of the tables in use; others are what a crash left of a compaction. */
export interface ManifestTables {
  /** The size of each by its number. */
  readonly sizes: ReadonlyMap<number, number>;
  /** Nothing in them was written later. */
  readonly lastSequence: number;
}

/** Undefined when it says something that is not known here. */
export function readManifestTables(manifest: Buffer): ManifestTables | undefined {
  const found = { sizes: new Map<number, number>(), lastSequence: 0 };
  try {
    for (const edit of readLogRecords(manifest)) applyEdit(new VarintReader(edit), found);
    return found;
  } catch {
    return undefined;
  }
}

function applyEdit(edit: VarintReader, found: { sizes: Map<number, number>; lastSequence: number }): void {
  while (!edit.isAtEnd) {
    const field = edit.next();
    if (field === FIELD.comparator) edit.skip(edit.next());
    else if (field === FIELD.pointer) {
      edit.next();
      edit.skip(edit.next());
    } else if (field === FIELD.deleted) {
      edit.next();
      found.sizes.delete(edit.next());
    } else if (field === FIELD.added) {
      edit.next();
      found.sizes.set(edit.next(), edit.next());
      edit.skip(edit.next());
      edit.skip(edit.next());
    } else if (field === FIELD.last) found.lastSequence = edit.next();
    else if ([FIELD.log, FIELD.next, FIELD.previousLog].includes(field)) edit.next();
    else throw new RangeError(`field ${field}`);
  }
}

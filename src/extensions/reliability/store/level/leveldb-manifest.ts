import { recordsOf } from "./leveldb-log.js";
import { Varints } from "./varints.js";

/** Numbers of the fields of an edit, as LevelDB's version_edit.cc has them. */
const FIELD = { comparator: 1, log: 2, next: 3, last: 4, pointer: 5, deleted: 6, added: 7, previousLog: 9 };

/**
 * The numbers of the table files that a MANIFEST holds to be in use; others are what a crash left of a compaction.
 * Undefined when it says something that is not known here.
 */
export function tablesIn(manifest: Buffer): ReadonlySet<number> | undefined {
  const tables = new Set<number>();
  try {
    for (const edit of recordsOf(manifest)) apply(new Varints(edit), tables);
    return tables;
  } catch {
    return undefined;
  }
}

function apply(edit: Varints, tables: Set<number>): void {
  while (!edit.isAtEnd) {
    const field = edit.next();
    if (field === FIELD.comparator) edit.skip(edit.next());
    else if (field === FIELD.pointer) {
      edit.next();
      edit.skip(edit.next());
    } else if (field === FIELD.deleted) {
      edit.next();
      tables.delete(edit.next());
    } else if (field === FIELD.added) {
      edit.next();
      tables.add(edit.next());
      edit.next();
      edit.skip(edit.next());
      edit.skip(edit.next());
    } else if ([FIELD.log, FIELD.next, FIELD.last, FIELD.previousLog].includes(field)) edit.next();
    else throw new RangeError(`field ${field}`);
  }
}

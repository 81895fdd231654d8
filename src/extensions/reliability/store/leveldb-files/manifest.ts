import { readLog, wholeRecord } from "./log.js";
import { VarintReader } from "./varint-reader.js";

/** Numbers of the fields of an edit, as LevelDB's version_edit.cc has them. */
const FIELD = { comparator: 1, log: 2, next: 3, last: 4, pointer: 5, deleted: 6, added: 7, previousLog: 9 };

/** What a MANIFEST says of the files in use; others are what a crash left of a compaction. */
export interface Manifest {
  /** The size of each table by its number. */
  readonly sizes: ReadonlyMap<number, number>;
  /** Logs from this number on hold what is in no table yet; there is none in a store that was never opened. */
  readonly logNumber: number;
  /** Nothing in the tables was written later. */
  readonly lastSequence: number;
}

/** Undefined when it is damaged or cut to nothing, or says something that is not known here. */
export function readManifest(bytes: Buffer): Manifest | undefined {
  const { records, isIntact } = readLog(bytes);
  const found: Edits = { sizes: new Map(), logNumber: undefined, lastSequence: undefined };
  if (!isIntact) return undefined;
  try {
    for (const record of records) applyEdit(new VarintReader(wholeRecord(record)!), found);
  } catch {
    return undefined;
  }
  const { sizes, logNumber, lastSequence } = found;
  return logNumber === undefined || lastSequence === undefined ? undefined : { sizes, logNumber, lastSequence };
}

interface Edits {
  readonly sizes: Map<number, number>;
  logNumber: number | undefined;
  lastSequence: number | undefined;
}

function applyEdit(edit: VarintReader, found: Edits): void {
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
    else if (field === FIELD.log) found.logNumber = edit.next();
    else if (field === FIELD.next || field === FIELD.previousLog) edit.next();
    else throw new RangeError(`field ${field}`);
  }
}

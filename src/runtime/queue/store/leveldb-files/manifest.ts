import { isKeyAfter, KEY_SUFFIX_BYTES } from "./block.js";
import { readLog, wholeRecord } from "./log.js";
import { VarintReader } from "./varint-reader.js";

/** Field numbers of an edit, from LevelDB's version_edit.cc. */
const FIELD = { comparator: 1, log: 2, next: 3, last: 4, pointer: 5, deleted: 6, added: 7, previousLog: 9 };
const COMPARATOR = "leveldb.BytewiseComparator";
const LEVELS = 7;

/** The files in use according to a MANIFEST. Other files are left over from a compaction that crashed. */
export interface Manifest {
  /** Tables by number. */
  readonly tables: ReadonlyMap<number, ManifestTable>;
  /** Logs from this number on hold data that is in no table yet; 0 in a store that was never opened. */
  readonly logNumber: number;
  /** No change in the tables has a greater sequence number. */
  readonly lastSequence: number;
}

export interface ManifestTable {
  readonly level: number;
  readonly size: number;
  /** The first and last keys, with LevelDB's suffix. */
  readonly smallest: Buffer;
  readonly largest: Buffer;
}

/**
 * Returns undefined if the MANIFEST is damaged or truncated to nothing, or has content that is unknown here or that
 * LevelDB would never write. Duplicate edits name files twice or decrease numbers, and then LevelDB ends the process or
 * overwrites files.
 */
export function readManifest(bytes: Buffer): Manifest | undefined {
  const { records, isIntact } = readLog(bytes);
  const edits = new Edits();
  if (!isIntact) return undefined;
  try {
    for (const record of records) edits.apply(wholeRecord(record)!);
    return edits.finish();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

/** Applies edits. Throws a RangeError for anything that LevelDB would not write. */
class Edits {
  private readonly tables = new Map<number, ManifestTable>();
  private readonly numbers = new Map<number, number>();

  apply(bytes: Buffer): void {
    const edit = new VarintReader(bytes);
    while (!edit.isAtEnd) {
      const field = edit.next();
      if (field === FIELD.comparator) check(takeBytes(edit).toString() === COMPARATOR, "comparator");
      else if (field === FIELD.pointer) {
        edit.next();
        takeBytes(edit);
      } else if (field === FIELD.deleted) this.remove(edit.next(), edit.next());
      else if (field === FIELD.added) this.add(edit);
      else if (field === FIELD.last || field === FIELD.log || field === FIELD.next) this.raise(field, edit.next());
      else if (field === FIELD.previousLog) edit.next();
      else throw new RangeError(`field ${field}`);
    }
  }

  finish(): Manifest | undefined {
    const [logNumber, lastSequence, next] = [FIELD.log, FIELD.last, FIELD.next].map((field) => this.numbers.get(field));
    if (logNumber === undefined || lastSequence === undefined || next === undefined) return undefined;
    check(
      [...this.tables.keys()].every((number) => number < next),
      "number of a file",
    );
    for (let level = 1; level < LEVELS; level++) this.checkLevel(level);
    return { tables: this.tables, logNumber, lastSequence };
  }

  private add(edit: VarintReader): void {
    const [level, number, size] = [edit.next(), edit.next(), edit.next()];
    const [smallest, largest] = [takeBytes(edit), takeBytes(edit)];
    check(level < LEVELS && !this.tables.has(number), "a file twice");
    check(smallest.length >= KEY_SUFFIX_BYTES && largest.length >= KEY_SUFFIX_BYTES, "a key");
    this.tables.set(number, { level, size, smallest, largest });
  }

  private remove(level: number, number: number): void {
    check(this.tables.get(number)?.level === level, "no such file");
    this.tables.delete(number);
  }

  private raise(field: number, value: number): void {
    check(value >= (this.numbers.get(field) ?? 0), "a number that falls");
    this.numbers.set(field, value);
  }

  /** Except on the first level, tables have no keys in common. */
  private checkLevel(level: number): void {
    const tables = [...this.tables.values()].filter((table) => table.level === level);
    tables.sort((a, b) => (isKeyAfter(a.smallest, b.smallest) ? 1 : -1));
    for (const [i, { smallest }] of tables.entries())
      check(i === 0 || isKeyAfter(smallest, tables[i - 1]!.largest), "tables with common keys");
  }
}

function takeBytes(reader: VarintReader): Buffer {
  return Buffer.from(reader.take(reader.next()));
}

function check(isTrue: boolean, what: string): void {
  if (!isTrue) throw new RangeError(what);
}

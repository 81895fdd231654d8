import { isFrameIntact, keyOfValue, META_KEY, RANGES, rangeOf } from "../format/layout.js";
import { asBuffer } from "./block.js";
import { type LogRecord, wholeRecord } from "./log.js";
import { ifIntact, VarintReader } from "./varint-reader.js";

/** One change in a log: a value or a deletion. A change with a greater sequence number came later. */
export interface LogChange {
  readonly key: Buffer;
  readonly value: Buffer | undefined;
  readonly sequence: number;
  /** Whether the number was lost. Then `sequence` is a substitute that fits. */
  readonly isSequenceLost?: boolean;
}

/**
 * Reads the changes of a log record, which has the changes of one commit: sequence number of the first change (8
 * bytes), number of changes (4), and for each a tag (1: value, 0: deletion), key and value, both preceded by their
 * lengths.
 *
 * From a damaged record every trustworthy value is read: those inside one intact fragment, and those that are intact by
 * their own checksum. Deletions are left out, because the commit may have put the same data under another key, in the
 * part that is lost. Sending an entry again is better than losing it. Intact fragments may come from two records, if a
 * part of the log is misplaced.
 */
export function readChanges(record: LogRecord, sequenceIfLost: number): LogChange[] {
  return readWholeChanges(record) ?? salvageChanges(record, sequenceIfLost);
}

/** Returns the changes of an intact record; otherwise undefined. */
export function readWholeChanges(record: LogRecord): LogChange[] | undefined {
  const whole = wholeRecord(record);
  return whole && ifIntact(() => readWhole(whole));
}

/** Returns a record with these changes. */
export function makeWriteBatch(changes: readonly LogChange[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeBigUInt64LE(BigInt(changes[0]?.sequence ?? 0), 0);
  header.writeUInt32LE(changes.length, 8);
  return Buffer.concat([header, ...changes.flatMap(changeBytes)]);
}

const HEADER_BYTES = 12;
const DELETION = 0;
const VALUE = 1;

function changeBytes({ key, value }: LogChange): Buffer[] {
  const head = [Buffer.of(value === undefined ? DELETION : VALUE), varint(key.length), key];
  return value === undefined ? head : [...head, varint(value.length), value];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function readWhole(bytes: Buffer): LogChange[] {
  if (bytes.length < HEADER_BYTES) throw new RangeError("no commit");
  const first = Number(bytes.readBigUInt64LE(0));
  const changes: LogChange[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const { key, value, end } = readChangeAt(bytes, at);
    if (!isOurKey(key)) throw new RangeError("no key of ours");
    changes.push({ key, value, sequence: first + changes.length });
    at = end;
  }
  if (changes.length !== bytes.readUInt32LE(8) || !Number.isSafeInteger(first + changes.length))
    throw new RangeError("not all of a commit");
  return changes;
}

function isOurKey(key: Buffer): boolean {
  return KEY_LENGTHS.get(key[0]!)?.(key.length) === true;
}

interface ChangeAt {
  readonly key: Buffer;
  readonly value: Buffer | undefined;
  readonly end: number;
}

/** Throws a RangeError if there is none. */
function readChangeAt(bytes: Buffer, at: number): ChangeAt {
  const tag = bytes[at];
  if (tag !== DELETION && tag !== VALUE) throw new RangeError("no change");
  const reader = new VarintReader(bytes, at + 1);
  const key = asBuffer(reader.take(reader.next()));
  const value = tag === VALUE ? asBuffer(reader.take(reader.next())) : undefined;
  return { key, value, end: reader.position };
}

/**
 * Proceeds from change to change as long as the beginning of the next is known, which is right after an intact one.
 * After damage, the next known position is where an intact value names the key before it.
 */
function salvageChanges(record: LogRecord, sequenceIfLost: number): LogChange[] {
  const bytes = Buffer.concat(record.map((fragment) => fragment.bytes));
  const isTrusted = trustedRanges(record);
  const hasHeader = record[0]?.isIntact === true && isTrusted(0, HEADER_BYTES);
  const isSequenceLost = !hasHeader || !Number.isSafeInteger(Number(bytes.readBigUInt64LE(0)));
  let sequence = isSequenceLost ? sequenceIfLost : Number(bytes.readBigUInt64LE(0));
  const changes: LogChange[] = [];
  let isAligned = hasHeader;
  for (let at = hasHeader ? HEADER_BYTES : 0; at < bytes.length; ) {
    const found = mayBeginAt(bytes, at) ? ifIntact(() => readChangeAt(bytes, at)) : undefined;
    const isKept = isAligned && found !== undefined && isTrusted(at, found.end) && isOurKey(found.key);
    const key = found && (isKept ? found.key : provenKey(found));
    if (key !== undefined && found?.value !== undefined)
      changes.push({ key, value: found.value, sequence, isSequenceLost });
    if (key !== undefined || isAligned) sequence++;
    isAligned = key !== undefined || (isAligned && found !== undefined && mayBeginAt(bytes, found.end));
    at = isAligned ? found!.end : at + 1;
  }
  return changes;
}

/** Returns whether all bytes between two positions are inside one intact fragment. */
function trustedRanges(record: LogRecord): (from: number, to: number) => boolean {
  let at = 0;
  const whole: [number, number][] = [];
  for (const { bytes, isIntact } of record) {
    if (isIntact) whole.push([at, at + bytes.length]);
    at += bytes.length;
  }
  return (from, to) => whole.some(([start, end]) => from >= start && to <= end);
}

/** Returns the key that an intact value names. */
function provenKey({ key, value }: ChangeAt): Buffer | undefined {
  if (value === undefined || !isFrameIntact(value)) return undefined;
  const said = keyOfValue(value);
  if (said !== undefined) return said;
  return value[4] === key[0] && (rangeOf(key) === RANGES.id || key.equals(META_KEY)) ? key : undefined;
}

/** Whether a change of ours may begin at this position, or the record ends there. */
function mayBeginAt(bytes: Buffer, at: number): boolean {
  if (at === bytes.length) return true;
  if (at + 3 > bytes.length || bytes[at]! > VALUE) return false;
  return KEY_LENGTHS.get(bytes[at + 2]!)?.(bytes[at + 1]!) === true;
}

const withRef = (length: number) => length === 9;
const KEY_LENGTHS: ReadonlyMap<number, (length: number) => boolean> = new Map(
  Object.entries({
    [RANGES.entry]: withRef,
    [RANGES.update]: withRef,
    [RANGES.failed]: withRef,
    [RANGES.moved]: withRef,
    [RANGES.note]: withRef,
    [RANGES.chunk]: (length: number) => length === 13,
    [RANGES.meta]: (length: number) => length === 1,
    [RANGES.id]: (length: number) => length > 1,
    [RANGES.quarantine]: (length: number) => length > 9,
  }).map(([range, fits]) => [range.charCodeAt(0), fits]),
);

import { crc32c, maskCrc } from "../format/crc32c.js";

/**
 * LevelDB's logs (and its MANIFEST, which has the same form) are blocks of 32 KiB, filled with fragments: checksum (4),
 * length (2), type (1), bytes. One record is one fragment, or several when it does not fit into its block. What a crash
 * leaves is a fragment that ends with the file; anything else that does not add up is damage.
 */
export interface LogContent {
  readonly records: readonly LogRecord[];
  readonly isIntact: boolean;
  /** It ends in the middle of a record, as a crash leaves it. */
  readonly isTorn: boolean;
}

/** What was written with one call, as far as it is there: the beginning or the end may be missing when it is damaged. */
export type LogRecord = readonly LogFragment[];

export interface LogFragment {
  readonly bytes: Buffer;
  /** It matches its checksum. */
  readonly isIntact: boolean;
}

/** Reads all there is. LevelDB itself leaves out the rest of the block behind damage, and other parts of its record. */
export function readLog(bytes: Buffer): LogContent {
  const records: LogRecord[] = [];
  let isIntact = true;
  let isTorn = false;
  let open: LogFragment[] | undefined;
  const end = () => {
    if (open !== undefined) records.push(open);
    if (open !== undefined) isIntact = false;
    open = undefined;
  };
  for (const { type, fragment } of fragmentsOf(bytes)) {
    isTorn = type === TORN;
    // Behind damage the end may be damaged too. Of what is there only values are taken that are whole by themselves.
    if (isTorn && !isIntact) open = [...(open ?? []), fragment].map((each) => ({ ...each, isIntact: false }));
    if (isTorn) break;
    if (type === FULL || type === FIRST) end();
    else if (open === undefined || !fragment.isIntact) isIntact = false;
    open ??= type === MIDDLE || type === LAST ? [LOST_BEGINNING] : [];
    open.push(fragment);
    if (type === FULL || type === LAST) {
      records.push(open);
      open = undefined;
    }
  }
  isTorn ||= open !== undefined;
  if (open?.some((fragment) => !fragment.isIntact)) end();
  return { records, isIntact, isTorn };
}

/** The bytes of a record that is whole. */
export function wholeRecord(record: LogRecord): Buffer | undefined {
  return record.every(({ isIntact }) => isIntact) ? Buffer.concat(record.map(({ bytes }) => bytes)) : undefined;
}

/** A log of these records, as LevelDB would write it. */
export function makeLog(records: readonly Buffer[]): Buffer {
  const chunks: Buffer[] = [];
  let left = BLOCK_BYTES;
  for (const record of records) {
    for (let at = 0, isFirst = true; isFirst || at < record.length; isFirst = false) {
      if (left < HEADER_BYTES) {
        chunks.push(Buffer.alloc(left));
        left = BLOCK_BYTES;
      }
      const bytes = record.subarray(at, at + left - HEADER_BYTES);
      at += bytes.length;
      const isLast = at === record.length;
      chunks.push(makeFragment(isFirst ? (isLast ? FULL : FIRST) : isLast ? LAST : MIDDLE, bytes));
      left -= HEADER_BYTES + bytes.length;
    }
  }
  return Buffer.concat(chunks);
}

const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;
const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const TORN = -1;
const DAMAGED = -2;
const EMPTY = -3;
const LOST_BEGINNING: LogFragment = { bytes: Buffer.alloc(0), isIntact: false };

function makeFragment(type: number, bytes: Buffer): Buffer {
  const fragment = Buffer.concat([Buffer.alloc(HEADER_BYTES), bytes]);
  fragment.writeUInt16LE(bytes.length, 4);
  fragment[6] = type;
  fragment.writeUInt32LE(maskCrc(crc32c(fragment.subarray(6))), 0);
  return fragment;
}

/**
 * All fragments up to where a crash cut the log, which is the last one then. The type of a damaged one is not known. Behind
 * damage the next whole fragment is looked for byte by byte; it need not lie in a block as LevelDB's do, since bytes may have
 * been put in or taken out before it.
 */
function* fragmentsOf(bytes: Buffer): Generator<{ type: number | undefined; fragment: LogFragment }> {
  /** Where blocks begin; undefined when that is not known. */
  let phase: number | undefined = 0;
  for (let at = 0; at < bytes.length; ) {
    const left: number = phase === undefined ? BLOCK_BYTES : leftInBlock(at - phase);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const length = fragmentLengthAt(bytes, at, left);
    if (length === EMPTY) return yield { type: TORN, fragment: LOST_BEGINNING };
    const next = length > 0 ? at + length : nextFragment(bytes, at);
    const type = length > 0 ? bytes[at + 6]! : length === TORN && next === bytes.length ? TORN : undefined;
    yield { type, fragment: { bytes: bytes.subarray(Math.min(at + HEADER_BYTES, next), next), isIntact: length > 0 } };
    // A record that goes on in the next block fills its own.
    if (type === FIRST || type === MIDDLE) phase = next % BLOCK_BYTES;
    else if (length <= 0 && phase !== undefined && !fitsBlocks(bytes, next, phase)) phase = undefined;
    at = next;
  }
}

function leftInBlock(offset: number): number {
  return BLOCK_BYTES - (((offset % BLOCK_BYTES) + BLOCK_BYTES) % BLOCK_BYTES);
}

/** Whether the whole fragment there lies in one block, if blocks begin there. */
function fitsBlocks(bytes: Buffer, at: number, phase: number): boolean {
  if (at === bytes.length) return true;
  const length = HEADER_BYTES + bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  const left = leftInBlock(at - phase);
  return type === FIRST || type === MIDDLE ? length === left : length <= left;
}

/** Where the next whole fragment begins, or the log ends. */
function nextFragment(bytes: Buffer, damagedAt: number): number {
  for (let at = damagedAt + 1; at + HEADER_BYTES <= bytes.length; at++) {
    const type = bytes[at + 6]!;
    if (type >= FULL && type <= LAST && fragmentLengthAt(bytes, at, BLOCK_BYTES) > 0) return at;
  }
  return bytes.length;
}

/** The length of the fragment there, header included. */
function fragmentLengthAt(bytes: Buffer, at: number, left: number): number {
  if (at + HEADER_BYTES > bytes.length) return TORN;
  const length = HEADER_BYTES + bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  if (length > left) return DAMAGED;
  const isKnownType = type >= FULL && type <= LAST;
  if (at + length > bytes.length) return isKnownType && !isLengthDamaged(bytes, at) ? TORN : DAMAGED;
  if (!isKnownType) return isAllZero(bytes.subarray(at)) ? EMPTY : DAMAGED;
  return maskCrc(crc32c(bytes.subarray(at + 6, at + length))) === bytes.readUInt32LE(at) ? length : DAMAGED;
}

/** Whether what is there to the end of the log is a whole fragment but for its length. */
function isLengthDamaged(bytes: Buffer, at: number): boolean {
  return maskCrc(crc32c(bytes.subarray(at + 6))) === bytes.readUInt32LE(at);
}

/** A crash of the machine may leave a file longer than what was written to it. */
function isAllZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

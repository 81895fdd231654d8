import { crc32c, maskCrc } from "../format/crc32c.js";

/**
 * LevelDB's logs (and its MANIFEST, which has the same form) are blocks of 32 KiB, filled with fragments: checksum (4),
 * length (2), type (1), bytes. One record is one fragment, or several when it does not fit into its block. What a crash
 * leaves is a fragment that ends with the file; anything else that does not add up is damage.
 */
export interface LogContent {
  readonly records: readonly LogRecord[];
  readonly isIntact: boolean;
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
  let open: LogFragment[] | undefined;
  const end = () => {
    if (open !== undefined) records.push(open);
    if (open !== undefined) isIntact = false;
    open = undefined;
  };
  for (const { type, fragment } of fragmentsOf(bytes)) {
    if (type === FULL || type === FIRST) end();
    else if (open === undefined || !fragment.isIntact) isIntact = false;
    open ??= type === MIDDLE || type === LAST ? [LOST_BEGINNING] : [];
    open.push(fragment);
    if (type === FULL || type === LAST) {
      records.push(open);
      open = undefined;
    }
  }
  if (open?.some((fragment) => !fragment.isIntact)) end();
  return { records, isIntact };
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

/** All fragments up to where a crash cut the log. The type of a damaged one is not known. */
function* fragmentsOf(bytes: Buffer): Generator<{ type: number | undefined; fragment: LogFragment }> {
  for (let at = 0; at < bytes.length; ) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const length = fragmentLengthAt(bytes, at, left);
    if (length === EMPTY) return;
    const next = length > 0 ? at + length : nextFragment(bytes, at, Math.min(at + left, bytes.length));
    if (length === TORN && next === bytes.length) return;
    const fragment = { bytes: bytes.subarray(Math.min(at + HEADER_BYTES, next), next), isIntact: length > 0 };
    yield { type: length > 0 ? bytes[at + 6]! : undefined, fragment };
    at = next;
  }
}

/** Where the next whole fragment of the block begins, or the block ends. */
function nextFragment(bytes: Buffer, damagedAt: number, end: number): number {
  for (let at = damagedAt + 1; at + HEADER_BYTES <= end; at++) {
    const type = bytes[at + 6]!;
    if (type >= FULL && type <= LAST && fragmentLengthAt(bytes, at, end - at) > 0) return at;
  }
  return end;
}

/** The length of the fragment there, header included. */
function fragmentLengthAt(bytes: Buffer, at: number, left: number): number {
  if (at + HEADER_BYTES > bytes.length) return TORN;
  const length = HEADER_BYTES + bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  if (length > left) return DAMAGED;
  if (at + length > bytes.length) return TORN;
  if (type < FULL || type > LAST) return isAllZero(bytes.subarray(at)) ? EMPTY : DAMAGED;
  return maskCrc(crc32c(bytes.subarray(at + 6, at + length))) === bytes.readUInt32LE(at) ? length : DAMAGED;
}

/** A crash of the machine may leave a file longer than what was written to it. */
function isAllZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

import { crc32c, maskCrc } from "#codecs";

/**
 * The content of a LevelDB log or MANIFEST, which have the same format: blocks of 32 KiB filled with fragments of
 * checksum (4), length (2), type (1) and bytes. A record is one fragment, or several if it does not fit into its block.
 * A crash leaves a fragment that is cut off at the end of the file; any other inconsistency is damage.
 */
interface LogContent {
  readonly records: readonly LogRecord[];
  readonly isIntact: boolean;
  /** Whether the file ends in the middle of a record, as after a crash. */
  readonly isTorn: boolean;
}

/** The data of one write call, as far as it exists. If it is damaged, the beginning or the end may be missing. */
export type LogRecord = readonly LogFragment[];

interface LogFragment {
  readonly bytes: Buffer;
  /** Whether the fragment matches its checksum. */
  readonly isIntact: boolean;
}

/** Reads everything. LevelDB itself would skip the rest of a block after damage, and the other parts of its record. */
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
    // After damage the end may be damaged too, so only values that are intact by their own checksum are used.
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

/** Returns the bytes of an intact record. */
export function wholeRecord(record: LogRecord): Buffer | undefined {
  return record.every(({ isIntact }) => isIntact) ? Buffer.concat(record.map(({ bytes }) => bytes)) : undefined;
}

/** Returns a log with these records, as LevelDB would write it. */
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
 * Yields all fragments up to the place where a crash cut the log, which is then the last one. The type of a damaged
 * fragment is not known. After damage the next intact fragment is searched byte by byte. It need not be aligned to
 * LevelDB's blocks, because bytes may have been inserted or removed before it.
 */
function* fragmentsOf(bytes: Buffer): Generator<{ type: number | undefined; fragment: LogFragment }> {
  /** Offset of the block boundaries; undefined if it is not known. */
  let phase: number | undefined = 0;
  const search = new FragmentSearch(bytes);
  for (let at = 0; at < bytes.length; ) {
    const left: number = phase === undefined ? BLOCK_BYTES : leftInBlock(at - phase);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const length = fragmentLengthAt(bytes, at, left);
    if (length === EMPTY) return yield { type: TORN, fragment: LOST_BEGINNING };
    const next = length > 0 ? at + length : search.next(at);
    const type = length > 0 ? bytes[at + 6]! : length === TORN && next === bytes.length ? TORN : undefined;
    yield { type, fragment: { bytes: bytes.subarray(Math.min(at + HEADER_BYTES, next), next), isIntact: length > 0 } };
    // A record that continues in the next block fills its own block.
    if (type === FIRST || type === MIDDLE) phase = next % BLOCK_BYTES;
    else if (length <= 0 && phase !== undefined && !fitsBlocks(bytes, next, phase)) phase = undefined;
    at = next;
  }
}

function leftInBlock(offset: number): number {
  return BLOCK_BYTES - (((offset % BLOCK_BYTES) + BLOCK_BYTES) % BLOCK_BYTES);
}

/** Whether the intact fragment at this position is inside one block, given the block boundaries. */
function fitsBlocks(bytes: Buffer, at: number, phase: number): boolean {
  if (at === bytes.length) return true;
  const length = HEADER_BYTES + bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  const left = leftInBlock(at - phase);
  return type === FIRST || type === MIDDLE ? length === left : length <= left;
}

/**
 * Limits of the bytes that a search checksums before it looks at the beginnings of blocks only: a number for any log, plus
 * a number per byte of the log. To get past one damaged block takes a few megabytes.
 */
const MAX_COMPARED = 64 * 1024 * 1024;
const MAX_COMPARED_PER_BYTE = 4;

/**
 * Finds the next intact fragment after damage. In garbage, a fragment may seem to begin at every third byte, and each
 * takes a checksum of up to a whole block to rule out. So the work is limited: after that, only the beginnings of blocks
 * are looked at, where LevelDB begins a fragment.
 */
class FragmentSearch {
  private readonly bytes: Buffer;
  private left: number;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.left = MAX_COMPARED + MAX_COMPARED_PER_BYTE * bytes.length;
  }

  /** Returns the position of the next intact fragment, or the end of the log. */
  next(damagedAt: number): number {
    const { bytes } = this;
    for (let at = damagedAt + 1; at + HEADER_BYTES <= bytes.length; at++) {
      const type = bytes[at + 6]!;
      if (type < FULL || type > LAST || (this.left <= 0 && at % BLOCK_BYTES !== 0)) continue;
      if (fragmentLengthAt(bytes, at, BLOCK_BYTES) > 0) return at;
      const length = bytes.readUInt16LE(at + 4);
      if (length <= BLOCK_BYTES) this.left -= length;
    }
    return bytes.length;
  }
}

/** Returns the length of the fragment at this position, including its header, or a negative code if there is none. */
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

/** Whether the rest of the log is an intact fragment except for its length. */
function isLengthDamaged(bytes: Buffer, at: number): boolean {
  return maskCrc(crc32c(bytes.subarray(at + 6))) === bytes.readUInt32LE(at);
}

/** A crash of the machine may leave a file longer than what was written, filled with zeros. */
function isAllZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

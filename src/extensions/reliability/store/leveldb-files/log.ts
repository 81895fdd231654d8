import { crc32c, maskCrc } from "../format/crc32c.js";

/**
 * LevelDB's logs (and its MANIFEST, which has the same form) are blocks of 32 KiB, filled with records: checksum (4),
 * length (2), type (1), bytes. What a crash leaves is a record that ends with the file; anything else that does not
 * add up is damage.
 */
export function isLogIntact(bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    if (left < HEADER_BYTES) {
      at += left;
      continue;
    }
    const length = recordLengthAt(bytes, at, left);
    if (length === TORN) return true;
    if (length === DAMAGED) return false;
    at += length;
  }
  return true;
}

/** What was written to a log that is whole, put together again. */
export function readLogRecords(bytes: Buffer): Buffer[] {
  const records: Buffer[] = [];
  let fragments: Buffer[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES);
    const length = left < HEADER_BYTES ? left : recordLengthAt(bytes, at, left);
    if (length < 0) break;
    if (left >= HEADER_BYTES) {
      fragments.push(bytes.subarray(at + HEADER_BYTES, at + length));
      const type = bytes[at + 6]!;
      if (type === FULL || type === LAST) records.push(Buffer.concat(fragments));
      if (type === FULL || type === LAST) fragments = [];
    }
    at += length;
  }
  return records;
}

const FULL = 1;
const LAST = 4;
const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const TORN = -1;
const DAMAGED = -2;

/** The length of the record there, header included. */
function recordLengthAt(bytes: Buffer, at: number, left: number): number {
  if (at + HEADER_BYTES > bytes.length) return TORN;
  const length = HEADER_BYTES + bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  if (length > left) return DAMAGED;
  if (at + length > bytes.length) return TORN;
  if (type < 1 || type > 4) return isAllZero(bytes.subarray(at)) ? TORN : DAMAGED;
  return maskCrc(crc32c(bytes.subarray(at + 6, at + length))) === bytes.readUInt32LE(at) ? length : DAMAGED;
}

/** A crash of the machine may leave a file longer than what was written to it. */
function isAllZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

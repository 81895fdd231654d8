import { crc32c, masked } from "./crc32c.js";
import { Varints } from "./varints.js";

/**
 * The keys and values of a table file whose index cannot be used. Its blocks lie one behind the other from the
 * beginning, and each tells by its form and its checksum where it ends; what is behind a damaged one is not found.
 * Marks of deleted keys are left out.
 */
export function* salvage(table: Buffer): Generator<[key: Buffer, value: Buffer]> {
  for (let at = 0; at < table.length; ) {
    const block = blockAt(table, at);
    if (block === undefined) return;
    for (const [key, value] of block.entries) {
      // Eight bytes behind the key: its kind and when it was written. An index has the same form and no such bytes.
      if (key.length > SUFFIX && key[key.length - SUFFIX] === VALUE) yield [key.subarray(0, -SUFFIX), value];
    }
    at = block.end;
  }
}

const SUFFIX = 8;
const VALUE = 1;
const TRAILER = 5;
/** Entries that share the beginnings of their keys. */
const INTERVAL = 16;

interface Block {
  readonly entries: readonly (readonly [Buffer, Buffer])[];
  readonly end: number;
}

function blockAt(table: Buffer, start: number): Block | undefined {
  const entries: (readonly [Buffer, Buffer])[] = [];
  const numbers = new Varints(table, start);
  let key: Buffer = Buffer.alloc(0);
  try {
    for (;;) {
      const end = endOfBlock(table, start, numbers.position, entries.length);
      if (end !== undefined) return { entries, end };
      const [shared, fresh, length] = [numbers.next(), numbers.next(), numbers.next()];
      if (shared > key.length) return undefined;
      key = Buffer.concat([key.subarray(0, shared), numbers.take(fresh)]);
      const value = numbers.take(length);
      entries.push([key, Buffer.from(value.buffer, value.byteOffset, value.length)]);
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Where the block ends if its entries end here; behind them are the places where keys are whole, and their number. */
function endOfBlock(table: Buffer, start: number, at: number, entries: number): number | undefined {
  const restarts = Math.max(1, Math.ceil(entries / INTERVAL));
  const trailer = at + 4 * restarts + 4;
  if (trailer + TRAILER > table.length || table.readUInt32LE(at) !== 0) return undefined;
  if (table.readUInt32LE(trailer - 4) !== restarts) return undefined;
  const isWhole = masked(crc32c(table.subarray(start, trailer + 1))) === table.readUInt32LE(trailer + 1);
  return isWhole ? trailer + TRAILER : undefined;
}

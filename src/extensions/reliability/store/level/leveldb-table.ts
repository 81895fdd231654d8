import { type FileHandle, open } from "node:fs/promises";
import { crc32c, masked } from "./crc32c.js";
import { Varints } from "./varints.js";

const FOOTER = 48;
const MAGIC = Buffer.from("57fb808b247547db", "hex");
/** Kind and checksum behind every block. */
const TRAILER = 5;
const LARGEST_BLOCK = 64 * 1024 * 1024;

interface Handle {
  readonly offset: number;
  readonly size: number;
}

/**
 * Whether the parts of a table file are whole by which LevelDB finds its way in it: footer, index, and the filter that
 * tells what is not in it. LevelDB believes them without looking at their checksums: a damaged index ends the process,
 * a damaged filter makes entries invisible. The values themselves are not read; they have checksums of ours.
 */
export async function isTableUsable(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size < FOOTER) return false;
    const footer = await read(file, size - FOOTER, FOOTER);
    if (!footer.subarray(FOOTER - MAGIC.length).equals(MAGIC)) return false;
    const handles = new Varints(footer);
    const meta = await block(file, size, handleIn(handles));
    await block(file, size, handleIn(handles));
    for (const handle of handlesOf(meta)) await block(file, size, handle);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  } finally {
    await file.close();
  }
}

/** The content of a block; throws a RangeError when it is damaged. */
async function block(file: FileHandle, fileSize: number, { offset, size }: Handle): Promise<Buffer> {
  if (size > LARGEST_BLOCK || offset + size + TRAILER > fileSize) throw new RangeError("outside of the file");
  const bytes = await read(file, offset, size + TRAILER);
  if (masked(crc32c(bytes.subarray(0, size + 1))) !== bytes.readUInt32LE(size + 1)) throw new RangeError("checksum");
  return bytes.subarray(0, size);
}

/** The blocks that a block of meta data names: each entry is a name and where it is. */
function handlesOf(meta: Buffer): Handle[] {
  const restarts = meta.readUInt32LE(meta.length - 4);
  const entries = new Varints(meta.subarray(0, meta.length - 4 * (restarts + 1)));
  const found: Handle[] = [];
  while (!entries.isAtEnd) {
    entries.next();
    const [nameLength, valueLength] = [entries.next(), entries.next()];
    entries.skip(nameLength);
    found.push(handleIn(new Varints(entries.take(valueLength))));
  }
  return found;
}

function handleIn(numbers: Varints): Handle {
  return { offset: numbers.next(), size: numbers.next() };
}

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  if (bytesRead < length) throw new RangeError("too short");
  return bytes;
}

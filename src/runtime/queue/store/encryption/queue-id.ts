import { randomBytes } from "node:crypto";
import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { textChecksum } from "#codecs";
import { PRIVATE_FILE_MODE } from "#system";
import { StoreError } from "../store.js";
import { QUEUE_ID_BYTES } from "./value-cipher.js";

/**
 * Reads a small file in a store's directory (`QUEUE`) with the random id that its encrypted values are bound to. The
 * file moves with the directory, so a moved or renamed queue stays readable. If the file is missing or damaged, the id
 * is taken from the values, as long as they agree: `found` returns the ids in the values, and is called only then.
 */
export async function queueIdIn(directory: string, found: () => Promise<readonly Buffer[]>): Promise<Buffer> {
  const written = await readId(directory);
  if (written !== undefined) return written;
  const ids = await found();
  if (ids.length > 1) throw twoQueuesError(directory);
  const id = ids[0] ?? randomBytes(QUEUE_ID_BYTES);
  await writeId(directory, id);
  return id;
}

async function readId(directory: string): Promise<Buffer | undefined> {
  try {
    const [id, checksum] = (await readFile(pathIn(directory), "utf8")).trim().split("\n") as [
      string,
      string | undefined,
    ];
    // Files of older versions have no checksum.
    if (!/^[\da-f]{16}$/.test(id) || (checksum !== undefined && checksum !== textChecksum(id))) return undefined;
    return Buffer.from(id, "hex");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function writeId(directory: string, id: Buffer): Promise<void> {
  const temporary = `${pathIn(directory)}.new`;
  const file = await open(temporary, "w", PRIVATE_FILE_MODE);
  try {
    const text = id.toString("hex");
    await file.writeFile(`${text}\n${textChecksum(text)}`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, pathIn(directory));
}

function twoQueuesError(directory: string): StoreError {
  return new StoreError(
    "wrong_key",
    `the file QUEUE in ${directory} is missing, and the queue holds entries that were encrypted for different queues: put the file back from a backup; nothing was changed`,
  );
}

function pathIn(directory: string): string {
  return join(directory, "QUEUE");
}

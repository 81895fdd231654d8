import { createReadStream } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type ArchivedObject, ArchiveError, type ArchiveSource } from "./archive-source.js";

/**
 * A folder as an archive: keys are paths below it, with slashes. Links are not followed, so that nothing outside the
 * folder is read.
 */
export function folderSource(folder: string): ArchiveSource {
  const root = resolve(folder);
  return {
    place: `file:${root}`,
    transport: "file",
    async *list(prefix, after, abort) {
      await requireFolder(root);
      if (await isInside(root, prefix)) yield* walk(root, prefix, after, abort);
    },
    open: async ({ key }, abort) => readFile(join(root, key), abort),
  };
}

async function requireFolder(root: string): Promise<void> {
  const info = await lstat(root).catch((error: NodeJS.ErrnoException) => {
    throw new ArchiveError(`the folder ${root} cannot be read: ${error.code}`, { cause: error });
  });
  if (!info.isDirectory()) throw new ArchiveError(`${root} is not a folder`);
}

/** False if a link leads from the path of the prefix to another folder. */
async function isInside(root: string, prefix: string): Promise<boolean> {
  const found = await realpath(join(root, prefix)).catch(() => undefined);
  return found === undefined || found === resolve(await realpath(root), prefix);
}

/** `prefix` is empty or ends with a slash. A folder sorts as if its name ended with a slash, as the keys of S3 do. */
async function* walk(
  root: string,
  prefix: string,
  after: string | undefined,
  abort: AbortSignal,
): AsyncGenerator<ArchivedObject> {
  const entries = await entriesOf(join(root, prefix));
  const keys = entries.flatMap((entry) => {
    if (entry.isDirectory()) return [`${prefix}${entry.name}/`];
    return entry.isFile() ? [`${prefix}${entry.name}`] : [];
  });
  for (const key of keys.sort(byBytes)) {
    abort.throwIfAborted();
    if (after !== undefined && key <= after && !(key.endsWith("/") && after.startsWith(key))) continue;
    if (key.endsWith("/")) yield* walk(root, key, after, abort);
    else yield* objectAt(root, key);
  }
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw new ArchiveError(`the folder ${folder} cannot be read: ${code}`, { cause: error });
  }
}

async function* objectAt(root: string, key: string): AsyncGenerator<ArchivedObject> {
  const info = await lstat(join(root, key)).catch(() => undefined);
  if (!info?.isFile()) return; // it was deleted meanwhile
  const { size, mtimeMs } = info;
  yield { key, size, modifiedAt: mtimeMs, version: `${size}-${Math.round(mtimeMs)}` };
}

async function* readFile(path: string, abort: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024, signal: abort });
  } catch (error) {
    abort.throwIfAborted();
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ArchiveError(`it cannot be read: ${code ?? message}`, { fault: "unreadable", cause: error });
  }
}

function byBytes(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

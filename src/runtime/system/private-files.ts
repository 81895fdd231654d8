import { chmod, lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** Readable by the owner only. */
export const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_DIRECTORY_MODE = 0o700;
const RIGHTS_OF_OTHERS = 0o077;

/** Creates a directory and its parents, accessible to the owner only. An existing one stays as it is. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await makeDirectories(resolve(path));
}

/**
 * Creates a directory and its parents. `mkdir` with `recursive` never ends in a directory that exists but cannot have
 * subdirectories, such as /proc.
 */
async function makeDirectories(path: string): Promise<void> {
  try {
    await makeDirectory(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
    await makeDirectories(dirname(path));
    await makeDirectory(path);
  }
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE });
  } catch (error) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  }
}

/**
 * Restricts a file, or a directory with its content, to its owner; returns how many were accessible to others.
 * Directories are restricted before their content, and links are not followed, so no other user can swap a file
 * meanwhile. Files that belong to others or have vanished are skipped. Files are not opened: closing one would release
 * LevelDB's lock on it.
 */
export async function makePrivate(path: string): Promise<number> {
  if (process.platform === "win32") return 0;
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || !(found.isFile() || found.isDirectory())) return 0;
  const changed = await removeRights(path, found.mode);
  const names = found.isDirectory() ? await readdir(path).catch(() => []) : [];
  // In parallel: a large queue has hundreds of files, and a starting agent would wait for each in turn.
  const counts = await Promise.all(names.map((name) => makePrivate(join(path, name))));
  return counts.reduce((sum, count) => sum + count, changed ? 1 : 0);
}

async function removeRights(path: string, mode: number): Promise<boolean> {
  if ((mode & RIGHTS_OF_OTHERS) === 0) return false;
  return chmod(path, mode & 0o7777 & ~RIGHTS_OF_OTHERS).then(
    () => true,
    () => false,
  );
}

import { chmod, lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";

/** What only its owner may read. */
export const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_DIRECTORY_MODE = 0o700;
const RIGHTS_OF_OTHERS = 0o077;

/** Makes a directory, and those above it, for its owner alone. One that is there stays as it is. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
}

/**
 * Takes a file, or a directory with all that is in it, away from everybody but its owner; gives the number of those that
 * others could get at before. A directory comes before its content, and links are not followed, so nobody can put something
 * else in the place of what is changed. What belongs to somebody else, or is gone meanwhile, is passed over. Files are not
 * opened for it: closing one would let go of the lock that LevelDB has on it.
 */
export async function makePrivate(path: string): Promise<number> {
  if (process.platform === "win32") return 0;
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || !(found.isFile() || found.isDirectory())) return 0;
  const changed = await removeRights(path, found.mode);
  const names = found.isDirectory() ? await readdir(path).catch(() => []) : [];
  // A large queue has hundreds of files, and an agent that starts would wait for each of them in turn.
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

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { findManifest, lacksLog, TABLE_FILE } from "./inspect-directory.js";

/**
 * Tables that the MANIFEST does not name: what LevelDB had written of a merge when the disk was full. LevelDB removes
 * them when it has been opened, but on a full disk it can only be opened when they are gone. None of them is known
 * unless the MANIFEST is whole.
 */
async function orphanedTables(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const manifest = await findManifest(directory, names);
  if (manifest === undefined || lacksLog(manifest, names)) return [];
  return names.filter((name) => {
    const number = TABLE_FILE.exec(name)?.[1];
    return number !== undefined && !manifest.tables.has(Number(number));
  });
}

/** Bytes that they take. While the database is open, some may be in the making. */
export async function sizeOfOrphanedTables(directory: string): Promise<number> {
  const sizes = await Promise.all(
    (await orphanedTables(directory)).map((name) =>
      stat(join(directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Only while nobody has the database open. */
export async function removeOrphanedTables(directory: string): Promise<void> {
  for (const name of await orphanedTables(directory)) await rm(join(directory, name), { force: true });
}

import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { TABLE_FILE } from "./data-files.js";
import { findManifest, lacksLog } from "./inspect-directory.js";

/**
 * Finds tables that the MANIFEST does not name. LevelDB had written them for a merge when the disk became full. It
 * removes them after opening, but on a full disk it can be opened only after they are gone. If the MANIFEST is not
 * intact, none are returned.
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

/** The bytes used by orphaned tables. While the database is open, some may still be in the making. */
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

/** Only to be called while the database is closed. */
export async function removeOrphanedTables(directory: string): Promise<void> {
  for (const name of await orphanedTables(directory)) await rm(join(directory, name), { force: true });
}

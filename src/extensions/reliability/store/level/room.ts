import { open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

/** What LevelDB may write when it is opened: its log as a table, and a new log. */
const NEEDED = 48 * 1024 * 1024;

/** Rejects while a directory cannot be written to, or has too little room to open a database in. */
export async function checkRoom(directory: string): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize < NEEDED) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const path = join(directory, ".probe");
  const file = await open(path, "w");
  try {
    await file.writeFile(Buffer.alloc(64 * 1024));
    await file.datasync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

import { access, open, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * A file in the store's directory that is there from before a repair changes anything until everything has been counted
 * anew. Without it a crash in between would leave a store that looks whole, with counters of what it held before.
 */
export async function beginRepair(directory: string): Promise<void> {
  const file = await open(join(directory, REPAIR_MARK_FILE), "w");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function endRepair(directory: string): Promise<void> {
  await rm(join(directory, REPAIR_MARK_FILE), { force: true });
}

export async function isRepairUnfinished(directory: string): Promise<boolean> {
  return access(join(directory, REPAIR_MARK_FILE)).then(
    () => true,
    () => false,
  );
}

const REPAIR_MARK_FILE = "REPAIRING";

import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * Small files in a store's directory that say what is under way, for whoever comes after a crash.
 *
 * - REPAIRING: from before a repair changes anything until everything has been counted anew; its text is a `Repair`.
 *   Without it a crash in between would leave a store that looks whole, with counters of what it held before.
 * - OPENING: while LevelDB opens the store; its text is how often that was begun and never came back. LevelDB ends the
 *   process over files that it does not expect, and would do so at every start.
 * - REBUILT, SWAPPING: the two halves of the way from old files to new ones; the text of the first is the folder again.
 */
export type Mark = "REPAIRING" | "OPENING" | "REBUILT" | "SWAPPING";

/** On disk when it resolves. */
export async function setMark(directory: string, mark: Mark, text = ""): Promise<void> {
  const file = await open(join(directory, mark), "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined when it is not set. */
export async function readMark(directory: string, mark: Mark): Promise<string | undefined> {
  return readFile(join(directory, mark), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

export async function clearMark(directory: string, mark: Mark): Promise<void> {
  await rm(join(directory, mark), { force: true });
}

/** What was found missing, and what was found and could not be read. */
export interface Loss {
  readonly lostEntries: number;
  readonly corruptEntries: number;
}

export const NO_LOSS: Loss = { lostEntries: 0, corruptEntries: 0 };

/** How far a repair has come. What it has counted is told by whoever gets to the end. */
export interface Repair extends Loss {
  /** Where files are set aside, if any are. */
  readonly folder: string | undefined;
}

export async function setRepair(directory: string, repair: Repair): Promise<void> {
  await setMark(directory, "REPAIRING", JSON.stringify(repair));
}

/** Undefined when none is unfinished. */
export async function readRepair(directory: string): Promise<Partial<Repair> | undefined> {
  const text = await readMark(directory, "REPAIRING");
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Repair);
  } catch {
    return {};
  }
}

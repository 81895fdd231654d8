import { open, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { LostBounds, OpenReport } from "../../store.js";

/**
 * Small files in a store's directory that record what is under way, for the process that comes after a crash.
 *
 * - REPAIRING: set before a repair changes anything, until everything has been counted again. Its text is a `Repair`.
 *   Without it, a crash in between would leave a store that looks intact but has outdated counters.
 * - OPENING: set while LevelDB opens the store. Its text is the number of openings that began and never returned.
 *   LevelDB ends the process if it finds unexpected files, and would do so at every start.
 * - REBUILT, SWAPPING: the two phases of replacing old files with new ones. The text of the first is the set-aside
 *   folder.
 */
type Mark = "REPAIRING" | "OPENING" | "REBUILT" | "SWAPPING";

/** Resolves when the mark is on disk. */
export async function setMark(directory: string, mark: Mark, text = ""): Promise<void> {
  const file = await open(join(directory, mark), "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Returns undefined if the mark is not set. */
export async function readMark(directory: string, mark: Mark): Promise<string | undefined> {
  return readFile(join(directory, mark), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

export async function clearMark(directory: string, mark: Mark): Promise<void> {
  await rm(join(directory, mark), { force: true });
}

/** Numbers of entries that are missing and of those that could not be read. */
export type Loss = Pick<OpenReport, "lostEntries" | "lostBounds" | "corruptEntries">;

export const NO_LOSS: Loss = { lostEntries: 0, corruptEntries: 0 };

/** Converts bounds into the numbers of a report. Without an upper bound, at least one entry counts as lost. */
export function lossOf({ atLeast, atMost }: LostBounds, corruptEntries: number): Loss {
  if (atLeast === atMost) return { lostEntries: atLeast, corruptEntries };
  return { lostEntries: atMost ?? Math.max(1, atLeast), lostBounds: { atLeast, atMost }, corruptEntries };
}

/** An interrupted repair has counted before, and may have adjusted the counters to what is left. */
export function greaterLoss(loss: Loss, before: Loss = NO_LOSS): Loss {
  const [one, other] = [boundsOf(loss), boundsOf(before)];
  const atMost = Math.max(one.atMost ?? Number.POSITIVE_INFINITY, other.atMost ?? Number.POSITIVE_INFINITY);
  const bounds = {
    atLeast: Math.max(one.atLeast, other.atLeast),
    atMost: Number.isFinite(atMost) ? atMost : undefined,
  };
  return lossOf(bounds, Math.max(loss.corruptEntries, before.corruptEntries));
}

function boundsOf({ lostEntries, lostBounds }: Loss): LostBounds {
  return lostBounds ?? { atLeast: lostEntries, atMost: lostEntries };
}

/** The progress of a repair. The process that completes the repair reports its counts. */
interface Repair extends Loss {
  /** The name of the folder where files are set aside, if there is one. */
  readonly folder: string | undefined;
}

export async function setRepair(directory: string, repair: Repair): Promise<void> {
  await setMark(directory, "REPAIRING", JSON.stringify(repair));
}

/** Returns undefined if no repair is unfinished. If the mark is damaged, only its existence counts. */
export async function readRepair(directory: string): Promise<Repair | undefined> {
  const text = await readMark(directory, "REPAIRING");
  return text === undefined ? undefined : (parseRepair(text) ?? { folder: undefined, ...NO_LOSS });
}

function parseRepair(text: string): Repair | undefined {
  try {
    const { folder, lostEntries, lostBounds, corruptEntries } = JSON.parse(text) as Repair;
    if (folder !== undefined && basename(dirname(folder)) !== SET_ASIDE_FOLDER) return undefined;
    const counts = [lostEntries, corruptEntries, lostBounds?.atLeast ?? 0, lostBounds?.atMost ?? 0];
    return counts.every(Number.isSafeInteger) ? { folder, lostEntries, lostBounds, corruptEntries } : undefined;
  } catch {
    return undefined;
  }
}

/** A folder next to the queues with one folder for each repair. */
export const SET_ASIDE_FOLDER = ".set-aside";

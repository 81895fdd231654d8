import { open, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { LostBounds, OpenReport } from "../../store.js";

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
export type Loss = Pick<OpenReport, "lostEntries" | "lostBounds" | "corruptEntries">;

export const NO_LOSS: Loss = { lostEntries: 0, corruptEntries: 0 };

/** In the words of a report: where nobody knows the greatest number, what is lost counts as one at least. */
export function lossOf({ atLeast, atMost }: LostBounds, corruptEntries: number): Loss {
  if (atLeast === atMost) return { lostEntries: atLeast, corruptEntries };
  return { lostEntries: atMost ?? Math.max(1, atLeast), lostBounds: { atLeast, atMost }, corruptEntries };
}

/** A repair that was interrupted has counted before, and may have made the counters fit what is left. */
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

/** How far a repair has come. What it has counted is told by whoever gets to the end. */
export interface Repair extends Loss {
  /** The name of the folder where files are set aside, if any are. */
  readonly folder: string | undefined;
}

export async function setRepair(directory: string, repair: Repair): Promise<void> {
  await setMark(directory, "REPAIRING", JSON.stringify(repair));
}

/** Undefined when none is unfinished. Of one that is damaged nothing is believed but that it is there. */
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

/** Beside the queues: holds a folder for each repair. */
export const SET_ASIDE_FOLDER = ".set-aside";

import type { ClassicLevel } from "classic-level";
import { classicLevel } from "./classic-level.js";
import { type DiskPlan, planFor } from "./disk/disk-plan.js";

export type LevelDb = ClassicLevel<Uint8Array, Uint8Array>;

/** How much LevelDB writes at a time, in bytes. */
export type LevelSizes = Pick<DiskPlan, "writeBuffer" | "maxTable">;

/** Creates the database object of a directory without opening it. Tests pass one that fails. */
export type MakeLevelDb = (directory: string, sizes?: LevelSizes) => LevelDb;

/** Values are written once and read about once, in order, so caches would only cost memory. */
const OPTIONS = {
  keyEncoding: "view",
  valueEncoding: "view",
  compression: false,
  maxOpenFiles: 74,
  cacheSize: 1024 * 1024,
} as const;

const ROOMY = planFor(Number.POSITIVE_INFINITY);

export const makeLevelDb: MakeLevelDb = (directory, { writeBuffer, maxTable } = ROOMY) =>
  new (classicLevel())<Uint8Array, Uint8Array>(directory, {
    ...OPTIONS,
    writeBufferSize: writeBuffer,
    maxFileSize: maxTable,
    createIfMissing: true,
  });

/**
 * Opens a database. If that fails, it frees what `open` has allocated outside of the heap, a block cache and the object
 * that owns it. Nothing else does: `close` leaves a database alone that never opened, and it is not garbage collected
 * either.
 */
export async function openLevelDb(db: Pick<ClassicLevel, "open">): Promise<void> {
  try {
    await db.open();
  } catch (error) {
    await (db as Partial<NativeClose>)._close?.();
    throw error;
  }
}

/** The part of a LevelDB object that closes it whatever its state, which classic-level does not declare. */
interface NativeClose {
  _close(): Promise<void>;
}

/**
 * Rejects if another process has the database open. Changes nothing: LevelDB takes its lock first, and its options keep
 * it from opening an existing database and from creating a new one.
 */
export async function checkUnlocked(directory: string): Promise<void> {
  const probe = new (classicLevel())(directory, { createIfMissing: false, errorIfExists: true });
  try {
    await openLevelDb(probe);
    await probe.close();
  } catch (error) {
    const cause = (error as Error).cause as NodeJS.ErrnoException | undefined;
    if (!/error_if_exists|does not exist/.test(cause?.message ?? "")) throw error;
  }
}

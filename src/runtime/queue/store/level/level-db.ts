import type { ClassicLevel } from "classic-level";
import type { ValueCipher } from "../encryption/value-cipher.js";
import { seal } from "../format/layout.js";
import { classicLevel } from "./classic-level.js";
import { type DiskPlan, planFor } from "./disk/disk-plan.js";

export type LevelDb = ClassicLevel<Uint8Array, Uint8Array>;

/** A database that decrypts values when reading, and encrypts those that `put` and `batch` write. */
export interface EncryptedDb extends LevelDb {
  /** A batch for values that `protect` has returned. */
  protectedBatch(): ReturnType<LevelDb["batch"]>;
  /** Returns a value as it is to be written: encrypted, or sealed if there is no key. It is valid until the next call. */
  protect(value: Uint8Array): Uint8Array;
}

/** How much LevelDB writes at a time, in bytes. */
type LevelSizes = Pick<DiskPlan, "writeBuffer" | "maxTable">;

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

/** Returns the same database, which now encrypts and decrypts. */
export function encryptedDb(db: LevelDb, cipher: ValueCipher): EncryptedDb {
  const [get, getMany, put] = [db.get.bind(db), db.getMany.bind(db), db.put.bind(db)];
  const batch = db.batch.bind(db) as () => ReturnType<LevelDb["batch"]>;
  const iterator = db.iterator.bind(db);

  const decrypted = (value: Uint8Array | undefined) => (value === undefined ? undefined : cipher.decrypt(value));
  /** An iterator over keys has no values. */
  const withDecrypted = (rows: [Uint8Array, Uint8Array | undefined][]) => {
    for (const row of rows) row[1] = decrypted(row[1]);
    return rows;
  };
  const own = {
    protectedBatch: batch,
    protect: cipher.keyring.active === undefined ? seal : (value: Uint8Array) => cipher.encrypt(value),
    get: async (key: Uint8Array) => decrypted(await get(key)),
    getMany: async (keys: Uint8Array[]) => (await getMany(keys)).map(decrypted),
    put: (key: Uint8Array, value: Uint8Array, options: object) => put(key, cipher.encrypt(value), options),
    batch() {
      const chained = batch();
      const add = chained.put.bind(chained);
      return Object.assign(chained, { put: (key: Uint8Array, value: Uint8Array) => add(key, cipher.encrypt(value)) });
    },
    iterator(options: object) {
      const rows = iterator(options);
      const [all, nextv] = [rows.all.bind(rows), rows.nextv.bind(rows)];
      return Object.assign(rows, {
        all: async () => withDecrypted((await all()) as [Uint8Array, Uint8Array | undefined][]),
        nextv: async (size: number) => withDecrypted((await nextv(size)) as [Uint8Array, Uint8Array | undefined][]),
      });
    },
  };
  return Object.assign(db, own) as unknown as EncryptedDb;
}

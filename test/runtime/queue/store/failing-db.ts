import { type LevelDb, type MakeLevelDb, makeLevelDb } from "../../../../src/runtime/queue/store/level/level-db.js";

/** A real database whose writes, or next walk over a range, can be told to fail. */
export interface FailingDb {
  readonly make: MakeLevelDb;
  /** Fails all writes with this message until it is called without one; "late" writes first, and says it failed. */
  failWrites(message?: string, when?: "late"): void;
  /** Fails the next iterator with this error. */
  failNextRead(error: Error): void;
  /** Databases made so far. */
  readonly made: number;
}

export function failingDb(): FailingDb {
  let writeMessage: string | undefined;
  let isLate = false;
  let readError: Error | undefined;
  let made = 0;

  const make: MakeLevelDb = (directory, sizes) => {
    made++;
    const db = makeLevelDb(directory, sizes);
    const batch = db.batch.bind(db) as () => ReturnType<LevelDb["batch"]>;
    const iterator = db.iterator.bind(db);
    const failingBatch = () => {
      const chained = batch();
      const write = chained.write.bind(chained);
      chained.write = async (options?: object) => {
        const message = writeMessage;
        if (message === undefined || isLate) await write(options ?? {});
        if (message !== undefined) throw Object.assign(new Error(message), { code: "LEVEL_IO_ERROR" });
      };
      return chained;
    };
    const failingIterator = (options: object) => {
      const walk = iterator(options);
      const nextv = walk.nextv.bind(walk);
      walk.nextv = async (size: number) => {
        const error = readError;
        readError = undefined;
        if (error !== undefined) throw error;
        return nextv(size);
      };
      return walk;
    };
    return Object.assign(db, { batch: failingBatch, iterator: failingIterator }) as LevelDb;
  };

  return {
    make,
    failWrites(message, when) {
      writeMessage = message;
      isLate = when === "late";
    },
    failNextRead(error) {
      readError = error;
    },
    get made() {
      return made;
    },
  };
}

import type { ValueCipher } from "../../encryption/value-cipher.js";
import type { LevelDb } from "../level-db.js";

/** Returns the same database, which now encrypts values when writing and decrypts them when reading. */
export function encryptedDb(db: LevelDb, cipher: ValueCipher): LevelDb {
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
  return Object.assign(db, own) as unknown as LevelDb;
}

/** Stores of queues: their contract, stores in memory, encryption, and the keys of the config about them. */

export { encryptionSchema } from "./encryption/config.js";
export { Keyring } from "./encryption/keyring.js";
export { loadKeyring } from "./encryption/load-keyring.js";
export { MemoryStore } from "./memory-store.js";
export { NoopStore } from "./noop-store.js";
export { type PostgresStoreConfig, postgresStoreKeys } from "./remote/postgres-config.js";
export {
  type EntryRef,
  type NewEntry,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreStats,
} from "./store.js";

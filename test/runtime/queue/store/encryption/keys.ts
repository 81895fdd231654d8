import { createQueueKey, Keyring, type QueueKey } from "../../../../../src/runtime/queue/store/encryption/keyring.js";

/** The same key for the same name, every time. */
export function key(name: string, id = name): QueueKey {
  return createQueueKey(id, Buffer.alloc(32, name));
}

/** Keys of these names; the first is written with. */
export function keyring(...names: string[]): Keyring {
  const keys = names.map((name) => key(name));
  return new Keyring(keys, keys[0]);
}

/** Keys that are read with, and none that is written with. */
export function readingKeyring(...names: string[]): Keyring {
  return new Keyring(names.map((name) => key(name)));
}

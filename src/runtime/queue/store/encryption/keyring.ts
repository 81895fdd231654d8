import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { StoreError } from "../store.js";

/** A key for encrypting queues. Its bytes are in OpenSSL's memory, which is wiped when the key is released. */
export interface QueueKey {
  /** The name given in the config. */
  readonly id: string;
  /** Identifies the key, whatever its name, and reveals nothing else about it. In hexadecimal. */
  readonly check: string;
  readonly secret: KeyObject;
}

export const KEY_BYTES = 32;
export const CHECK_BYTES = 8;

/** Takes ownership of the bytes of a key: the buffer is zeroed afterwards. */
export function createQueueKey(id: string, bytes: Buffer): QueueKey {
  try {
    if (bytes.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes, not ${bytes.length}`);
    const check = Buffer.from(hkdfSync("sha256", bytes, "", "sluice queue key check", CHECK_BYTES)).toString("hex");
    return { id, check, secret: createSecretKey(bytes) };
  } finally {
    bytes.fill(0);
  }
}

/** The known keys, and the one used for writing, if any. */
export class Keyring {
  readonly active: QueueKey | undefined;
  /** Whether values are rejected that are not encrypted, or not for their queue. */
  readonly refusesPlain: boolean;
  private readonly byCheck: Map<string, QueueKey>;

  constructor(keys: readonly QueueKey[] = [], active?: QueueKey, refusesPlain = false) {
    this.refusesPlain = refusesPlain;
    this.byCheck = new Map(keys.map((key) => [key.check, key]));
    this.active = active;
  }

  find(check: string): QueueKey | undefined {
    return this.byCheck.get(check);
  }

  get all(): readonly QueueKey[] {
    return [...this.byCheck.values()];
  }
}

/** The error for data that needs an unknown key, identified by its check and by its name, if that was stored. */
export function missingKeyError(keyring: Keyring, check: string, id?: string, queue = "the queue"): StoreError {
  const isOther = keyring.all.some((key) => key.id === id);
  const name = id === undefined ? "a key" : `the key ${JSON.stringify(id)}`;
  const problem = isOther
    ? `${name} is not the key that ${queue} was encrypted with: use the previous one`
    : `${queue} is encrypted with ${name}${id === undefined ? " that is not known" : ""}: add it to extensions.reliability.encryption.keys again`;
  return new StoreError("wrong_key", `${problem} (check ${check}); nothing was changed`);
}

/** Derives a key from a queue key and a salt. Each derived key serves one store while it is open. */
export function deriveKey({ secret }: QueueKey, salt: Uint8Array): KeyObject {
  const derived = Buffer.from(hkdfSync("sha256", secret, salt, "sluice queue values", KEY_BYTES));
  const key = createSecretKey(derived);
  derived.fill(0);
  return key;
}

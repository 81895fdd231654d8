import { createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { StoreError } from "../store.js";

/** A key that queues are encrypted with. The bytes are in OpenSSL's memory, which wipes them when the key is let go of. */
export interface QueueKey {
  /** The name that its owner has given it. */
  readonly id: string;
  /** Tells whether it is the same key, also under another name, and nothing else of it. In hexadecimal. */
  readonly check: string;
  readonly secret: KeyObject;
}

export const KEY_BYTES = 32;
export const CHECK_BYTES = 8;

/** Takes the bytes of a key over: the buffer is zeros afterwards. */
export function createQueueKey(id: string, bytes: Buffer): QueueKey {
  try {
    if (bytes.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes, not ${bytes.length}`);
    const check = Buffer.from(hkdfSync("sha256", bytes, "", "sluice queue key check", CHECK_BYTES)).toString("hex");
    return { id, check, secret: createSecretKey(bytes) };
  } finally {
    bytes.fill(0);
  }
}

/** The keys that are known, and the one that is written with, if any. */
export class Keyring {
  readonly active: QueueKey | undefined;
  /** Nothing is taken that is not encrypted, and for its queue. */
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

/** What is there cannot be read without a key that is not known, by its check and its name if that was written. */
export function missingKeyError(keyring: Keyring, check: string, id?: string, queue = "the queue"): StoreError {
  const isOther = keyring.all.some((key) => key.id === id);
  const name = id === undefined ? "a key" : `the key ${JSON.stringify(id)}`;
  const problem = isOther
    ? `${name} is not the one that ${queue} was encrypted with: give it the former one`
    : `${queue} is encrypted with ${name}${id === undefined ? " that is not known" : ""}: add it to extensions.reliability.encryption.keys again`;
  return new StoreError("wrong_key", `${problem} (check ${check}); nothing was changed`);
}

/** What is encrypted with one derived key: those of one store while it is open. */
export function deriveKey({ secret }: QueueKey, salt: Uint8Array): KeyObject {
  const derived = Buffer.from(hkdfSync("sha256", secret, salt, "sluice queue values", KEY_BYTES));
  const key = createSecretKey(derived);
  derived.fill(0);
  return key;
}

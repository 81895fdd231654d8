import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto";
import {
  BOUND_FORMAT,
  BOUND_UNSEALED_FORMAT,
  bufferOf,
  isBound,
  isEncrypted,
  isFrameIntact,
  isUnsealed,
  type KeyRange,
  markUnsealed,
  RANGES,
  seal,
  writeChecksum,
} from "../format/layout.js";
import { StoreError } from "../store.js";
import { CHECK_BYTES, deriveKey, type Keyring, missingKeyError } from "./keyring.js";

/**
 * Encrypts values on their way to the disk and decrypts them on the way back, with AES-256-GCM. An encrypted value
 * consists of: checksum (4 bytes, over all that follows); then, as in every value, range letter, format (3 to 5),
 * number and ref; check of the key (8), salt (16), counter (6), id of the queue (8); the whole plain value, encrypted;
 * tag (16). Everything between checksum and ciphertext is authenticated, so a value can be read only in its own place
 * of its own queue. Format 5 holds a value without its own checksum, because the tag is stronger. Format 4 holds one
 * with its checksum. Values of format 3, which are only read, have no queue id.
 *
 * - A nonce is never used twice under a key: each opening of a store derives its own key with a random salt, and
 *   counts.
 * - The checksum detects damage without a key, so files can be repaired without keys. An intact value with a missing
 *   key is an error and never counts as damage. An intact value that does not decrypt with its key was tampered with.
 *   With the key, the checksum need not be verified: a value that decrypts is what was written.
 */
export class ValueCipher {
  readonly keyring: Keyring;
  private readonly salt = randomBytes(SALT_BYTES);
  private readonly nonce = Buffer.alloc(NONCE_BYTES);
  private counter = 0;
  private readonly writingKey: KeyObject | undefined;
  private readonly readingKeys = new Map<string, KeyObject>();
  private queueId: Buffer | undefined;

  constructor(keyring: Keyring) {
    this.keyring = keyring;
    this.writingKey = keyring.active && deriveKey(keyring.active, this.salt);
  }

  /** Sets the queue that the values belong to. To be called before any value is read or written. */
  bindTo(queueId: Buffer): void {
    this.queueId = queueId;
  }

  /**
   * Returns the value to be written, encrypted, or sealed in place. It is valid until the next call. Counters and
   * marks, which hold no data, are not encrypted.
   */
  encrypt(value: Uint8Array): Uint8Array {
    if (this.writingKey === undefined || isEncrypted(value) || !ENCRYPTED_LETTERS.has(value[4]!)) return seal(value);
    const length = HEADER_BYTES + value.length + TAG_BYTES;
    const out = scratchBuffer(length);
    out.set(value.subarray(4, PLACE_END), 4);
    out[5] = isUnsealed(value) ? BOUND_UNSEALED_FORMAT : BOUND_FORMAT;
    out.write(this.keyring.active!.check, PLACE_END, "hex");
    out.set(this.salt, SALT_AT);
    out.writeUIntLE(this.counter, COUNTER_AT, COUNTER_BYTES);
    out.set(this.boundTo(), QUEUE_ID_AT);
    this.nonce.writeUIntLE(this.counter++, 0, COUNTER_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.writingKey, this.nonce);
    cipher.setAAD(out.subarray(4, HEADER_BYTES));
    out.set(cipher.update(value), HEADER_BYTES);
    cipher.final();
    out.set(cipher.getAuthTag(), length - TAG_BYTES);
    return writeChecksum(out.subarray(0, length));
  }

  /**
   * Returns the plain value. A value that is not encrypted, is damaged or was changed is returned unchanged; it is
   * accepted later only if it is a valid plain value. Throws a `StoreError` "wrong_key" if the key is missing; `keyId`
   * is its name, if known.
   */
  decrypt(value: Uint8Array, keyId?: string): Uint8Array {
    const headerBytes = isBound(value) ? HEADER_BYTES : QUEUE_ID_AT;
    if (this.keyring.refusesPlain) this.checkNotPlain(value);
    if (!isEncrypted(value) || value.length < headerBytes + TAG_BYTES) return value;
    const bytes = bufferOf(value);
    const key = this.keyFor(bytes, keyId);
    if (key === undefined) return value;
    if (isBound(value) && !this.boundTo().equals(bytes.subarray(QUEUE_ID_AT, HEADER_BYTES))) return value;
    const nonce = Buffer.alloc(NONCE_BYTES);
    bytes.copy(nonce, 0, COUNTER_AT, QUEUE_ID_AT);
    const decipher = createDecipheriv(ALGORITHM, key, nonce);
    decipher.setAAD(bytes.subarray(4, headerBytes));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = decipher.update(bytes.subarray(headerBytes, -TAG_BYTES));
    try {
      decipher.final();
    } catch {
      plain.fill(0);
      return value;
    }
    return value[5] === BOUND_UNSEALED_FORMAT ? markUnsealed(plain) : plain;
  }

  private boundTo(): Buffer {
    if (this.queueId === undefined) throw new Error("the cipher was not told which queue it is for");
    return this.queueId;
  }

  /** Throws a `StoreError` for an intact value of `ENCRYPTED_RANGES` that is not encrypted for a queue. */
  checkNotPlain(value: Uint8Array): void {
    if (isBound(value) || !ENCRYPTED_LETTERS.has(value[4]!)) return;
    if (isFrameIntact(bufferOf(value))) throw plainError(isEncrypted(value) ? UNBOUND : undefined);
  }

  /** Returns the key of a value; undefined if the value is damaged and names no known key. */
  private keyFor(value: Buffer, keyId: string | undefined): KeyObject | undefined {
    const checkAndSalt = value.subarray(PLACE_END, COUNTER_AT);
    const name = checkAndSalt.toString("latin1");
    const known = this.readingKeys.get(name);
    if (known !== undefined) return known;
    const check = checkAndSalt.toString("hex", 0, CHECK_BYTES);
    const key = this.keyring.find(check);
    if (key === undefined && !isFrameIntact(value)) return undefined;
    if (key === undefined) throw missingKeyError(this.keyring, check, keyId);
    const derived = deriveKey(key, checkAndSalt.subarray(CHECK_BYTES));
    if (this.readingKeys.size >= MAX_READING_KEYS) this.readingKeys.clear();
    this.readingKeys.set(name, derived);
    return derived;
  }
}

/** Returns the check of the key that a stored value was encrypted with; undefined if it is not encrypted. */
export function keyCheckOf(value: Uint8Array): string | undefined {
  if (!isEncrypted(value) || value.length < QUEUE_ID_AT + TAG_BYTES) return undefined;
  return Buffer.from(value.subarray(PLACE_END, SALT_AT)).toString("hex");
}

/** Returns the id of the queue that a stored value was encrypted for; undefined if it names none. */
export function queueIdOf(value: Uint8Array): Buffer | undefined {
  if (!isBound(value) || value.length < HEADER_BYTES + TAG_BYTES) return undefined;
  const bytes = Buffer.from(value);
  return isFrameIntact(bytes) ? bytes.subarray(QUEUE_ID_AT, HEADER_BYTES) : undefined;
}

/** The error for a value that was written without the keys. */
export function plainError(what = "not encrypted"): StoreError {
  return new StoreError(
    "wrong_key",
    `an entry of the queue is ${what}, and extensions.reliability.encryption.refuse_plain is on. If the entry is yours, turn refuse_plain off until it is delivered. If not, another program writes to the place of the queue. Nothing was changed`,
  );
}

const UNBOUND = "encrypted without the id of its queue, as by older versions";
const ALGORITHM = "aes-256-gcm";
const SALT_BYTES = 16;
const COUNTER_BYTES = 6;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** End of range, format, number and ref. */
const PLACE_END = 16;
const SALT_AT = PLACE_END + CHECK_BYTES;
const COUNTER_AT = SALT_AT + SALT_BYTES;
const QUEUE_ID_AT = COUNTER_AT + COUNTER_BYTES;
export const QUEUE_ID_BYTES = 8;
const HEADER_BYTES = QUEUE_ID_AT + QUEUE_ID_BYTES;
/** Maximum number of derived keys kept in memory, one for each opening of the store that wrote entries still stored. */
const MAX_READING_KEYS = 1000;
/** The encrypted ranges. The others hold counters and marks. */
export const ENCRYPTED_RANGES: readonly KeyRange[] = [
  RANGES.entry,
  RANGES.chunk,
  RANGES.update,
  RANGES.failed,
  RANGES.note,
];
const ENCRYPTED_LETTERS: ReadonlySet<number> = new Set(ENCRYPTED_RANGES.map((range) => range.charCodeAt(0)));

let scratch = Buffer.allocUnsafeSlow(64 * 1024);

function scratchBuffer(length: number): Buffer {
  if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length * 2);
  return scratch;
}

import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { HASH_COST, work } from "./detect/text/work.js";

/** Regular expression for a text that has the form of a pseudonym. */
export const PSEUDONYM_PATTERN = "hash\\([0-9a-f]{32}\\)";
const PSEUDONYM_AT_START = new RegExp(`^${PSEUDONYM_PATTERN}`);
/** The end of the text, or what separates values. */
const END_OF_VALUE = /^(?:$|[\s,;&|"'<>()[\]{}])/;
const PSEUDONYM_LENGTH = "hash()".length + 32;

/** 80 bits of the value's HMAC: a billion values give the same digits with a probability of less than one in a million. */
const VALUE_DIGITS = 20;
/** 48 bits of signature. */
const SIGNATURE_DIGITS = 12;

/**
 * What the strategy `hash` writes: `hash(<32 hex digits>)`. The first digits are a keyed hash of the value, and the
 * others sign them. So a text that only has the form of a pseudonym is treated like any other text: only the holder of
 * the key can make one, and values cannot be guessed without the key.
 */
export class Pseudonyms {
  private readonly key: string | undefined;
  private readonly signatureKey: string | undefined;

  /** Without a key, no pseudonym can be made and none is recognised. */
  constructor(key: string | undefined) {
    this.key = key;
    // By another function than the hashes of values, so that no value has the key as its hash.
    this.signatureKey = key && createHmac("sha512", key).update("signature of pseudonyms").digest("hex");
  }

  /** The same value always has the same pseudonym. */
  of(value: Uint8Array | string): string {
    work.spent += HASH_COST;
    if (this.key === undefined) throw new Error("no key to hash with");
    const digits = createHmac("sha256", this.key).update(value).digest("hex").slice(0, VALUE_DIGITS);
    return `hash(${digits}${this.signature(digits)})`;
  }

  /** Whether the text is a pseudonym made with this key. */
  isOwn(text: string): boolean {
    return text.length === PSEUDONYM_LENGTH && this.isOwnValue(text);
  }

  /** Whether the text begins with a pseudonym made with this key, and a value that begins with it ends there. */
  readonly isOwnValue = (text: string): boolean => {
    if (this.signatureKey === undefined || !PSEUDONYM_AT_START.test(text)) return false;
    if (!END_OF_VALUE.test(text.slice(PSEUDONYM_LENGTH))) return false;
    work.spent += HASH_COST;
    const digits = text.slice(5, 5 + VALUE_DIGITS);
    const signature = text.slice(5 + VALUE_DIGITS, PSEUDONYM_LENGTH - 1);
    return timingSafeEqual(Buffer.from(signature), Buffer.from(this.signature(digits)));
  };

  /** A plain hash over key and digits is enough, and half the cost of an HMAC: all inputs have the same length. */
  private signature(digits: string): string {
    return hash("sha256", `${this.signatureKey}${digits}`, "hex").slice(0, SIGNATURE_DIGITS);
  }
}

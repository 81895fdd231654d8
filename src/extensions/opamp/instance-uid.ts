import { randomBytes } from "node:crypto";

/** The identity of an agent: 16 bytes, written as a UUID. */
export const UID_BYTES = 16;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
/** Crockford's base 32; the first of 26 characters has only three bits. */
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Creates a UUIDv7 (RFC 9562): 48 bits of milliseconds, then random bits. */
export function createInstanceUid(nowMs: number): Buffer {
  const uid = randomBytes(UID_BYTES);
  uid.writeUIntBE(Math.max(0, Math.trunc(nowMs)), 0, 6);
  uid[6] = (uid[6]! & 0x0f) | 0x70;
  uid[8] = (uid[8]! & 0x3f) | 0x80;
  return uid;
}

/** Reads a UUID, or a ULID as older configs have it. Undefined for anything else. */
export function parseInstanceUid(text: string): Buffer | undefined {
  if (UUID.test(text)) return Buffer.from(text.replaceAll("-", ""), "hex");
  if (!ULID.test(text)) return undefined;
  const value = [...text.toUpperCase()].reduce((sum, digit) => sum * 32n + BigInt(ULID_DIGITS.indexOf(digit)), 0n);
  return Buffer.from(value.toString(16).padStart(UID_BYTES * 2, "0"), "hex");
}

export function formatInstanceUid(uid: Uint8Array): string {
  const hex = Buffer.from(uid).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

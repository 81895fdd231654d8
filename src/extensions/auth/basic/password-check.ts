import { hash, timingSafeEqual } from "node:crypto";
import { argon2dAsync, argon2iAsync, argon2idAsync } from "@noble/hashes/argon2.js";
import { compare } from "bcryptjs";

/** Compares a password with the stored one. */
export type PasswordCheck = (password: string) => boolean | Promise<boolean>;

/** The reason why a stored password cannot be used, for the author of the file. */
interface StoredPasswordProblem {
  readonly problem: string;
}

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const ARGON2 = /^\$argon2(id|i|d)\$v=(\d+)\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
/** bcrypt ignores all bytes after these, so a longer password would match any other with the same beginning. */
const MAX_BCRYPT_BYTES = 72;
/** Limits of the hash parameters. Higher ones would occupy a core for seconds for each client. */
const MAX_BCRYPT_COST = 14;
const MAX_ARGON2_KIB = 256 * 1024;
const MAX_ARGON2_PASSES = 10;

/** Formats that can be guessed at millions per second, by their prefix. */
const WEAK: readonly (readonly [RegExp, string])[] = [
  [/^\$apr1\$/, "apr1 (MD5)"],
  [/^\$1\$/, "MD5 crypt"],
  [/^\{S?SHA\}/i, "SHA-1"],
  [/^\$[56]\$/, "SHA crypt"],
  [/^\$/, "a hash of an unknown kind"],
  [/^[./A-Za-z0-9]{13}$/, "DES crypt"],
];

/**
 * Returns the check for a stored password. Plain passwords are accepted only with `mayBePlain`: a config may contain
 * secrets, but a file of hashes should not.
 */
export function passwordCheck(stored: string, mayBePlain: boolean): PasswordCheck | StoredPasswordProblem {
  const bcrypt = BCRYPT.exec(stored);
  if (bcrypt !== null) {
    if (Number(bcrypt[1]) <= MAX_BCRYPT_COST) return (password) => bcryptCheck(password, stored);
    return { problem: `its bcrypt cost is over ${MAX_BCRYPT_COST}` };
  }
  const argon2 = ARGON2.exec(stored);
  if (argon2 !== null) return argon2Check(argon2);
  const weak = WEAK.find(([pattern]) => pattern.test(stored));
  if (weak !== undefined) return { problem: `${weak[1]} is not supported; use bcrypt (htpasswd -B) or argon2` };
  if (!mayBePlain) return { problem: "a plain password does not belong in a file; use bcrypt (htpasswd -B) or argon2" };
  if (stored === "") return { problem: "the password is empty" };
  const expected = digestOf(stored);
  return (password) => timingSafeEqual(digestOf(password), expected);
}

/** The hash is computed in any case, so that the time tells nothing. */
async function bcryptCheck(password: string, stored: string): Promise<boolean> {
  const isSame = await compare(password, stored);
  return isSame && Buffer.byteLength(password) <= MAX_BCRYPT_BYTES;
}

function argon2Check([, kind, version, kib, passes, lanes, salt, stored]: RegExpExecArray) {
  const settings = { version: Number(version), m: Number(kib), t: Number(passes), p: Number(lanes) };
  if (settings.version !== 0x13) return { problem: "argon2 of a version other than 19 is not supported" };
  if (settings.m > MAX_ARGON2_KIB || settings.t > MAX_ARGON2_PASSES) {
    return { problem: `argon2 with more than m=${MAX_ARGON2_KIB} or t=${MAX_ARGON2_PASSES} is not supported` };
  }
  const expected = Buffer.from(stored!, "base64");
  const derive = { id: argon2idAsync, i: argon2iAsync, d: argon2dAsync }[kind as "id" | "i" | "d"];
  const options = { ...settings, dkLen: expected.length, asyncTick: SLICE_MS };
  return async (password: string) =>
    timingSafeEqual(await derive(password, Buffer.from(salt!, "base64"), options), expected);
}

/** Maximum time in milliseconds that it may block the event loop. */
const SLICE_MS = 5;

function digestOf(text: string): Buffer {
  return Buffer.from(hash("sha256", text, "base64"), "base64");
}

import { constants, createHash, publicEncrypt } from "node:crypto";
import { MysqlProtocolError } from "./packets.js";

/** A user, and how the password may be proved to the server. */
export interface MysqlCredentials {
  readonly username: string;
  readonly password: string;
  /** Whether the answer may be a hash by `mysql_native_password`, which is weak. */
  readonly allowsNativePassword: boolean;
  /** Whether the password itself may be sent. This is so only if the connection is private. */
  readonly allowsClearPassword: boolean;
}

/** The plugin whose answer is the first try, if the server names none that is known. */
export const DEFAULT_PLUGIN = "mysql_native_password";

/**
 * The answer to the server's question by this plugin. `isPrivate` says that no others can read the connection.
 * Throws if the plugin is not supported or not allowed.
 */
export function authAnswer(plugin: string, credentials: MysqlCredentials, nonce: Buffer, isPrivate: boolean): Buffer {
  const { password, allowsNativePassword, allowsClearPassword } = credentials;
  if (plugin === "mysql_native_password") {
    if (!allowsNativePassword)
      throw new Error("the server requires mysql_native_password, which allow_native_passwords: false forbids");
    return password === "" ? NOTHING : nativeHash(password, nonce);
  }
  if (plugin === "caching_sha2_password") return password === "" ? NOTHING : cachingHash(password, nonce);
  if (plugin === "sha256_password") {
    if (password === "") return Buffer.of(0);
    return isPrivate ? clearText(password) : ASK_FOR_KEY_OF_SHA256;
  }
  if (plugin === "mysql_clear_password") {
    if (!allowsClearPassword || !isPrivate)
      throw new Error(
        "the server requires the password in clear text, which is sent only if it is allowed, and over TLS",
      );
    return clearText(password);
  }
  throw new Error(
    `the server requires ${JSON.stringify(plugin.slice(0, 64))}, which is not supported; create the user with ` +
      "mysql_native_password or caching_sha2_password",
  );
}

/** The server's word about a hash of `caching_sha2_password`. */
const FAST_OK = 3;
const FULL_NEEDED = 4;
const NOTHING = Buffer.alloc(0);
const ASK_FOR_KEY_OF_SHA256 = Buffer.of(1);
const ASK_FOR_KEY = Buffer.of(2);

/** Answers more data of the server within a plugin; undefined if there is nothing to answer. */
export function moreAuth(
  plugin: string,
  { password }: MysqlCredentials,
  nonce: Buffer,
  isPrivate: boolean,
  data: Buffer,
): Buffer | undefined {
  const hasKey = data.includes("-----BEGIN PUBLIC KEY-----");
  if (plugin === "caching_sha2_password" && data.length === 1) {
    if (data[0] === FAST_OK) return undefined;
    if (data[0] === FULL_NEEDED) return isPrivate ? clearText(password) : ASK_FOR_KEY;
  }
  if (hasKey && !isPrivate && (plugin === "caching_sha2_password" || plugin === "sha256_password"))
    return encrypted(password, nonce, data);
  throw new MysqlProtocolError("the server's authentication is malformed");
}

function clearText(password: string): Buffer {
  return Buffer.from(`${password}\0`);
}

/** Only the server can read the password then; which server that is, only TLS tells. */
function encrypted(password: string, nonce: Buffer, key: Buffer): Buffer {
  const text = clearText(password);
  for (let i = 0; i < text.length; i++) text[i]! ^= nonce[i % nonce.length]!;
  try {
    return publicEncrypt({ key: key.toString("latin1"), padding: constants.RSA_PKCS1_OAEP_PADDING }, text);
  } catch (cause) {
    throw new MysqlProtocolError("the server's public key cannot be used", { cause });
  }
}

function nativeHash(password: string, nonce: Buffer): Buffer {
  const once = digest("sha1", password);
  return xor(once, digest("sha1", nonce, digest("sha1", once)));
}

function cachingHash(password: string, nonce: Buffer): Buffer {
  const once = digest("sha256", password);
  return xor(once, digest("sha256", digest("sha256", once), nonce));
}

function digest(algorithm: string, ...parts: (string | Buffer)[]): Buffer {
  const hash = createHash(algorithm);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function xor(a: Buffer, b: Buffer): Buffer {
  return Buffer.from(a.map((byte, i) => byte ^ b[i]!));
}

import { hash, randomBytes, randomUUID } from "node:crypto";
import { FNV64_START, fnv64, murmur3, murmur3x128, xxh3, xxh128 } from "#codecs";
import { withoutEnd } from "#text";
import { OttlError } from "../values/error.js";
import { OttlId, type OttlValue } from "../values/value.js";
import { type FunctionSpec, parameters } from "./function-spec.js";
import { charsetDecoder } from "./text/charset.js";

/** Hashes, encodings and random ids. */

function singleTextConverter(
  name: string,
  returns: string,
  summary: string,
  convert: (text: string) => OttlValue,
): FunctionSpec {
  return {
    name,
    parameters: parameters("target: string"),
    returns,
    summary,
    example: `${name}(attributes["user.email"])`,
    compile(args) {
      const target = args.text("target");
      return (ctx) => convert(target(ctx));
    },
  };
}

function hashConverter(name: string, algorithm: string): FunctionSpec {
  return singleTextConverter(name, "string", `The ${name} hash of a text, in hex.`, (text) =>
    hash(algorithm, text, "hex"),
  );
}

function fnv1a(text: string): bigint {
  return BigInt.asIntN(64, fnv64(FNV64_START, Buffer.from(text)));
}

function hexOf(value: bigint, digits = 16): string {
  return value.toString(16).padStart(digits, "0");
}

/** The bytes of the halves, least significant first, as the hash was published. */
function littleEndianHex(...halves: bigint[]): string {
  const bytes = Buffer.alloc(8 * halves.length);
  halves.forEach((half, i) => {
    bytes.writeBigUInt64LE(half, 8 * i);
  });
  return bytes.toString("hex");
}

const BASE64: Readonly<Record<string, { readonly encoding: "base64" | "base64url"; readonly padded: boolean }>> = {
  base64: { encoding: "base64", padded: true },
  "base64-raw": { encoding: "base64", padded: false },
  "base64-url": { encoding: "base64url", padded: true },
  "base64-raw-url": { encoding: "base64url", padded: false },
};

function decodeBase64(text: string, variant: string): string {
  const { encoding, padded } = BASE64[variant]!;
  const alphabet = encoding === "base64" ? /^[A-Za-z0-9+/]*={0,2}$/ : /^[A-Za-z0-9\-_]*={0,2}$/;
  const clean = text.replace(/[\r\n]/g, "");
  if (!alphabet.test(clean) || (padded ? clean.length % 4 !== 0 : clean.includes("=") || clean.length % 4 === 1))
    throw new OttlError(`not valid ${variant}`);
  return Buffer.from(clean, encoding).toString("utf8");
}

function decoderOf(encoding: string): ((bytes: Buffer) => string) | undefined {
  const name = encoding.toLowerCase();
  if (Object.hasOwn(BASE64, name)) return (bytes) => decodeBase64(bytes.toString("latin1"), name);
  return charsetDecoder(name);
}

function encodeBase64(text: string, variant: string): string {
  if (!Object.hasOwn(BASE64, variant)) throw new OttlError(`the variant is one of ${Object.keys(BASE64).join(", ")}`);
  const { encoding, padded } = BASE64[variant]!;
  const encoded = withoutEnd(Buffer.from(text).toString(encoding), "=");
  return padded ? encoded.padEnd(Math.ceil(encoded.length / 4) * 4, "=") : encoded;
}

function uuidV7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
}

export const HASH_CONVERTERS: readonly FunctionSpec[] = [
  hashConverter("SHA256", "sha256"),
  hashConverter("SHA512", "sha512"),
  hashConverter("SHA1", "sha1"),
  hashConverter("MD5", "md5"),
  singleTextConverter("FNV", "int", "The 64-bit FNV-1a hash of a text.", fnv1a),
  singleTextConverter("Murmur3Hash", "string", "The 32-bit MurmurHash3 of a text, in hex.", (text) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(murmur3(Buffer.from(text)));
    return bytes.toString("hex");
  }),
  singleTextConverter("Murmur3Hash128", "string", "The 128-bit MurmurHash3 of a text, in hex.", (text) =>
    littleEndianHex(...murmur3x128(Buffer.from(text))),
  ),
  singleTextConverter("XXH3", "string", "The 64-bit XXH3 hash of a text, in hex.", (text) =>
    hexOf(xxh3(Buffer.from(text))),
  ),
  singleTextConverter("XXH128", "string", "The 128-bit XXH3 hash of a text, in hex.", (text) => {
    const [low, high] = xxh128(Buffer.from(text));
    return hexOf(high) + hexOf(low);
  }),
  singleTextConverter("Base64Decode", "string", "Decodes a base64 text.", (text) => decodeBase64(text, "base64")),
  {
    name: "Base64Encode",
    parameters: parameters("target: string", "variant?: string"),
    returns: "string",
    summary: `A text in base64, or in the variant ${Object.keys(BASE64).slice(1).join(", ")}.`,
    example: "Base64Encode(body)",
    compile(args) {
      const target = args.text("target");
      const variant = args.has("variant") ? args.text("variant") : () => "base64";
      return (ctx) => encodeBase64(target(ctx), variant(ctx));
    },
  },
  {
    name: "Decode",
    parameters: parameters("target: any", "encoding: string"),
    returns: "string",
    summary: `The text of a string or bytes in another encoding: ${Object.keys(BASE64).join(", ")}, us-ascii, or one of the Encoding Standard, such as utf-8, utf-16le, utf-16be, iso-8859-1 to -16, windows-1250 to -1258, koi8-r, shift_jis, euc-jp, euc-kr, gbk, gb18030 and big5. Invalid characters become U+FFFD.`,
    example: 'Decode(body, "base64")',
    compile(args) {
      const target = args.any("target");
      const encoding = args.text("encoding");
      const literal = args.constant("encoding");
      if (typeof literal === "string" && decoderOf(literal) === undefined) args.reject("encoding", "no such encoding");
      return (ctx) => {
        const value = target(ctx);
        const decode = decoderOf(encoding(ctx));
        if (decode === undefined) throw new OttlError("Decode: no such encoding");
        if (typeof value !== "string" && (!(value instanceof Uint8Array) || value instanceof OttlId))
          throw new OttlError("Decode needs a string or bytes");
        return decode(Buffer.from(value as string));
      };
    },
  },
  {
    name: "UUID",
    parameters: [],
    returns: "string",
    summary: "A new random UUID (version 4).",
    example: 'set(attributes["id"], UUID())',
    compile: () => () => randomUUID(),
  },
  {
    name: "UUIDv7",
    parameters: [],
    returns: "string",
    summary: "A new UUID that sorts by time (version 7).",
    example: 'set(attributes["id"], UUIDv7())',
    compile: () => () => uuidV7(),
  },
];

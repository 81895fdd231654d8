import { createHash, randomBytes, randomUUID } from "node:crypto";
import { FNV64_START, fnv64 } from "../../kit/fnv.js";
import { OttlError } from "../values/error.js";
import type { OttlValue } from "../values/value.js";
import { type FunctionSpec, parameters } from "./function-spec.js";

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
    createHash(algorithm).update(text).digest("hex"),
  );
}

function fnv1a(text: string): bigint {
  return BigInt.asIntN(64, fnv64(FNV64_START, Buffer.from(text)));
}

const BASE64: Readonly<Record<string, { readonly encoding: "base64" | "base64url"; readonly padded: boolean }>> = {
  base64: { encoding: "base64", padded: true },
  "base64-raw": { encoding: "base64", padded: false },
  "base64-url": { encoding: "base64url", padded: true },
  "base64-raw-url": { encoding: "base64url", padded: false },
};
const CHARSETS: Readonly<Record<string, BufferEncoding>> = {
  "utf-8": "utf8",
  utf8: "utf8",
  "us-ascii": "ascii",
  ascii: "ascii",
  "iso-8859-1": "latin1",
  "utf-16le": "utf16le",
};

function decodeBase64(text: string, variant: string): string {
  const { encoding, padded } = BASE64[variant]!;
  const alphabet = encoding === "base64" ? /^[A-Za-z0-9+/]*={0,2}$/ : /^[A-Za-z0-9\-_]*={0,2}$/;
  const clean = text.replace(/[\r\n]/g, "");
  if (!alphabet.test(clean) || (padded ? clean.length % 4 !== 0 : clean.includes("=") || clean.length % 4 === 1))
    throw new OttlError(`not valid ${variant}`);
  return Buffer.from(clean, encoding).toString("utf8");
}

function encodeBase64(text: string, variant: string): string {
  const { encoding, padded } = BASE64[variant]!;
  const encoded = Buffer.from(text).toString(encoding).replace(/=+$/, "");
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
  singleTextConverter("Base64Decode", "string", "The text that is written in base64.", (text) =>
    decodeBase64(text, "base64"),
  ),
  {
    name: "Base64Encode",
    parameters: parameters("target: string", "variant?: STRING"),
    returns: "string",
    summary: `A text in base64, or in the variant ${Object.keys(BASE64).slice(1).join(", ")}.`,
    example: "Base64Encode(body)",
    compile(args) {
      const target = args.text("target");
      const variant = args.literalText("variant", "base64");
      if (!Object.hasOwn(BASE64, variant))
        args.reject("variant", `the variant is one of ${Object.keys(BASE64).join(", ")}`);
      return (ctx) => encodeBase64(target(ctx), variant);
    },
  },
  {
    name: "Decode",
    parameters: parameters("target: any", "encoding: STRING"),
    returns: "string",
    summary: `The text of a string or bytes in another encoding: ${[...Object.keys(BASE64), ...Object.keys(CHARSETS)].join(", ")}.`,
    example: 'Decode(body, "base64")',
    compile(args) {
      const target = args.any("target");
      const encoding = args.literalText("encoding").toLowerCase();
      const charset = CHARSETS[encoding];
      if (charset === undefined && !Object.hasOwn(BASE64, encoding)) args.reject("encoding", "no such encoding");
      return (ctx) => {
        const value = target(ctx);
        if (typeof value !== "string" && !(value instanceof Uint8Array))
          throw new OttlError("Decode needs a string or bytes");
        const bytes = Buffer.from(value as string);
        return charset === undefined ? decodeBase64(bytes.toString("latin1"), encoding) : bytes.toString(charset);
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

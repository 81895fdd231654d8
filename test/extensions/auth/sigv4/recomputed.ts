import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A request as received over the wire. */
export interface WireRequest {
  readonly method: string;
  /** The path and query of the first line, as they were sent. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

const hash = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text, "utf8").digest();

/** "UriEncode" of the specification: UTF-8 bytes, all except A-Z a-z 0-9 - . _ ~ as %XX in capitals. */
function uriEncode(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    text += /[A-Za-z0-9._~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

/** The bytes that a part of a query stands for. */
function decodedBytes(text: string): Buffer {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const hex = text[i] === "%" ? text.slice(i + 1, i + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      i += 2;
    } else bytes.push(...Buffer.from(text[i] === "+" ? " " : text[i]!));
  }
  return Buffer.from(bytes);
}

/**
 * Computes the signature as AWS does for a received request, written only from "Create a signed AWS API request" of the
 * IAM user guide. Besides the request, it only needs the secret of the access key.
 */
export function recomputedSignature({ method, path, headers, body }: WireRequest, secret: string): string {
  const fields = /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=/.exec(
    headers.authorization!,
  )!;
  const [, date, region, service, terminator] = fields[1]!.split("/") as [string, string, string, string, string];
  const [uri, query = ""] = path.split("?", 2) as [string, string?];
  const canonicalUri = uri
    .split("/")
    .map((segment) => (service === "s3" ? segment : uriEncode(Buffer.from(segment))))
    .join("/");
  const canonicalQuery = query
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return `${uriEncode(decodedBytes(name))}=${uriEncode(decodedBytes(value.join("=")))}`;
    })
    .sort(byNameThenValue)
    .join("&");
  const canonicalHeaders = fields[2]!
    .split(";")
    .map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, " ")}\n`)
    .join("");
  const canonical = [method, canonicalUri, canonicalQuery, canonicalHeaders, fields[2], hash(body)].join("\n");
  const scope = `${date}/${region}/${service}/${terminator}`;
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hash(canonical)].join("\n");
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), terminator);
  return hmac(key, toSign).toString("hex");
}

function byNameThenValue(one: string, other: string): number {
  const [a, b] = [one.split("="), other.split("=")];
  if (a[0] !== b[0]) return a[0]! < b[0]! ? -1 : 1;
  return a[1]! < b[1]! ? -1 : a[1]! > b[1]! ? 1 : 0;
}

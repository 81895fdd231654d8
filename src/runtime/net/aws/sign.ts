import { createHash, createHmac } from "node:crypto";

/** AWS keys. Temporary keys have a session token. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** The request to sign, with the region and service. */
export interface SigningRequest {
  readonly method: string;
  readonly url: URL;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The SHA-256 of the body in hex, if it is known already. */
  readonly bodyHash?: string;
  readonly region: string;
  readonly service: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const ALGORITHM = "AWS4-HMAC-SHA256";
/** Headers that are signed if present. A proxy may change others on the way. */
const SIGNED = ["content-encoding", "content-type", "host"];

/** Returns the headers that sign a request by AWS Signature Version 4. */
export function signRequest(request: SigningRequest, credentials: AwsCredentials): Record<string, string> {
  const { region, service, at } = request;
  const time = new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const added = {
    "x-amz-date": time,
    ...(credentials.sessionToken !== undefined && { "x-amz-security-token": credentials.sessionToken }),
  };
  const signed = signedHeaders(request, added);
  const names = signed.map(([name]) => name).join(";");
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const canonical = canonicalRequest(request, signed, names);
  const text = [ALGORITHM, time, scope, sha256(canonical)].join("\n");
  const signature = createHmac("sha256", signingKey(credentials, scope)).update(text).digest("hex");
  const credential = `Credential=${credentials.accessKeyId}/${scope}`;
  return { ...added, authorization: `${ALGORITHM} ${credential}, SignedHeaders=${names}, Signature=${signature}` };
}

function signedHeaders({ headers, url }: SigningRequest, added: Readonly<Record<string, string>>): [string, string][] {
  const all: Readonly<Record<string, string>> = { host: url.host, ...headers, ...added };
  const isSigned = (name: string) => SIGNED.includes(name) || name.startsWith("x-amz-");
  return Object.entries(all)
    .filter(([name]) => isSigned(name))
    .map(([name, value]): [string, string] => [name, value.trim().replace(/ +/g, " ")])
    .sort(byName);
}

function canonicalRequest(
  { method, url, body, bodyHash = sha256(body), service }: SigningRequest,
  signed: readonly (readonly [string, string])[],
  names: string,
): string {
  const headers = signed.map(([name, value]) => `${name}:${value}\n`).join("");
  return [method, canonicalPath(url, service), canonicalQuery(url), headers, names, bodyHash].join("\n");
}

/** Encodes every part of the path once more. Only S3 expects the path as it is sent. */
function canonicalPath({ pathname }: URL, service: string): string {
  return service === "s3" ? pathname : pathname.split("/").map(encodeRfc3986).join("/");
}

function canonicalQuery({ searchParams }: URL): string {
  return [...searchParams]
    .map(([name, value]): [string, string] => [encodeRfc3986(name), encodeRfc3986(value)])
    .sort((one, other) => byName(one, other) || compare(one[1], other[1]))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function signingKey({ secretAccessKey }: AwsCredentials, scope: string): Buffer {
  let key = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of scope.split("/")) key = createHmac("sha256", key).update(part).digest();
  return key;
}

/** Encodes all characters except letters, digits and - . _ ~, by RFC 3986. */
export function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

function byName([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return compare(one, other);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

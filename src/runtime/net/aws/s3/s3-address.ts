import { Refusal } from "#contract/errors";
import { environmentVariable } from "#system";
import { encodeRfc3986 } from "../sign.js";

/** Which S3 server and bucket to use. */
export interface S3Address {
  readonly region: string;
  readonly bucket: string;
  /** The server; by default AWS in that region. */
  readonly endpoint?: URL | undefined;
  /** Names the bucket in the path of URLs instead of in the host's name. */
  readonly isPathStyle: boolean;
  /** Uses http if there is no `endpoint`. */
  readonly isInsecure?: boolean;
}

/** Query parameters of a request; a value of "" stands for a parameter without a value. */
export type S3Query = Readonly<Record<string, string>>;

/**
 * Names that DNS allows, without dots: a name with dots would not match the server's certificate, so such a bucket is
 * always named in the path.
 */
const HOST_LABEL = /^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$/;
/** Matches bucket names that S3 and similar servers accept. They contain nothing that could change the path. */
const BUCKET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;

/** The URL of the server without a bucket. */
export function s3ServerUrl({ endpoint, region, isInsecure }: S3Address): URL {
  if (endpoint !== undefined) return endpoint;
  const written = environmentVariable("AWS_ENDPOINT_URL_S3");
  if (written !== undefined && URL.canParse(written)) return new URL(written);
  const domain = `amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  return new URL(`${isInsecure ? "http" : "https"}://s3.${region}.${domain}/`);
}

/**
 * The URL of a bucket, or of an object in it. `bucket` may be another one than that of the address; it is then named in
 * the path, so that it needs no host of its own. Throws a `Refusal` for names that URLs cannot carry.
 */
export function s3ObjectUrl(address: S3Address, key: string, query: S3Query = {}, bucket = address.bucket): URL {
  if (!BUCKET_NAME.test(bucket)) throw badName(`${JSON.stringify(bucket.slice(0, 100))} is not the name of a bucket`);
  const url = new URL(s3ServerUrl(address));
  const isInHost = !address.isPathStyle && bucket === address.bucket && HOST_LABEL.test(bucket) && !isIp(url.hostname);
  if (isInHost) url.hostname = `${bucket}.${url.hostname}`;
  const start = `${url.pathname.replace(/\/$/, "")}${isInHost ? "" : `/${bucket}`}`;
  const path = `${start}/${key.split("/").map(encodeRfc3986).join("/")}`;
  url.pathname = path;
  // A URL resolves the parts . and .., and would name another object.
  if (url.pathname !== path) throw badName(`the object ${JSON.stringify(key.slice(0, 200))} cannot be named in a URL`);
  url.search = Object.entries(query)
    .map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`)
    .join("&");
  return url;
}

function isIp(hostname: string): boolean {
  return hostname.startsWith("[") || /^[\d.]+$/.test(hostname);
}

function badName(message: string): Refusal {
  return new Refusal("permanent", message, { category: "schema" });
}

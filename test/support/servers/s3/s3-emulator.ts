import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { recomputedSignature } from "../../../extensions/auth/sigv4/recomputed.js";

/** The keys that the emulator knows. */
export const S3_KEYS = { AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" };

export interface StoredObject {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface S3Call {
  readonly method: string;
  readonly bucket: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

/**
 * How a call is spoilt:
 * - an error code with its status, such as "503 SlowDown";
 * - "hang": nothing is done, and there is no answer;
 * - "cut": the connection is cut before anything is done, "cut_after": when the call has been carried out;
 * - "fail_after": 500 although the call has been carried out;
 * - "cut_answer": the connection is cut in the middle of the answer's body.
 */
export type S3Fault = "hang" | "cut" | "cut_after" | "fail_after" | "cut_answer" | `${number} ${string}`;

class S3Problem extends Error {
  readonly status: number;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
  }
}

interface Upload {
  readonly id: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly parts: Map<number, Buffer>;
}

/**
 * S3 as its documentation describes it, in memory: signatures, path and host style, objects, uploads in parts, ranges,
 * lists in pages. Tests can spoil calls. Buckets exist when they are named in `buckets`.
 */
export class S3Emulator {
  readonly buckets = new Map<string, Map<string, StoredObject>>();
  readonly uploads = new Map<string, Upload>();
  readonly calls: S3Call[] = [];
  /** The keys of all objects that were ever completed, also those that replaced others. */
  readonly stored: string[] = [];
  /** Whether it unpacks objects for clients that do not take gzip, as Google Cloud Storage does. */
  unpacksGzip = false;
  fault: (call: S3Call) => S3Fault | undefined = () => undefined;
  private readonly server = createServer((request, response) => void this.serve(request, response));

  constructor(...buckets: readonly string[]) {
    for (const bucket of buckets) this.buckets.set(bucket, new Map());
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    return this;
  }

  /** It can be started again at the same port; objects stay. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  /** Stops listening for a while. */
  async outage(ms: number): Promise<void> {
    if (!this.server.listening) return;
    const { port } = this;
    await this.close();
    await new Promise((resolve) => setTimeout(resolve, ms));
    await this.start(port);
  }

  /** The objects of a bucket by key, sorted. */
  objects(bucket: string): [string, StoredObject][] {
    return [...this.buckets.get(bucket)!].sort(([one], [other]) =>
      Buffer.compare(Buffer.from(one), Buffer.from(other)),
    );
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The client went away in the middle: nothing happens.
    }
    const body = Buffer.concat(chunks);
    const call = callOf(request);
    this.calls.push(call);
    const fault = this.fault(call);
    if (fault === "hang") return;
    if (fault === "cut") return void request.socket.destroy();
    try {
      if (fault !== undefined && /^\d/.test(fault)) {
        const [status, code] = fault.split(" ") as [string, string];
        throw new S3Problem(Number(status), code);
      }
      checkSignature(request, body);
      const answer = this.carryOut(call, request, body);
      if (fault === "cut_after") return void request.socket.destroy();
      if (fault === "fail_after") throw new S3Problem(500, "InternalError");
      response.writeHead(answer.status ?? 200, { ...answer.headers, "content-length": answer.body?.length ?? 0 });
      if (fault !== "cut_answer") return void response.end(request.method === "HEAD" ? undefined : answer.body);
      response.write(answer.body!.subarray(0, answer.body!.length >> 1), () => request.socket.destroy());
    } catch (error) {
      if (!(error instanceof S3Problem)) throw error;
      const text = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${error.message}</Code><Message>As you &lt;wished&gt;.</Message></Error>`;
      response.writeHead(error.status, { "content-type": "application/xml" });
      response.end(request.method === "HEAD" ? undefined : text);
    }
  }

  private carryOut(call: S3Call, request: IncomingMessage, body: Buffer): Answer {
    const { method, key, query } = call;
    const objects = this.buckets.get(call.bucket);
    if (objects === undefined) throw new S3Problem(404, "NoSuchBucket");
    const headers = request.headers as Readonly<Record<string, string>>;
    if (key === "" && query.has("uploads")) return this.listUploads(query.get("prefix") ?? "");
    if (key === "") return method === "HEAD" ? {} : this.list(objects, query);
    const uploadId = query.get("uploadId");
    if (uploadId !== null) return this.onUpload(call, uploadId, objects, body);
    if (query.has("uploads")) return this.createUpload(key, headers);
    if (method === "PUT") {
      this.store(objects, key, { body, headers });
      return { headers: { etag: etagOf(body) } };
    }
    const found = objects.get(key);
    if (method === "DELETE") return objects.delete(key) ? { status: 204 } : { status: 204 };
    if (found === undefined) throw new S3Problem(404, "NoSuchKey");
    const start = Number(/^bytes=(\d+)-$/.exec(headers["range"] ?? "")?.[1] ?? 0);
    const encoding = found.headers["content-encoding"];
    const isUnpacked = this.unpacksGzip && encoding === "gzip" && !headers["accept-encoding"]?.includes("gzip");
    if (isUnpacked) return { headers: { etag: etagOf(found.body) }, body: gunzipSync(found.body) };
    return {
      status: start > 0 ? 206 : 200,
      headers: { etag: etagOf(found.body), ...(encoding && { "content-encoding": encoding }) },
      body: found.body.subarray(start),
    };
  }

  private store(objects: Map<string, StoredObject>, key: string, object: StoredObject): void {
    objects.set(key, object);
    this.stored.push(key);
  }

  private listUploads(prefix: string): Answer {
    const uploads = [...this.uploads.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .map(
        ({ id, key }) => `<Upload><Key>${encodeURIComponent(key)}</Key><UploadId>${escaped(id)}</UploadId></Upload>`,
      );
    return xml(
      `<ListMultipartUploadsResult><EncodingType>url</EncodingType>${uploads.join("")}</ListMultipartUploadsResult>`,
    );
  }

  private createUpload(key: string, headers: Readonly<Record<string, string>>): Answer {
    const id = `${randomUUID()}/+ &`;
    this.uploads.set(id, { id, key, headers, parts: new Map() });
    return xml(`<InitiateMultipartUploadResult><UploadId>${escaped(id)}</UploadId></InitiateMultipartUploadResult>`);
  }

  private onUpload(call: S3Call, id: string, objects: Map<string, StoredObject>, body: Buffer): Answer {
    const upload = this.uploads.get(id);
    if (upload === undefined) throw new S3Problem(404, "NoSuchUpload");
    if (call.method === "PUT") {
      upload.parts.set(Number(call.query.get("partNumber")), body);
      return { headers: { etag: etagOf(body) } };
    }
    this.uploads.delete(id);
    if (call.method === "DELETE") return { status: 204 };
    const listed = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
    const parts = listed.map(([, number, etag]) => {
      const part = upload.parts.get(Number(number));
      if (part === undefined || etagOf(part) !== etag!.replaceAll("&quot;", '"'))
        throw new S3Problem(400, "InvalidPart");
      return part;
    });
    this.store(objects, call.key, { body: Buffer.concat(parts), headers: upload.headers });
    return xml("<CompleteMultipartUploadResult><ETag>&quot;1&quot;</ETag></CompleteMultipartUploadResult>");
  }

  private list(objects: Map<string, StoredObject>, query: URLSearchParams): Answer {
    const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
    const max = Math.min(1000, Number(query.get("max-keys") ?? 1000));
    const bytes = (text: string) => Buffer.from(text);
    const keys = [...objects.keys()]
      .filter((key) => key.startsWith(query.get("prefix") ?? "") && Buffer.compare(bytes(key), bytes(after)) > 0)
      .sort((one, other) => Buffer.compare(bytes(one), bytes(other)));
    const page = keys.slice(0, max);
    const isUrl = query.get("encoding-type") === "url";
    const encode = (key: string) => (isUrl ? encodeURIComponent(key).replaceAll("%20", "+") : escaped(key));
    const contents = page.map(
      (key) =>
        `<Contents><Key>${encode(key)}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>${objects.get(key)!.body.length}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
    );
    const isTruncated = keys.length > page.length;
    const next = isTruncated ? `<NextContinuationToken>${escaped(page.at(-1)!)}</NextContinuationToken>` : "";
    const encoding = isUrl ? "<EncodingType>url</EncodingType>" : "";
    return xml(
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${encoding}<IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join("")}</ListBucketResult>`,
    );
  }
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** A host such as `bucket.localhost` names the bucket; otherwise the path does. */
function callOf(request: IncomingMessage): S3Call {
  const [path, query = ""] = request.url!.split("?", 2) as [string, string?];
  const parts = path.slice(1).split("/").map(decodeURIComponent);
  const inHost = /^([a-z0-9-]+)\.localhost(:|$)/.exec(request.headers.host ?? "")?.[1];
  const bucket = inHost ?? parts.shift()!;
  return {
    method: request.method!,
    bucket,
    key: parts.join("/"),
    query: new URLSearchParams(query.replaceAll("+", "%2B")),
  };
}

function checkSignature(request: IncomingMessage, body: Buffer): void {
  const { headers, method, url } = request;
  const { authorization = "" } = headers;
  const signed = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";") ?? [];
  const needed = ["host", ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))];
  const hash = createHash("sha256").update(body).digest("hex");
  const isStrict = url!
    .split("?", 1)[0]!
    .split("/")
    .every((part) => part === strictly(decodeURIComponent(part)));
  const isScoped = /Credential=AKIDTEST\/\d{8}\/[a-z0-9-]+\/s3\/aws4_request/.test(authorization);
  if (!authorization.includes("Credential=AKIDTEST/")) throw new S3Problem(403, "InvalidAccessKeyId");
  if (headers["x-amz-content-sha256"] !== hash) throw new S3Problem(400, "XAmzContentSHA256Mismatch");
  const expected = recomputedSignature({ method: method!, path: url!, headers, body }, S3_KEYS.AWS_SECRET_ACCESS_KEY);
  const isRight = authorization.endsWith(`Signature=${expected}`) && needed.every((name) => signed.includes(name));
  if (!isRight || !isStrict || !isScoped) throw new S3Problem(403, "SignatureDoesNotMatch");
}

/** The path that S3 signs: every byte but A-Z a-z 0-9 - . _ ~ as %XX in capitals. */
function strictly(part: string): string {
  return [...Buffer.from(part)]
    .map((byte) => String.fromCharCode(byte))
    .map((char) =>
      /[A-Za-z0-9._~-]/.test(char) ? char : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("");
}

function etagOf(body: Buffer): string {
  return `"${createHash("md5").update(body).digest("hex")}"`;
}

function xml(text: string): Answer {
  return { headers: { "content-type": "application/xml" }, body: Buffer.from(`<?xml version="1.0"?>\n${text}`) };
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

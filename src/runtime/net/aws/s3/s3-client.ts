import type { IncomingMessage } from "node:http";
import { isRefusal, Refusal } from "#contract/errors";
import { withTimeout } from "#resilience";
import { escapeXml, xmlElement, xmlElements } from "../xml-elements.js";
import type { S3Address } from "./s3-address.js";
import { refusalOfS3, s3ErrorIn } from "./s3-errors.js";
import { type S3Context, type S3Request, S3Requests } from "./s3-requests.js";

/** An object in a list. */
interface S3Object {
  readonly key: string;
  /** In bytes, as stored. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly lastModified: number;
  /** Without quotes. */
  readonly etag: string;
}

/** An object that is being read. */
interface S3ObjectStream {
  /** The bytes as they are stored. Breaking the loop ends the request. Throws a `Refusal` if the answer breaks off. */
  readonly chunks: AsyncGenerator<Buffer, undefined>;
  /** The bytes that follow; undefined if the server does not say. */
  readonly size: number | undefined;
  readonly contentEncoding: string | undefined;
  readonly etag: string | undefined;
}

/** Where to begin a list. */
interface S3ListOptions {
  /** Begins after this key, in the order of the bytes of keys. */
  readonly startAfter?: string | undefined;
  /** Limits the keys of one request; tests set it. */
  readonly maxKeys?: number;
}

/** How an object is stored. */
interface S3PutOptions {
  /** Headers such as `content-type` and `x-amz-storage-class`, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly bucket?: string | undefined;
}

/** S3 takes parts of 5 MiB to 5 GiB, 10,000 at most. */
const PART_BYTES = 8 * 1024 * 1024;
const MAX_PARTS = 10_000;
/** Larger objects are uploaded in parts. */
const MAX_SINGLE_BYTES = 16 * 1024 * 1024;
const PARALLEL_PARTS = 4;
const ABORT_TIMEOUT_MS = 10_000;

/**
 * A client for S3 and servers like it: MinIO, Cloudflare R2, Google Cloud Storage with HMAC keys. An object appears
 * whole or not at all. All errors are thrown as `Refusal`s. `close` it when it is no longer needed.
 */
export class S3Client {
  private readonly requests: S3Requests;
  private readonly context: S3Context;

  /** `roleArn` is a role to assume, or "". */
  constructor(address: S3Address, roleArn: string, context: S3Context) {
    this.context = context;
    this.requests = new S3Requests(address, roleArn, context);
  }

  /** The server's name in errors. */
  get peer(): string {
    return this.requests.peer;
  }

  close(): void {
    this.requests.close();
  }

  /** Rejects unless the server answers for the bucket. */
  async checkBucket(abort: AbortSignal): Promise<void> {
    await this.requests.send({ method: "HEAD", key: "" }, abort);
  }

  /** Stores an object, in parts if it is large. Replaces one of the same name. Resolves when the server has confirmed it. */
  async putObject(key: string, body: Uint8Array, abort: AbortSignal, options: S3PutOptions = {}): Promise<void> {
    if (body.length > MAX_SINGLE_BYTES) return this.uploadObject(key, body, abort, options);
    await this.requests.send({ method: "PUT", key, body, ...options }, abort);
  }

  /**
   * Stores an object in parts. The object appears when the last request has been confirmed. If anything fails, the parts
   * are deleted. Parts that a crash has left are deleted when the same object is stored again.
   */
  async uploadObject(
    key: string,
    body: Uint8Array,
    abort: AbortSignal,
    { headers = {}, bucket }: S3PutOptions = {},
    partBytes = PART_BYTES,
  ): Promise<void> {
    for (const id of await this.openUploads(key, bucket, abort)) await this.abortUpload({ key, bucket, uploadId: id });
    const created = await this.text({ method: "POST", key, query: { uploads: "" }, headers, bucket }, abort);
    const uploadId = xmlElement(created, "UploadId");
    if (uploadId === undefined) throw this.unreadable("it named no upload");
    const upload = { key, bucket, uploadId };
    try {
      const etags = await this.putParts(upload, body, Math.max(partBytes, Math.ceil(body.length / MAX_PARTS)), abort);
      await this.complete(upload, etags, abort);
    } catch (error) {
      await this.abortUpload(upload);
      throw error;
    }
  }

  /** Reads an object, from byte `start` on. A missing object is a `Refusal` with the status `NoSuchKey`. */
  async getObject(key: string, abort: AbortSignal, start = 0): Promise<S3ObjectStream> {
    const headers = { "accept-encoding": encodingOf(key), ...(start > 0 && { range: `bytes=${start}-` }) };
    const response = await this.requests.open({ method: "GET", key, headers }, abort);
    if (start > 0 && response.statusCode !== 206) {
      response.destroy();
      throw this.unreadable("it does not send parts of objects");
    }
    const length = Number(response.headers["content-length"]);
    return {
      chunks: this.chunksOf(response, abort),
      size: Number.isSafeInteger(length) ? length : undefined,
      contentEncoding: response.headers["content-encoding"],
      etag: response.headers.etag?.replaceAll('"', ""),
    };
  }

  /** Lists the objects whose keys begin with `prefix`, by key, one request per 1,000. */
  async *listObjects(
    prefix: string,
    abort: AbortSignal,
    { startAfter = "", maxKeys = 1000 }: S3ListOptions = {},
  ): AsyncGenerator<S3Object, undefined> {
    let token: string | undefined;
    for (;;) {
      const query = {
        "list-type": "2",
        "encoding-type": "url",
        "max-keys": String(maxKeys),
        prefix,
        ...(token === undefined ? startAfter !== "" && { "start-after": startAfter } : { "continuation-token": token }),
      };
      const page = await this.text({ method: "GET", key: "", query }, abort);
      const decode = decoderOf(page);
      for (const content of xmlElements(page, "Contents")) yield objectOf(content, decode);
      const next = xmlElement(page, "NextContinuationToken");
      if (xmlElement(page, "IsTruncated") !== "true") return;
      if (next === undefined || next === token) throw this.unreadable("a list does not say how it goes on");
      token = next;
    }
  }

  private async text(request: S3Request, abort: AbortSignal): Promise<string> {
    return (await this.requests.send(request, abort)).body.toString("utf8");
  }

  /**
   * Uploads of this object that an earlier attempt has begun and not ended. Empty if the server does not list uploads,
   * or not for these keys: a lifecycle rule of the bucket can delete the parts then.
   */
  private async openUploads(key: string, bucket: string | undefined, abort: AbortSignal): Promise<string[]> {
    const query = { uploads: "", "encoding-type": "url", prefix: key };
    const page = await this.text({ method: "GET", key: "", query, bucket }, abort).catch(() => "");
    const decode = decoderOf(page);
    return [...xmlElements(page, "Upload")].flatMap((upload) => {
      const uploadId = xmlElement(upload, "UploadId");
      return uploadId !== undefined && decode(xmlElement(upload, "Key") ?? "") === key ? [uploadId] : [];
    });
  }

  private async putParts(upload: PartsUpload, body: Uint8Array, bytes: number, abort: AbortSignal): Promise<string[]> {
    const count = Math.max(1, Math.ceil(body.length / bytes));
    const etags = new Array<string>(count);
    // One failed part stops the others, so that all have ended when the upload is aborted.
    const failed = new AbortController();
    const signal = AbortSignal.any([abort, failed.signal]);
    let next = 0;
    const putSome = async () => {
      while (next < count && !signal.aborted) {
        const i = next++;
        etags[i] = await this.putPart(upload, i + 1, body.subarray(i * bytes, (i + 1) * bytes), signal);
      }
    };
    const lanes = Array.from({ length: Math.min(PARALLEL_PARTS, count) }, () =>
      putSome().catch((error: unknown) => {
        const first = failed.signal.aborted ? undefined : error;
        failed.abort(error);
        return first;
      }),
    );
    const error = (await Promise.all(lanes)).find((found) => found !== undefined);
    if (error !== undefined) throw error;
    return etags;
  }

  private async putPart(
    { key, bucket, uploadId }: PartsUpload,
    partNumber: number,
    body: Uint8Array,
    abort: AbortSignal,
  ): Promise<string> {
    const query = { partNumber: String(partNumber), uploadId };
    const { headers } = await this.requests.send({ method: "PUT", key, bucket, query, body }, abort);
    const etag = headers.get("etag");
    if (etag === undefined) throw this.unreadable("it gave a part no ETag");
    return etag;
  }

  /** The server may answer 200 and report an error in the body, because it answers before it has finished. */
  private async complete(
    { key, bucket, uploadId }: PartsUpload,
    etags: readonly string[],
    abort: AbortSignal,
  ): Promise<void> {
    const parts = etags.map(
      (etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`,
    );
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`);
    const headers = { "content-type": "application/xml" };
    const answer = await this.text({ method: "POST", key, bucket, query: { uploadId }, headers, body }, abort);
    if (answer.includes("<Error>")) throw refusalOfS3(s3ErrorIn(500, answer), this.peer);
    if (!answer.includes("CompleteMultipartUploadResult")) throw this.unreadable("it did not confirm an upload");
  }

  /** Deletes the parts. A failure is ignored: the parts are not visible, and the first error is the one to report. */
  private async abortUpload({ key, bucket, uploadId }: PartsUpload): Promise<void> {
    const request: S3Request = { method: "DELETE", key, bucket, query: { uploadId } };
    const { clock } = this.context;
    await withTimeout(ABORT_TIMEOUT_MS, clock, [], (abort) => this.requests.send(request, abort)).catch(() => {});
  }

  private async *chunksOf(response: IncomingMessage, abort: AbortSignal): AsyncGenerator<Buffer, undefined> {
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
      if (!response.complete) throw new Error("the answer was cut off");
    } catch (error) {
      throw isRefusal(error) ? error : this.requests.refusalOfBroken(error, abort);
    } finally {
      response.destroy();
    }
  }

  private unreadable(why: string): Refusal {
    return new Refusal("transient", `${this.peer} does not answer like S3: ${why}`, { blame: "backend" });
  }
}

interface PartsUpload {
  readonly key: string;
  readonly bucket: string | undefined;
  readonly uploadId: string;
}

function objectOf(content: string, decode: (text: string) => string): S3Object {
  const lastModified = Date.parse(xmlElement(content, "LastModified") ?? "");
  const size = Number(xmlElement(content, "Size"));
  return {
    key: decode(xmlElement(content, "Key") ?? ""),
    size: Number.isSafeInteger(size) && size >= 0 ? size : 0,
    lastModified: Number.isNaN(lastModified) ? 0 : lastModified,
    etag: (xmlElement(content, "ETag") ?? "").replaceAll('"', ""),
  };
}

/** Google Cloud Storage unpacks objects stored with `content-encoding: gzip`, unless the client takes gzip. */
function encodingOf(key: string): string {
  return key.endsWith(".gz") ? "gzip" : "identity";
}

/** How the keys of a list are to be read. */
function decoderOf(page: string): (text: string) => string {
  return xmlElement(page, "EncodingType") === "url" ? decodeKey : (text) => text;
}

/** Keys come as in a form: S3 writes a space as +. */
function decodeKey(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", "%20"));
  } catch {
    return text;
  }
}

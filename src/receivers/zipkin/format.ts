import { isUtf8 } from "node:buffer";
import { DecompressError, SUPPORTED_ENCODINGS } from "#codecs/compression";
import {
  type BodyEncoding,
  joinPieces,
  type RequestFormat,
  type RequestRefusals,
  standardRefusals,
} from "#receiving/requests";
import { JsonReader } from "#text/json";
import { type Batch, type Clock, isMalformed, MalformedError } from "../../plugin.js";
import { ZipkinBatchWriter } from "./from-zipkin.js";
import { ZipkinV1Batch } from "./from-zipkin-v1.js";
import { ProtoSpanList } from "./read-proto.js";
import { ScannedSpans } from "./scanned-spans.js";

/** Lists of spans as JSON of version 2 or 1, or as protobuf. Clients get plain text. */
export function zipkinFormat(parsesStringTags: boolean, clock: Clock): RequestFormat {
  return {
    refusals: zipkinRefusals(),
    encodingOf,
    *toBatch(_signal, encoding, body) {
      const request = requestOf(joinPieces(body), encoding);
      while (request.addNext()) yield;
      return request.finish();
    },
    successText: ({ message }) => message,
  };

  function requestOf(bytes: Buffer, encoding: BodyEncoding): SpanRequest {
    if (encoding === V1) return new ZipkinV1Request(bytes, parsesStringTags, clock);
    if (encoding === PROTO) return new ZipkinProtoRequest(bytes, parsesStringTags);
    return new ZipkinRequest(bytes, parsesStringTags);
  }
}

const V1 = "other/v1";
const PROTO = "other/protobuf";

/** Version 1 is told by its path, protobuf by its Content-Type. */
function encodingOf(contentType: string | undefined, url: string): BodyEncoding | undefined {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/x-thrift") return undefined;
  if (url.includes("api/v1/spans")) return V1;
  return type === "application/x-protobuf" ? PROTO : "other";
}

/** The spans of a request, which are added to a batch one by one. Throws a `MalformedError` if they are invalid. */
interface SpanRequest {
  /** Returns false at the end. */
  addNext(): boolean;
  finish(): Batch;
}

class ZipkinProtoRequest implements SpanRequest {
  private readonly writer: ZipkinBatchWriter;
  private readonly list: ProtoSpanList;
  private count = 0;

  constructor(bytes: Buffer, parsesTags: boolean) {
    this.writer = new ZipkinBatchWriter(parsesTags);
    this.list = new ProtoSpanList(bytes);
  }

  addNext(): boolean {
    const span = this.list.next();
    if (span === undefined) return false;
    this.writer.add(span, this.count++);
    if (this.writer.isCrowded(this.list.at)) this.writer.endGroups(this.list.at);
    return true;
  }

  finish(): Batch {
    return this.writer.finish();
  }
}

class ZipkinV1Request implements SpanRequest {
  private readonly batch: ZipkinV1Batch;
  private readonly list: JsonSpanList;
  private count = 0;

  constructor(json: Buffer, parsesTags: boolean, clock: Clock) {
    this.batch = new ZipkinV1Batch(parsesTags, () => clock.now());
    this.list = new JsonSpanList(json);
  }

  addNext(): boolean {
    if (!this.list.hasNext()) return false;
    this.batch.add(this.list.reader.next(), this.count++);
    return true;
  }

  finish(): Batch {
    return this.batch.finish();
  }
}

/** The spans in the list that a request consists of. */
export class JsonSpanList {
  readonly reader: JsonReader;
  private readonly elements: Generator<void>;

  constructor(json: Buffer) {
    this.reader = new JsonReader(json, (reason, at) => new MalformedError(reason, at));
    this.elements = this.reader.elements();
  }

  /** Whether there is another span. The reader is in front of it, and the caller reads it. */
  hasNext(): boolean {
    if (this.elements.next().done !== true) return true;
    this.reader.expectEnd();
    return false;
  }
}

/** Spans as JSON of version 2. */
export class ZipkinRequest implements SpanRequest {
  private readonly writer: ZipkinBatchWriter;
  private readonly list: JsonSpanList;
  /** Reads most spans. Undefined if all of them have to be parsed. */
  private readonly scanned: ScannedSpans | undefined;
  private count = 0;

  /** With `parsesTags`, tags that look like numbers or booleans are converted. */
  constructor(json: Buffer, parsesTags: boolean) {
    this.writer = new ZipkinBatchWriter(parsesTags);
    this.list = new JsonSpanList(json);
    this.scanned = parsesTags || !isUtf8(json) ? undefined : new ScannedSpans(json);
  }

  /** Returns false at the end of the list. */
  addNext(): boolean {
    const { list, scanned } = this;
    if (!list.hasNext()) return false;
    const { reader } = list;
    const end = scanned === undefined ? -1 : scanned.add(reader.end);
    if (end >= 0) reader.end = end;
    else {
      const spans = this.writer.add(reader.next(), this.count);
      scanned?.learn(spans);
    }
    if (this.writer.isCrowded(reader.end)) {
      this.writer.endGroups(reader.end);
      scanned?.forget();
    }
    this.count += 1;
    return true;
  }

  finish(): Batch {
    return this.writer.finish();
  }
}

function zipkinRefusals(): RequestRefusals {
  const standard = standardRefusals("Zipkin", "application/json, application/x-protobuf");
  const { shuttingDown, overloaded, wrongMethod, wrongType } = standard;
  return {
    shuttingDown: { ...shuttingDown, message: "shutting down" },
    overloaded: { ...overloaded, message: "too much data is being processed; retry later" },
    wrongMethod: { ...wrongMethod, message: "use POST" },
    wrongType: { ...wrongType, message: "only application/json and application/x-protobuf are accepted" },
    notFound: standard.notFound,
    noPipeline: (signal, receiver) => ({
      ...standard.noPipeline(signal, receiver),
      message: `no pipeline of traces reads from ${receiver}`,
    }),
    wrongCompression: (name, accepted) => ({
      ...standard.wrongCompression(name, accepted),
      message: `the Content-Encoding is not accepted; use ${SUPPORTED_ENCODINGS.join(", ")}`,
    }),
    tooLarge: (limit) => ({
      ...standard.tooLarge(limit),
      message: `the request has more than the ${limit} bytes of max_request_body_size`,
    }),
    unreadable(error, limit) {
      const answer = standard.unreadable(error, limit);
      if (error instanceof DecompressError) return { ...answer, message: error.message };
      return isMalformed(error) ? answer : { ...answer, message: "the request could not be read" };
    },
  };
}

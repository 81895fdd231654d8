import { isUtf8 } from "node:buffer";
import { DecompressError, SUPPORTED_ENCODINGS } from "#codecs/compression";
import { joinPieces, type RequestFormat, type RequestRefusals, standardRefusals } from "#receiving/requests";
import { SliceTimer } from "#work";
import { type Batch, isMalformed } from "../../plugin.js";
import { ZipkinBatchWriter } from "./from-zipkin.js";
import { JsonElements } from "./json-elements.js";
import { ScannedSpans } from "./scanned-spans.js";

/** Lists of spans as JSON of version 2, taken at `path`. Clients get plain text. */
export function zipkinFormat(path: string, parsesStringTags: boolean): RequestFormat {
  return {
    refusals: zipkinRefusals(path),
    encodingOf: (contentType) => (/protobuf|thrift/.test(contentType ?? "") ? undefined : "other"),
    toBatch: (_signal, _encoding, body) => batchOf(joinPieces(body), parsesStringTags),
    successText: ({ message }) => message,
  };
}

async function batchOf(json: Buffer, parsesStringTags: boolean): Promise<Batch> {
  const batch = new ZipkinRequest(json, parsesStringTags);
  const timer = new SliceTimer();
  while (batch.addNext()) if (timer.isOver) await timer.nextSlice();
  return batch.finish();
}

/** The spans of a request, which are added to a batch one by one. Throws a `MalformedError` if they are invalid. */
export class ZipkinRequest {
  private readonly writer: ZipkinBatchWriter;
  private readonly elements: JsonElements;
  /** Reads most spans. Undefined if all of them have to be parsed. */
  private readonly scanned: ScannedSpans | undefined;
  private count = 0;

  /** With `parsesTags`, tags that look like numbers or booleans are converted. */
  constructor(json: Buffer, parsesTags: boolean) {
    this.writer = new ZipkinBatchWriter(parsesTags);
    this.elements = new JsonElements(json);
    this.scanned = parsesTags || !isUtf8(json) ? undefined : new ScannedSpans(json);
  }

  /** Returns false at the end of the list. */
  addNext(): boolean {
    const { elements, scanned } = this;
    if (!elements.hasNext) return false;
    const end = scanned === undefined ? -1 : scanned.add(elements.at);
    if (end >= 0) elements.skipTo(end);
    else {
      const spans = this.writer.add(elements.next(), this.count);
      scanned?.learn(spans);
    }
    this.count += 1;
    return true;
  }

  finish(): Batch {
    return this.writer.finish();
  }
}

function zipkinRefusals(path: string): RequestRefusals {
  const standard = standardRefusals("Zipkin", "application/json");
  const { shuttingDown, overloaded, wrongMethod, wrongType } = standard;
  return {
    shuttingDown: { ...shuttingDown, message: "shutting down" },
    overloaded: { ...overloaded, message: "too much is in progress; try again later" },
    wrongMethod: { ...wrongMethod, message: "spans are POSTed" },
    wrongType: { ...wrongType, message: "spans are taken as application/json only" },
    notFound: (url, paths) => ({
      ...standard.notFound(url, paths),
      message: `spans are taken at ${path}, as JSON of version 2`,
    }),
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

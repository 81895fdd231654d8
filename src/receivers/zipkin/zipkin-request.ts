import { isUtf8 } from "node:buffer";
import type { Batch } from "#otlp";
import { ZipkinBatchWriter } from "./from-zipkin.js";
import { JsonElements } from "./json-elements.js";
import { ScannedSpans } from "./scanned-spans.js";

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

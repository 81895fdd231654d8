import { decodeText, eachBody, findField, message, varint } from "#otlp/bytes";
import { KEY_TAG, SPAN_ATTRIBUTES_TAG, SPAN_KIND_TAG, SPAN_NAME_TAG } from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Batch } from "../../../plugin.js";
import { sanitizeUrl } from "./url-sanitizer.js";

const [SERVER, CLIENT] = [2, 3];
const ONLY_MASKS = /^\/*\*[/*]*$/;

/** A span with one of these attributes is about HTTP. */
const HTTP_ATTRIBUTES: ReadonlySet<string> = new Set([
  "http.method",
  "http.request.method",
  "http.request.method_original",
  "http.response.status_code",
  "http.route",
  "http.scheme",
  "http.target",
  "http.url",
  "url.full",
]);

/** Replaces ids in the names of spans of HTTP clients and servers. A name that would consist of masks only stays. */
export function sanitizeSpanNames(batch: Batch, isAllowed: (name: string) => boolean): Batch {
  return new RecordWalk(batch).run(new SpanNameVisitor(isAllowed));
}

class SpanNameVisitor implements RecordVisitor {
  private readonly isAllowed: (name: string) => boolean;

  constructor(isAllowed: (name: string) => boolean) {
    this.isAllowed = isAllowed;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const { bytes: b } = walk;
    const kindAt = findField(b, start, end, SPAN_KIND_TAG);
    const kind = kindAt < 0 ? 0 : varint(b, kindAt);
    if (kind !== SERVER && kind !== CLIENT) return KEEP;
    const name = decodeText(b, ...message(b, start, end, SPAN_NAME_TAG));
    if (this.isAllowed(name) || !(name.includes("/") || hasHttpAttribute(b, start, end))) return KEEP;
    const sanitized = sanitizeUrl(name);
    if (sanitized === name || sanitized === "" || ONLY_MASKS.test(sanitized)) return KEEP;
    const out = walk.beginRecord();
    out.copyFieldsExcept(b, start, end, [SPAN_NAME_TAG]);
    out.byte(SPAN_NAME_TAG);
    out.text(sanitized);
    walk.endRecord();
    return KEEP;
  }
}

function hasHttpAttribute(b: Uint8Array, start: number, end: number): boolean {
  let found = false;
  eachBody(b, start, end, SPAN_ATTRIBUTES_TAG, (from, to) => {
    found ||= HTTP_ATTRIBUTES.has(decodeText(b, ...message(b, from, to, KEY_TAG)));
  });
  return found;
}

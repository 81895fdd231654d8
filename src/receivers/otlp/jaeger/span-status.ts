import { JAEGER_TAGS } from "../../../runtime/kit.js";
import type { JaegerTag } from "./jaeger-span.js";

/** Tags by their keys: of several with one key the last counts. */
export type SpanTags = Map<string, JaegerTag>;

const UNSET = 0;
const OK = 1;
const ERROR = 2;
const SERVER_KIND = 2;
const CLIENT_KIND = 3;
const HTTP_CODE = "http.status_code";
const HTTP_MESSAGE = "http.status_message";

/**
 * The status that tags tell of, as the Collector reads it: `error: true` first, then what OpenTelemetry writes, then the status of HTTP. Takes the
 * tags out that say nothing more.
 */
export function takeStatus(tags: SpanTags, kind: number): { readonly code: number; readonly message: string } {
  const written = takeTag(tags, JAEGER_TAGS.statusCode);
  if (tags.get(JAEGER_TAGS.error)?.value === true) {
    tags.delete(JAEGER_TAGS.error);
    return { code: ERROR, message: takeTag(tags, JAEGER_TAGS.statusMessage) ?? textOf(tags, HTTP_MESSAGE) };
  }
  if (written !== undefined) {
    const code = { OK, ERROR }[written.toUpperCase()] ?? UNSET;
    return { code, message: takeTag(tags, JAEGER_TAGS.statusMessage) ?? "" };
  }
  const code = codeOfHttp(tags, kind);
  return { code, message: code === UNSET ? "" : textOf(tags, HTTP_MESSAGE) };
}

/** That a server answered 4xx is no error of its own. */
function codeOfHttp(tags: SpanTags, kind: number): number {
  const value = tags.get(HTTP_CODE)?.value;
  const isCode = typeof value === "bigint" || (typeof value === "string" && /^-?\d{1,18}$/.test(value));
  if (!isCode) return UNSET;
  const status = Number(value);
  if (status >= 400 && status < 500 && kind === SERVER_KIND) return UNSET;
  if (status >= 400 && status < 500 && kind === CLIENT_KIND) return ERROR;
  return status >= 100 && status < 400 ? UNSET : ERROR;
}

function takeTag(tags: SpanTags, key: string): string | undefined {
  if (!tags.has(key)) return undefined;
  const text = textOf(tags, key);
  tags.delete(key);
  return text;
}

function textOf(tags: SpanTags, key: string): string {
  const value = tags.get(key)?.value;
  return typeof value === "string" ? value : "";
}

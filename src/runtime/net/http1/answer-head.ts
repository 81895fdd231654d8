/**
 * Parses the head of an HTTP response strictly. Rejects everything that two programs could interpret differently,
 * because a proxy may share the connection with others: line ends other than CRLF, continued lines, spaces before a
 * colon, two lengths, a length together with a transfer coding, and transfer codings other than chunked.
 */

/** The response is not HTTP/1.1, or is ambiguous. Its connection must not be used again. */
export class AnswerFormatError extends Error {
  override readonly name = "AnswerFormatError";
  readonly code = "EPROTO";
}

/** How the end of a body is determined. */
type BodyFraming = "none" | "length" | "chunked" | "close";

export interface AnswerHead {
  readonly status: number;
  /** By lower-case name. Repeated headers are joined by commas; where a list makes no sense the first one is used. */
  readonly headers: ReadonlyMap<string, string>;
  readonly framing: BodyFraming;
  /** Number of bytes of a body with framing "length". */
  readonly length: number;
  /** Whether the server keeps the connection open after this response. */
  readonly keepsAlive: boolean;
  /** How long the server keeps it open unused, in milliseconds, if it says so. */
  readonly keepAliveMs: number | undefined;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const DIGITS = /^\d{1,15}$/;

/** Headers that cannot be joined: only the first one is used. */
const FIRST_VALUE_ONLY = new Set(["content-type", "retry-after", "date", "location", "server"]);

/** Parses a head, including the empty line at its end. `toHead` is true for the response to a HEAD request. */
export function parseAnswerHead(text: string, toHead: boolean): AnswerHead {
  const lines = text.slice(0, -HEAD_END.length).split("\r\n");
  const [, minor, digits] = STATUS_LINE.exec(lines[0]!) ?? [];
  if (digits === undefined) throw new AnswerFormatError("the answer does not begin like HTTP/1.1");
  const status = Number(digits);
  const headers = new Map<string, string>();
  for (let i = 1; i < lines.length; i++) addField(headers, lines[i]!);
  const isOld = minor === "0";
  const declared = framingOf(headers, isOld);
  const hasBody = status >= 200 && status !== 204 && status !== 304 && !toHead;
  const framing = hasBody ? declared : "none";
  // A body where none is allowed: a proxy that counts it differently would take it for the next response.
  const isAmbiguous =
    !toHead && !hasBody && status !== 304 && headers.get("content-length") !== "0" && declared !== "close";
  return {
    status,
    headers,
    framing,
    length: framing === "length" ? Number(headers.get("content-length")) : 0,
    keepsAlive: framing !== "close" && !isAmbiguous && saysKeepAlive(headers.get("connection"), isOld),
    keepAliveMs: keepAliveHint(headers.get("keep-alive")),
  };
}

export const HEAD_END = "\r\n\r\n";

/** Parses a header or trailer line; the name is in lower case. */
export function parseField(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(":");
  const name = line.slice(0, colon);
  const value = line.slice(colon + 1);
  if (colon === -1 || !TOKEN.test(name) || !FIELD_VALUE.test(value))
    throw new AnswerFormatError("a header of the answer is malformed");
  return { name: name.toLowerCase(), value: trimBlanks(value) };
}

/** Only spaces and tabs: `trim` would remove more than HTTP allows. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function addField(headers: Map<string, string>, line: string): void {
  const { name, value } = parseField(line);
  const before = headers.get(name);
  if (before === undefined) headers.set(name, value);
  else if (name === "content-length") throw new AnswerFormatError("the answer has more than one Content-Length");
  else if (!FIRST_VALUE_ONLY.has(name)) headers.set(name, `${before}, ${value}`);
}

function framingOf(headers: ReadonlyMap<string, string>, isOld: boolean): BodyFraming {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined) {
    if (length !== undefined) throw new AnswerFormatError("the answer has both Transfer-Encoding and Content-Length");
    if (isOld || coding.toLowerCase() !== "chunked")
      throw new AnswerFormatError("the answer has a Transfer-Encoding that is not chunked");
    return "chunked";
  }
  if (length === undefined) return "close";
  if (!DIGITS.test(length)) throw new AnswerFormatError("the answer's Content-Length is not a number");
  return "length";
}

function saysKeepAlive(connection: string | undefined, isOld: boolean): boolean {
  const options =
    connection === undefined
      ? []
      : connection
          .toLowerCase()
          .split(",")
          .map((option) => option.trim());
  return !options.includes("close") && (!isOld || options.includes("keep-alive"));
}

/** Parses `Keep-Alive: timeout=5`, and subtracts a little, because the next request takes time to arrive. */
function keepAliveHint(text: string | undefined): number | undefined {
  const seconds = text === undefined ? undefined : /(?:^|[ ,])timeout=(\d{1,6})/i.exec(text)?.[1];
  return seconds === undefined ? undefined : Math.max(Number(seconds) * 1000 - MARGIN_MS, Number(seconds) * 500);
}

const MARGIN_MS = 1000;

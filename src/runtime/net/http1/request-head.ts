/** The head of a request without its Content-Length: created once, used for many requests. */
export interface RequestHead {
  readonly method: string;
  /** Request line and header lines, each with its line end. */
  readonly text: string;
}

/** RFC 9110's token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Printable characters, spaces and tabs; nothing that could end a line. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A path and query as `URL` gives them. */
const REQUEST_TARGET = /^[\x21-\x7e]+$/;

/** Headers about the body that the client sets itself; configured ones could only contradict them. */
const FRAMING = new Set(["content-length", "transfer-encoding"]);

/**
 * Creates a head. Of several headers with the same name, in any case, the last one is used. Throws a RangeError for
 * invalid values.
 */
export function requestHead(method: string, target: string, headers: Readonly<Record<string, string>>): RequestHead {
  if (!TOKEN.test(method)) throw new RangeError("expected a method such as POST");
  if (!REQUEST_TARGET.test(target)) throw new RangeError("expected a path without blanks");
  const lines = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!FRAMING.has(name.toLowerCase())) lines.set(name.toLowerCase(), headerLine(name, value));
  }
  return { method, text: `${method} ${target} HTTP/1.1\r\n${[...lines.values()].join("")}` };
}

/**
 * Formats a header line. Throws a RangeError for an invalid header, so that configured values cannot begin another
 * line.
 */
export function headerLine(name: string, value: string): string {
  if (!isHeader(name, value)) throw new RangeError(`the header ${JSON.stringify(name)} cannot be sent as it is`);
  return `${name}: ${value}\r\n`;
}

/**
 * True when a header can be sent: the name is a token, and the value has no control characters and nothing beyond
 * Latin-1.
 */
export function isHeader(name: string, value: string): boolean {
  return TOKEN.test(name) && FIELD_VALUE.test(value);
}

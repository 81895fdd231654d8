/** The head of a request but for its Content-Length: made once, used for many requests. */
export interface RequestHead {
  readonly method: string;
  /** Request line and header lines, each with its line end. */
  readonly text: string;
}

/** RFC 9110's token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible characters, blanks and tabs; whatever could end a line is none of them. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A path and query as `URL` gives them. */
const REQUEST_TARGET = /^[\x21-\x7e]+$/;

/** What the client itself says about a request's body; a configured one could only contradict it. */
const FRAMING = new Set(["content-length", "transfer-encoding"]);

/** Makes a head. Of headers with the same name, in any case, the last one counts. Throws a RangeError for what cannot be sent. */
export function requestHead(method: string, target: string, headers: Readonly<Record<string, string>>): RequestHead {
  if (!TOKEN.test(method)) throw new RangeError("expected a method such as POST");
  if (!REQUEST_TARGET.test(target)) throw new RangeError("expected a path without blanks");
  const lines = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!FRAMING.has(name.toLowerCase())) lines.set(name.toLowerCase(), headerLine(name, value));
  }
  return { method, text: `${method} ${target} HTTP/1.1\r\n${[...lines.values()].join("")}` };
}

/** One header as a line. Throws a RangeError when it is none: nothing that is configured can begin a line of its own. */
export function headerLine(name: string, value: string): string {
  if (!isHeader(name, value)) throw new RangeError(`the header ${JSON.stringify(name)} cannot be sent as it is`);
  return `${name}: ${value}\r\n`;
}

/** True when a header can be sent: its name is a token, and its value has no control characters and none beyond Latin-1. */
export function isHeader(name: string, value: string): boolean {
  return TOKEN.test(name) && FIELD_VALUE.test(value);
}

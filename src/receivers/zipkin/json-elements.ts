import { MalformedError } from "#otlp/signals";

const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, QUOTE, BACKSLASH, COMMA] = Buffer.from('[]{}"\\,');

/**
 * Reads the elements of a JSON list one after the other, so a list of a million is never in memory as objects. Throws a
 * `MalformedError` if it is not a list.
 */
export class JsonElements {
  private readonly json: Buffer;
  /** The start of the next element; blanks may stand before it. */
  at: number;
  /** The position behind the list; -1 until it is known. */
  private listEnd = -1;

  constructor(json: Buffer) {
    this.json = json;
    const start = skipBlanks(json, hasMark(json) ? 3 : 0);
    if (json[start] !== OPEN_LIST) throw new MalformedError("expected a JSON list of spans", start);
    this.at = skipBlanks(json, start + 1);
    if (json[this.at] === CLOSE_LIST) this.listEnd = this.at + 1;
  }

  get hasNext(): boolean {
    if (this.listEnd < 0) return true;
    checkEnd(this.json, this.listEnd);
    return false;
  }

  /** Parses the next element. */
  next(): unknown {
    const end = elementEnd(this.json, this.at);
    const element = parse(this.json, this.at, end);
    this.skipTo(end);
    return element;
  }

  /** Goes on behind an element that was read otherwise: `end` is the position of the comma or bracket after it. */
  skipTo(end: number): void {
    if (this.json[end] === CLOSE_LIST) this.listEnd = end + 1;
    else this.at = end + 1;
  }
}

/** An element is parsed in one go, so it must not have very many values. */
const MAX_VALUES = 20_000;

/** Returns where the comma or bracket after the element is. The element itself is checked when it is parsed. */
function elementEnd(json: Buffer, start: number): number {
  let depth = 0;
  let values = 0;
  for (let p = start; p < json.length; p++) {
    const byte = json[p];
    if (byte === QUOTE) p = textEnd(json, p);
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_LIST)) return p;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--;
    else if (byte === COMMA && ++values > MAX_VALUES)
      throw new MalformedError(`an element of the list has more than ${MAX_VALUES} values`, start);
  }
  throw new MalformedError("the JSON ends within its list", json.length);
}

function textEnd(json: Buffer, quote: number): number {
  for (let p = quote + 1; p < json.length; p++) {
    if (json[p] === BACKSLASH) p++;
    else if (json[p] === QUOTE) return p;
  }
  throw new MalformedError("the JSON ends within a text", json.length);
}

function parse(json: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(json.toString("utf8", start, end));
  } catch {
    throw new MalformedError("expected valid JSON in the element", start);
  }
}

function checkEnd(json: Buffer, at: number): void {
  if (skipBlanks(json, at) < json.length) throw new MalformedError("expected nothing after the list", at);
}

function skipBlanks(json: Buffer, at: number): number {
  while (json[at] === 32 || json[at] === 9 || json[at] === 10 || json[at] === 13) at++;
  return at;
}

function hasMark(json: Buffer): boolean {
  return json[0] === 0xef && json[1] === 0xbb && json[2] === 0xbf;
}

import { Batch } from "../batch.js";
import { encodeMessage } from "../bytes/encode.js";
import { MalformedError } from "../bytes/malformed.js";
import { REQUEST } from "../bytes/messages.js";
import type { Signal } from "../bytes/signal.js";
import { WireWriter } from "../bytes/writer.js";
import { writeJson } from "./write-json.js";

/** The batch of an OTLP/JSON request. Throws a `MalformedError`. 64-bit integers are exact however they are written. */
export function batchFromJson(signal: Signal, json: string | Uint8Array): Batch {
  const text = typeof json === "string" ? json : Buffer.prototype.utf8Slice.call(json, 0, json.length);
  const writer = new WireWriter(text.length);
  encodeMessage(REQUEST[signal], parseJson(text), writer);
  return Batch.admit(signal, writer.written());
}

/** The batch as one line of OTLP/JSON. */
export function batchToJson(batch: Batch): string {
  const { bytes, signal } = batch;
  const out = new WireWriter(bytes.length * 3);
  writeJson(REQUEST[signal], bytes, 0, bytes.length, out);
  return out.bytes.toString("utf8", 0, out.length);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(LONG_NUMBER.test(text) ? quoteLongIntegers(text) : text);
  } catch (error) {
    throw new MalformedError(`not JSON: ${(error as Error).message}`, -1, { cause: error });
  }
}

/** An integer that JSON.parse might round; OTLP/JSON writes those as strings, so this is rarely there. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;
/** The same JSON with long integers as strings. Goes through the text once, whatever is in it. */
function quoteLongIntegers(text: string): string {
  const pieces: string[] = [];
  let copied = 0;
  for (let p = 0; p < text.length; ) {
    const code = text.charCodeAt(p);
    const from = p;
    if (code === QUOTE) p = endOfString(text, p);
    else if (!isNumeric(code)) p++;
    else {
      while (isNumeric(text.charCodeAt(p))) p++;
      if (p - from < LONG_DIGITS || !INTEGER.test(text.slice(from, p))) continue;
      pieces.push(text.slice(copied, from), '"', text.slice(from, p), '"');
      copied = p;
    }
  }
  pieces.push(text.slice(copied));
  return pieces.join("");
}

const QUOTE = 34;
const BACKSLASH = 92;
const LONG_DIGITS = 16;
const INTEGER = /^-?\d+$/;

/** Any character that a number may contain. */
function isNumeric(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46 || code === 69 || code === 101;
}

/** Position behind the string that begins with the quote at `p`. */
function endOfString(text: string, p: number): number {
  for (;;) {
    p = text.indexOf('"', p + 1);
    if (p < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(p - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return p + 1;
  }
}

import { type JsonBounds, JsonReader } from "./json-reader.js";

/**
 * Parses JSON that came from outside in a text, such as the body of a record. Throws a `SyntaxError` if it is no JSON, or
 * larger or deeper than what is parsed in one go.
 */
export function parseJson(text: string, bounds?: JsonBounds): unknown {
  if (text.length > MAX_UNCHECKED) checkBounds(text, bounds);
  return JSON.parse(text);
}

/** A shorter text cannot hold much, so nothing is lost if it is parsed as it is. */
const MAX_UNCHECKED = 32 * 1024;

function checkBounds(text: string, bounds: JsonBounds | undefined): void {
  const fault = (reason: string, at: number) => new SyntaxError(`${reason}, at byte ${at}`);
  new JsonReader(Buffer.from(text), fault, bounds).find();
}

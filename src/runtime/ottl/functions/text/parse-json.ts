import { OttlError } from "../../values/error.js";
import { MAX_CHARACTERS } from "../../values/limits.js";
import type { OttlMap, OttlValue } from "../../values/value.js";

const MAX_DEPTH = 200;

/** JSON as values of the language; every number is a double. */
export function parseJson(text: string): OttlValue {
  if (text.length > MAX_CHARACTERS) throw new OttlError(`the JSON is longer than ${MAX_CHARACTERS} characters`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new OttlError(`not valid JSON: ${error instanceof Error ? error.message.slice(0, 120) : ""}`);
  }
  if (typeof parsed !== "object" || parsed === null) throw new OttlError("ParseJSON needs an object or a list");
  return jsonToValue(parsed, MAX_DEPTH);
}

function jsonToValue(value: unknown, depth: number): OttlValue {
  if (depth === 0) throw new OttlError(`the JSON is nested more than ${MAX_DEPTH} deep`);
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new OttlError("a number in the JSON does not fit a double");
  if (typeof value !== "object" || value === null) return value as OttlValue;
  if (Array.isArray(value)) return value.map((item) => jsonToValue(item, depth - 1));
  const map: OttlMap = new Map();
  for (const [key, item] of Object.entries(value)) map.set(key, jsonToValue(item, depth - 1));
  return map;
}

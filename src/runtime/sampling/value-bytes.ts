import type { Value } from "../telemetry/views/value.js";

/** What a value is hashed as: bytes as they are, anything else as the Collector writes it as text. */
export function bytesOfValue(value: Value): Uint8Array {
  return value instanceof Uint8Array ? value : Buffer.from(textOfValue(value));
}

function textOfValue(value: Value): string {
  if (typeof value === "string") return value;
  if (value === null) return "";
  if (typeof value === "number" && !Number.isFinite(value)) return `json: unsupported value: ${goText(value)}`;
  return jsonText(value);
}

/** Go's JSON: keys in order, and what could end a script escaped. */
function jsonText(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value !== "object") return String(value);
  if (value instanceof Uint8Array) return quoted(Buffer.from(value).toString("base64"));
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  const map = value as { [key: string]: Value };
  const keys = Object.keys(map).sort();
  return `{${keys.map((key) => `${quoted(key)}:${jsonText(map[key]!)}`).join(",")}}`;
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function goText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

import { plainValueText } from "#otlp/json";
import { parseJson } from "#text/json";

const REQUEST_TEXTS: ReadonlySet<string> = new Set(
  "requestMethod requestUrl userAgent remoteIp serverIp referer protocol".split(" "),
);
const REQUEST_NUMBERS: ReadonlySet<string> = new Set(["status", "requestSize", "responseSize", "cacheFillBytes"]);
const REQUEST_FLAGS: ReadonlySet<string> = new Set(["cacheLookup", "cacheHit", "cacheValidatedWithOriginServer"]);

/** Returns the HttpRequest of an attribute: the fields that have values of their types. Others would refuse the entry. */
export function httpRequestOf(attribute: unknown): object | undefined {
  const map = structureOf(attribute);
  if (map === undefined) return undefined;
  const fields = Object.entries(map).flatMap(([key, value]): [string, unknown][] => {
    const text = plainValueText(value);
    if (REQUEST_TEXTS.has(key)) return [[key, text]];
    if (REQUEST_NUMBERS.has(key)) return /^\d{1,18}$/.test(text) ? [[key, key === "status" ? Number(text) : text]] : [];
    if (key === "latency") return /^\d{1,9}(\.\d{1,9})?s$/.test(text) ? [[key, text]] : [];
    return REQUEST_FLAGS.has(key) && typeof value === "boolean" ? [[key, value]] : [];
  });
  return Object.fromEntries(fields);
}

/** Returns the LogEntrySourceLocation of an attribute. */
export function sourceLocationOf(attribute: unknown): object | undefined {
  const map = structureOf(attribute);
  if (map === undefined) return undefined;
  const [file, line, name] = ["file", "line", "function"].map((key) => plainValueText(map[key]));
  return { file, ...(/^\d{1,18}$/.test(line!) && { line }), function: name };
}

/** Returns a map that is given as such or as JSON. */
function structureOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  let map: unknown = value;
  try {
    if (typeof value === "string") map = parseJson(value);
  } catch {
    return undefined;
  }
  return typeof map === "object" && map !== null ? (map as Record<string, unknown>) : undefined;
}

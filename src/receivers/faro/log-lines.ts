import { xxh3 } from "#codecs";
import { encodeAttributes, type LogBatchWriter } from "#logs/entries";
import type { WireWriter } from "#otlp/bytes";
import { LOG_ATTRIBUTES_TAG, LOG_BODY_TAG, LOG_SPAN_ID_TAG, LOG_TRACE_ID_TAG, STRING_VALUE_TAG } from "#otlp/tags";
import { goNumber } from "#text/go";
import { compilePattern } from "#text/patterns";
import { type FaroObject, unreadablePayload } from "./faro-object.js";

/** The lists of a payload whose elements become log records. */
export type FaroList = "logs" | "exceptions" | "measurements" | "events";

/** The words of a logfmt line. A word that is set again keeps its place. */
type Words = Map<string, string>;

const KINDS = { logs: "log", exceptions: "exception", measurements: "measurement", events: "event" } as const;
const KIND_ATTRIBUTES = Object.fromEntries(
  Object.entries(KINDS).map(([list, kind]) => [list, encodeAttributes({ kind }, LOG_ATTRIBUTES_TAG)]),
) as Record<FaroList, Uint8Array>;

/** Adds an element of a list as a log record whose body is a logfmt line. */
export function addRecord(writer: LogBatchWriter, list: FaroList, record: FaroObject, meta: MetaLine): void {
  const body = meta.line(WORDS_OF[list](record));
  const hash = list === "exceptions" ? exceptionHash(record.text("value")) : undefined;
  const trace = record.object("trace");
  const traceId = idOf(trace, "trace_id", 16);
  const spanId = idOf(trace, "span_id", 8);
  writer.add(body.length + 100, (out) => {
    out.byte(LOG_BODY_TAG);
    out.begin(body.length + 8);
    out.byte(STRING_VALUE_TAG);
    out.text(body);
    out.end();
    copyAll(out, KIND_ATTRIBUTES[list]);
    if (hash !== undefined) copyAll(out, encodeAttributes({ hash }, LOG_ATTRIBUTES_TAG));
    writeId(out, LOG_TRACE_ID_TAG, traceId);
    writeId(out, LOG_SPAN_ID_TAG, spanId);
  });
}

function copyAll(out: WireWriter, bytes: Uint8Array): void {
  out.copy(bytes, 0, bytes.length);
}

function writeId(out: WireWriter, tag: number, id: Uint8Array | undefined): void {
  if (id === undefined) return;
  out.byte(tag);
  out.lengthDelimited(id);
}

/** An id of `size` bytes. A shorter one is filled with zeros and a longer one is cut, as in the Collector. */
function idOf(trace: FaroObject, name: string, size: number): Uint8Array | undefined {
  const hex = trace.text(name);
  if (hex === "") return undefined;
  if (!/^(?:[0-9a-f]{2})+$/i.test(hex)) throw unreadablePayload(`${name} is no hexadecimal text`);
  const id = Buffer.alloc(size);
  id.write(hex.slice(0, 2 * size), "hex");
  return id.some((byte) => byte !== 0) ? id : undefined;
}

const WORDS_OF: Readonly<Record<FaroList, (record: FaroObject) => Words>> = {
  logs(log) {
    const words = firstWords(log, "log", log.text("level") || "info");
    set(words, "message", log.text("message"));
    setAll(words, "context_", log.object("context"));
    setTrace(words, log);
    setAction(words, log);
    return words;
  },
  exceptions(exception) {
    const words = firstWords(exception, "exception", "error");
    set(words, "type", exception.text("type"));
    set(words, "value", exception.text("value"));
    if (exception.boolean("fatal")) words.set("fatal", "true");
    set(words, "stacktrace", stackTrace(exception));
    setTrace(words, exception);
    setAll(words, "context_", exception.object("context"));
    setAction(words, exception);
    return words;
  },
  measurements(measurement) {
    const words = firstWords(measurement, "measurement", "info");
    set(words, "type", measurement.text("type"));
    setAll(words, "context_", measurement.object("context"));
    const values = measurement.object("values");
    const names = values.names();
    for (const name of names) words.set(name.toWellFormed(), fixedText(values.number(name)));
    setTrace(words, measurement);
    for (const name of names) words.set(`value_${name.toWellFormed()}`, goNumber(values.number(name)));
    setAction(words, measurement);
    return words;
  },
  events(event) {
    const words = firstWords(event, "event", "info");
    set(words, "event_name", event.text("name"));
    set(words, "event_domain", event.text("domain"));
    setAll(words, "event_data_", event.object("attributes"));
    setAction(words, event);
    setTrace(words, event);
    return words;
  },
};

function firstWords(record: FaroObject, kind: string, level: string): Words {
  return new Map([
    ["timestamp", record.time("timestamp")],
    ["kind", kind],
    ["level", level],
  ]);
}

/** Empty values are left out. */
function set(words: Words, name: string, value: string): void {
  if (value !== "") words.set(name, value);
}

function setAll(words: Words, prefix: string, texts: FaroObject): void {
  for (const name of texts.names()) set(words, prefix + name.toWellFormed(), texts.text(name));
}

function setTrace(words: Words, record: FaroObject): void {
  const trace = record.object("trace");
  set(words, "traceID", trace.text("trace_id"));
  set(words, "spanID", trace.text("span_id"));
}

function setAction(words: Words, record: FaroObject): void {
  const action = record.object("action");
  set(words, "action_id", action.text("id"));
  set(words, "action_name", action.text("name"));
  set(words, "action_parent_id", action.text("parentId"));
}

function stackTrace(exception: FaroObject): string {
  const frames = exception.object("stacktrace").objects("frames");
  const lines = frames.map((frame) => {
    const module = frame.text("module");
    const place = `${module === "" ? "" : `${module}|`}${frame.text("filename")}`;
    return `\n  at ${frame.text("function")} (${place}:${frame.integer("lineno")}:${frame.integer("colno")})`;
  });
  return `${exception.text("type")}: ${exception.text("value")}${lines.join("")}`;
}

/** Six digits behind the point. Halves are rounded to the even digit, as Go does. */
function fixedText(value: number): string {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}.000000`;
  const isHalf = Number.isInteger(value * 128) && !Number.isInteger(value * 64);
  if (!isHalf) return Object.is(value, -0) ? "-0.000000" : value.toFixed(6);
  const cut = value.toFixed(7).slice(0, -1);
  return Number(cut.at(-1)) % 2 === 0 ? cut : value.toFixed(6);
}

/** Texts of the metadata by their group. A word is named after both. */
const META_TEXTS: Readonly<Record<string, readonly string[]>> = {
  sdk: ["name", "version"],
  app: ["name", "namespace", "release", "version", "environment", "installationId"],
  user: ["email", "id", "username"],
  session: ["id"],
  page: ["id", "url"],
  browser: ["name", "version", "os"],
};

/** The words about the page and its browser that every line of a request ends with. */
export class MetaLine {
  private readonly words: Words;
  private readonly text: string;

  constructor(meta: FaroObject) {
    this.words = metaWords(meta);
    this.text = logfmt(this.words);
  }

  /** The whole line. A word of the metadata replaces a word of the record. */
  line(words: Words): string {
    for (const name of words.keys()) if (this.words.has(name)) return logfmt(new Map([...words, ...this.words]));
    return `${logfmt(words)} ${this.text}`;
  }
}

function metaWords(meta: FaroObject): Words {
  const words: Words = new Map();
  for (const [group, names] of Object.entries(META_TEXTS)) {
    const object = meta.object(group);
    for (const name of names)
      set(words, name === "installationId" ? "app_installation_id" : `${group}_${name}`, object.text(name));
    if (group === "sdk") set(words, "sdk_integrations", integrations(object));
    if (["user", "session", "page"].includes(group)) setAll(words, `${group}_attr_`, object.object("attributes"));
    if (group === "browser") setBrowser(words, object);
  }
  setDevice(words, meta);
  const k6 = meta.object("k6");
  if (k6.boolean("isK6Browser")) words.set("k6_isK6Browser", "true");
  set(words, "k6_testRunId", k6.text("testRunId"));
  set(words, "view_name", meta.object("view").text("name"));
  const geo = meta.object("geo");
  for (const name of ["continent_iso", "country_iso", "subdivision_iso", "city", "asn_org", "asn_id"])
    set(words, `geo_${name}`, geo.text(name));
  return words;
}

function integrations(sdk: FaroObject): string {
  return sdk
    .objects("integrations")
    .map((integration) => `${integration.text("name")}:${integration.text("version")}`)
    .join(",");
}

function setBrowser(words: Words, browser: FaroObject): void {
  words.set("browser_mobile", String(browser.boolean("mobile")));
  for (const name of ["userAgent", "language", "viewportWidth", "viewportHeight"])
    set(words, `browser_${name}`, browser.text(name));
  const brands = browser.brands("brands");
  if (typeof brands === "string") return set(words, "browser_brands", brands);
  for (const [i, brand] of brands.entries()) {
    set(words, `browser_brand_${i}_brand`, brand.text("brand"));
    set(words, `browser_brand_${i}_version`, brand.text("version"));
  }
}

function setDevice(words: Words, meta: FaroObject): void {
  const device = meta.object("device");
  for (const name of ["manufacturer", "model_identifier", "model_name", "brand"])
    set(words, `device_${name}`, device.text(name));
  if (device.boolean("is_physical")) words.set("device_is_physical", "true");
  set(words, "device_type", device.text("type"));
  const os = meta.object("os");
  for (const name of ["name", "version", "build_id", "detail"]) set(words, `os_${name}`, os.text(name));
}

const QUOTED = /[\0-\x20="\x7f\ufffd]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: logfmt escapes them
const ESCAPED = /[\0-\x1f"\\\x7f\ufffd]/g;
const OTHER_IN_JSON = /[\b\f\x7f\ufffd]/;
const NOT_IN_KEYS = /[\0-\x20="\x7f\ufffd]/g;

function logfmt(words: Words): string {
  let line = "";
  for (const [name, value] of words) {
    const key = name.replace(NOT_IN_KEYS, "");
    if (key === "") throw unreadablePayload("a name is empty");
    line += `${line === "" ? "" : " "}${key}=${quoted(value)}`;
  }
  return line;
}

function quoted(value: string): string {
  if (value === "null") return '"null"';
  if (!QUOTED.test(value)) return value;
  // JSON escapes nearly the same characters, and is ten times as fast.
  if (!OTHER_IN_JSON.test(value)) return JSON.stringify(value);
  if (value.includes("\b") || value.includes("\f")) return `"${value.replace(ESCAPED, escaped)}"`;
  return JSON.stringify(value).split("\x7f").join("\\u007f").split("\ufffd").join("\\ufffd");
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(char: string): string {
  return ESCAPES[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Parts of an exception's text that differ from case to case, and what stands for them in its hash. */
const VARYING = (
  [
    ["Cannot read (property|properties) '([^']+)'", "Cannot read $1 '<PROPERTY>'"],
    ['https?://[^\\s<>"{}|\\\\^`\\[\\]]+', "<URL>"],
    ["0x[0-9a-fA-F]+", "<ADDRESS>"],
    ["[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<UUID>"],
    ["\\b(id|ID|Id)\\s*[:\\s=]\\s*\\d+\\b", "$1 <ID>"],
    ["\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}:\\d{2}", "<TIMESTAMP>"],
    ["(?:[A-Za-z]:)?[/\\\\][\\w\\-._/\\\\]+\\.(js|ts|jsx|tsx|css|html)\\b", "<PATH>"],
  ] as const
).map(([pattern, replacement]) => ({ pattern: compilePattern(pattern), replacement }));

/** The hash of a longer text would take too long; it is that of its beginning. */
const MAX_HASHED_CHARACTERS = 4096;

/** Equal for exceptions that differ only in such parts. */
function exceptionHash(value: string): string {
  let text = value.slice(0, MAX_HASHED_CHARACTERS).toWellFormed();
  for (const { pattern, replacement } of VARYING) text = pattern.replaceAll(text, replacement);
  return xxh3(Buffer.from(text)).toString();
}

import { withoutEnd } from "#text";
import { OttlError } from "../../values/error.js";
import { MAX_ITEMS, tooManyItems } from "../../values/limits.js";
import type { OttlMap } from "../../values/value.js";
import { compilePattern } from "./pattern.js";

/** Log formats of devices and servers: CEF, LEEF, the Common Log Format and W3C's extended format. */

const CEF_FIELDS = [
  "version",
  "device_vendor",
  "device_product",
  "device_version",
  "device_event_class_id",
  "name",
  "severity",
];

/** `CEF:0|vendor|product|version|id|name|severity|key=value ...`; text in front of it is ignored. */
export function parseCef(text: string): OttlMap {
  const start = text.indexOf("CEF:");
  if (start < 0) throw new OttlError("ParseCEF: there is no CEF: in the text");
  const fields: string[] = [];
  let field = "";
  let p = start + 4;
  for (; p < text.length && fields.length < CEF_FIELDS.length; p++) {
    const c = text[p]!;
    const next = text[p + 1];
    if (c === "|") {
      fields.push(field);
      field = "";
    } else if (c === "\\" && (next === "|" || next === "\\")) {
      field += next;
      p++;
    } else field += c;
  }
  const extension = fields.length === CEF_FIELDS.length ? text.slice(p) : "";
  if (fields.length < CEF_FIELDS.length) fields.push(field);
  if (fields.length < CEF_FIELDS.length)
    throw new OttlError(`ParseCEF: the header has ${fields.length} fields, not ${CEF_FIELDS.length}`);
  if (fields[0] === "") throw new OttlError("ParseCEF: the version is missing");
  const map: OttlMap = new Map(CEF_FIELDS.map((name, i) => [`cef.${name}`, fields[i]!]));
  return map.set("cef.extensions", cefExtensions(extension));
}

/** A value extends to the next ` key=`, so it may contain spaces. */
function cefExtensions(text: string): OttlMap {
  const map: OttlMap = new Map();
  let previous: { key: string; from: number } | undefined;
  const finish = (end: number) => {
    if (previous !== undefined) map.set(previous.key, unescapeCef(withoutEnd(text.slice(previous.from, end), " ")));
  };
  // Linear: a name starts behind a space and contains none.
  const key = /(?:^| )([A-Za-z0-9_]+)=/g;
  for (let match = key.exec(text); match !== null; match = key.exec(text)) {
    finish(match.index);
    previous = { key: match[1]!, from: key.lastIndex };
    if (text[key.lastIndex - 1] === " ") key.lastIndex--;
  }
  finish(text.length);
  return map;
}

const CEF_ESCAPES: Readonly<Record<string, string>> = { "\\": "\\", "=": "=", n: "\n", r: "\r" };

function unescapeCef(text: string): string {
  return text.replace(/\\([\\=nr])/g, (_, c: string) => CEF_ESCAPES[c]!);
}

/** `LEEF:1.0|vendor|product|version|id|key=value<tab>...`; version 2.0 may name another delimiter. */
export function parseLeef(text: string): OttlMap {
  const start = text.indexOf("LEEF:");
  if (start < 0) throw new OttlError("ParseLEEF: there is no LEEF: in the text");
  const [version, ...fields] = text.slice(start + 5).split("|", 7) as [string, ...string[]];
  if (fields.length === 0) throw new OttlError("ParseLEEF: there is no | after the version");
  if (version !== "1.0" && version !== "2.0")
    throw new OttlError(`ParseLEEF: no such version: ${JSON.stringify(version.slice(0, 20))}`);
  if (fields.length < 4) throw new OttlError("ParseLEEF: the header is vendor, product, version and id of the event");
  const [vendor, product, productVersion, id, fifth = ""] = fields as [string, string, string, string, string?];
  const hasDelimiter = version === "2.0" && fields.length > 4 && !fifth.includes("=");
  const delimiter = hasDelimiter ? leefDelimiter(fifth) : "\t";
  const attributes = afterFields(text, start, hasDelimiter ? 6 : 5);
  const map: OttlMap = new Map([
    ["leef.version", version],
    ["leef.vendor", vendor],
    ["leef.product.name", product],
    ["leef.product.version", productVersion],
    ["leef.event.id", id],
  ]);
  return map.set("leef.attributes", leefAttributes(attributes, delimiter));
}

function afterFields(text: string, start: number, count: number): string {
  let at = start;
  for (let i = 0; i < count; i++) {
    const bar = text.indexOf("|", at);
    if (bar < 0) return "";
    at = bar + 1;
  }
  return text.slice(at);
}

function leefDelimiter(text: string): string {
  if (text === "") return "\t";
  if (/^0x[0-9a-f]{2}$/i.test(text)) return String.fromCharCode(Number.parseInt(text.slice(2), 16));
  if (Buffer.byteLength(text) === 1) return text;
  throw new OttlError(
    `ParseLEEF: the delimiter is one character or 0x with two digits, not ${JSON.stringify(text.slice(0, 20))}`,
  );
}

function leefAttributes(text: string, delimiter: string): OttlMap {
  const map: OttlMap = new Map();
  for (const pair of text.split(delimiter, MAX_ITEMS)) {
    const equals = pair.indexOf("=");
    if (equals > 0) map.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  return map;
}

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"';
const COMMON = `^(\\S+) (\\S+) (\\S+) \\[([^\\]]+)\\] ${QUOTED} (\\S+) (\\S+)`;
const named = (pattern: string) => {
  let i = 0;
  return compilePattern(pattern.replace(/(?<!\\)\((?!\?)/g, () => `(?P<g${++i}>`));
};
const CLF_PATTERNS = { clf: `${COMMON}$`, combined: `${COMMON} ${QUOTED} ${QUOTED}$` };
/** Compiled when they are first needed. */
const compiledClf = new Map<string, ReturnType<typeof named>>();

function clfPattern(format: keyof typeof CLF_PATTERNS): ReturnType<typeof named> {
  const known = compiledClf.get(format);
  if (known !== undefined) return known;
  const compiled = named(CLF_PATTERNS[format]);
  compiledClf.set(format, compiled);
  return compiled;
}

/** A line of a web server, with `combined` also its referrer and user agent. */
export function parseClf(text: string, format: keyof typeof CLF_PATTERNS): OttlMap {
  const groups = clfPattern(format).groups(text.trim());
  if (groups === undefined) throw new OttlError(`ParseCLF: the line is not of the format ${format}`);
  const group = (n: number) => groups[`g${n}`] ?? "";
  const request = unescapeClf(group(5));
  const map: OttlMap = new Map([
    ["clf.remote_host", group(1)],
    ["clf.rfc931", group(2)],
    ["clf.auth_user", group(3)],
    ["clf.timestamp", group(4)],
    ["clf.request", request],
  ]);
  const [method, uri] = request.split(" ", 2) as [string, string?];
  const protocolAt = uri === undefined ? -1 : request.indexOf(" ", method.length + 1);
  if (protocolAt >= 0)
    map
      .set("clf.method", method)
      .set("clf.request_uri", uri!)
      .set("clf.protocol", request.slice(protocolAt + 1));
  map.set("clf.status", clfInteger(group(6), "status"));
  if (group(7) !== "-") map.set("clf.bytes", clfInteger(group(7), "number of bytes"));
  if (format === "combined") map.set("clf.referer", unescapeClf(group(8))).set("clf.user_agent", unescapeClf(group(9)));
  return map;
}

function clfInteger(text: string, what: string): bigint {
  const value = /^[+-]?\d{1,19}$/.test(text) ? BigInt(text.replace("+", "")) : 2n ** 64n;
  if (BigInt.asIntN(64, value) === value) return value;
  throw new OttlError(`ParseCLF: ${JSON.stringify(text.slice(0, 40))} is no ${what}`);
}

const CLF_ESCAPES: Readonly<Record<string, number>> = {
  "\\": 0x5c,
  '"': 0x22,
  n: 0x0a,
  t: 0x09,
  r: 0x0d,
  b: 0x08,
  f: 0x0c,
  v: 0x0b,
};

/** \xhh is a byte of UTF-8, so escapes are decoded as bytes. */
function unescapeClf(text: string): string {
  if (!text.includes("\\")) return text;
  const parts = text.split(/(\\x[0-9A-Fa-f]{2}|\\[\\"ntrbfv])/);
  const bytes = parts.map((part, i) => {
    if (i % 2 === 0) return Buffer.from(part);
    return Buffer.from([part[1] === "x" ? Number.parseInt(part.slice(2), 16) : CLF_ESCAPES[part[1]!]!]);
  });
  return Buffer.concat(bytes).toString("utf8");
}

const ELF_DIRECTIVES: Readonly<Record<string, string>> = {
  version: "elf.version",
  software: "elf.software",
  date: "elf.date",
  "start-date": "elf.start_date",
  "end-date": "elf.end_date",
  remark: "elf.remark",
};

/** A file or a part of one with its directives: `#Fields` names the values of the lines after it. */
export function parseElf(text: string): OttlMap {
  const entries: OttlMap[] = [];
  const map: OttlMap = new Map();
  let fields: string[] = [];
  let values = 0;
  for (const raw of text.split(/\r\n|\r|\n/)) {
    const line = raw.trim();
    if (line === "") continue;
    if (line.startsWith("#")) {
      fields = elfDirective(line, map) ?? fields;
      continue;
    }
    if (fields.length === 0) throw new OttlError("ParseELF: there is a line before #Fields");
    values += fields.length;
    if (values > MAX_ITEMS) throw tooManyItems();
    const row = elfValues(line);
    entries.push(new Map(fields.map((name, i) => [name, row[i] ?? "-"])));
  }
  if (!map.has("elf.version")) throw new OttlError("ParseELF: there is no #Version");
  return map.set("elf.entries", entries).set("elf.fields", fields);
}

/** Returns the new fields if the directive sets them. */
function elfDirective(line: string, map: OttlMap): string[] | undefined {
  const colon = line.indexOf(":");
  const name = line
    .slice(1, colon < 0 ? undefined : colon)
    .trim()
    .toLowerCase();
  if (colon < 0) {
    if (name.startsWith("fields")) throw new OttlError("ParseELF: there is no : after #Fields");
    return undefined;
  }
  const value = line.slice(colon + 1).trim();
  if (name === "fields") return value === "" ? [] : value.split(/\s+/);
  if (Object.hasOwn(ELF_DIRECTIVES, name)) map.set(ELF_DIRECTIVES[name]!, value);
  return undefined;
}

/** Values are separated by spaces or tabs, or in quotes, where a quote is written twice. */
function elfValues(line: string): string[] {
  const values: string[] = [];
  const token = /[ \t]*(?:"((?:[^"]|"")*)"|([^" \t][^ \t]*)|("))/y;
  for (let p = 0; p < line.length; p = token.lastIndex) {
    token.lastIndex = p;
    const match = token.exec(line);
    if (match === null) break;
    if (match[3] !== undefined) throw new OttlError("ParseELF: a quoted value does not end");
    values.push(match[2] ?? match[1]!.replaceAll('""', '"'));
  }
  return values;
}

import { parseGoLayout, parseTime } from "#text";
import type { LogEntry } from "./entries/log-entry.js";
import { type LogMap, type LogValue, newLogMap } from "./entries/log-value.js";
import { IsoTime } from "./iso-time.js";
import type { OperatorContext } from "./log-operator.js";
import { once } from "./once.js";
import { ParserOperator, type ParserSettings } from "./parse-operators.js";

interface SyslogSettings extends ParserSettings {
  readonly protocol: "rfc3164" | "rfc5424" | "none";
  readonly location: string;
  readonly enable_octet_counting: boolean;
  readonly allow_skip_pri_header: boolean;
}

/** Syslog's severities from emergency to debug, with OpenTelemetry's numbers and the Collector's names. */
export const SEVERITIES: readonly (readonly [number, string])[] = [
  [21, "emerg"],
  [19, "alert"],
  [18, "crit"],
  [17, "err"],
  [13, "warning"],
  [10, "notice"],
  [9, "info"],
  [5, "debug"],
];

export const FACILITIES = [
  "kern",
  "user",
  "mail",
  "daemon",
  "auth",
  "syslog",
  "lpr",
  "news",
  "uucp",
  "cron",
  "authpriv",
  "ftp",
  "ntp",
  "security",
  "console",
  "solaris-cron",
  ...Array.from({ length: 8 }, (_, i) => `local${i}`),
];

/** Created with the first message, because the modules of OTTL may not be loaded yet when this module is. */
const layouts = once(() => ({
  rfc5424: parseGoLayout("2006-01-02T15:04:05.999999999Z07:00"),
  rfc5424Seconds: parseGoLayout("2006-01-02T15:04:05Z07:00"),
  rfc3164: parseGoLayout("Jan _2 15:04:05"),
}));

/** The header fields of RFC 5424 with their maximum lengths. */
export const RFC5424_FIELDS = [
  ["version", 3],
  ["time", Number.POSITIVE_INFINITY],
  ["hostname", 255],
  ["appname", 48],
  ["proc_id", 128],
  ["msg_id", 32],
] as const;
// These patterns match a bounded length, so no text makes them slow.
const VERSION = /^[1-9][0-9]{0,2}$/;
const RFC3164_TIME = /^[A-Z][a-z]{2} [ 0-9]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}(?= )/;
const RFC3164_TAG = /^([^[\]:\t\n\f\r ]{1,64})(?:\[([^\]]{0,128})\])?: ?/u;
const OTHER_SPACE = /[\t\n\f\r]/;

/** Parses syslog messages of the old format (RFC 3164) and the new one (RFC 5424). */
export class SyslogParser extends ParserOperator {
  private readonly syslog: SyslogSettings;
  /** Facts about the entry from the last parsed message. */
  private time: bigint | undefined;
  private severity: number | undefined;

  constructor(settings: SyslogSettings, context: OperatorContext) {
    super(settings, context);
    this.syslog = settings;
  }

  protected override apply(entry: LogEntry): boolean {
    this.time = undefined;
    this.severity = undefined;
    super.apply(entry);
    if (this.time !== undefined) entry.timestamp = this.time;
    if (this.severity !== undefined) [entry.severityNumber, entry.severityText] = SEVERITIES[this.severity]!;
    return true;
  }

  protected parse(value: LogValue): LogMap {
    if (typeof value !== "string") throw new Error("syslog_parser needs a text");
    let text = value;
    const { enable_octet_counting: isCounted, protocol } = this.syslog;
    if (isCounted) text = text.replace(protocol === "none" ? /^[1-9]\d{0,9}\s/ : /^\d{1,10} (?=<)/, "");
    const values = newLogMap();
    const priority = /^<(\d{1,3})>/.exec(text);
    if (priority !== null && Number(priority[1]) <= 191) {
      const number = Number(priority[1]);
      values.priority = BigInt(number);
      values.facility = BigInt(number >> 3);
      values.facility_text = FACILITIES[number >> 3]!;
      this.severity = number & 7;
      if (protocol !== "none") text = text.slice(priority[0].length);
    } else if (protocol !== "none" && !this.syslog.allow_skip_pri_header)
      throw new Error("a syslog message must begin with its priority, such as <13>");
    if (protocol === "none") return Object.assign(values, { message: text });
    return protocol === "rfc5424" ? this.parseNew(text, values) : this.parseOld(text, values);
  }

  private parseNew(text: string, values: LogMap): LogMap {
    let at = 0;
    for (const [name, maxLength] of RFC5424_FIELDS) {
      const field = fieldAt(text, at, maxLength);
      if (field === undefined || (name === "version" && !VERSION.test(field)))
        throw new Error("the message is not of RFC 5424");
      at += field.length + 1;
      if (name === "version") values.version = BigInt(field);
      else if (field === "-") continue;
      else if (name === "time") this.time = isoTime(field);
      else values[name] = field;
    }
    const { data, message } = readStructuredData(text.slice(at));
    if (data !== undefined) values.structured_data = data;
    if (message !== "") values.message = message;
    return values;
  }

  private parseOld(text: string, values: LogMap): LogMap {
    const time = RFC3164_TIME.exec(text)?.[0];
    const host = time === undefined ? undefined : fieldAt(text, time.length + 1, Number.POSITIVE_INFINITY);
    if (time === undefined || host === undefined) throw new Error("the message is not of RFC 3164");
    const { location } = this.syslog;
    const now = BigInt(Date.now()) * 1_000_000n;
    this.time = parseTime(layouts().rfc3164, time, location === "UTC" ? undefined : location, now).nanos;
    // Programs of the same machine leave the host out: then its place has the tag.
    const hasHost = !host.endsWith(":");
    if (hasHost) values.hostname = host;
    const rest = text.slice(time.length + 1 + (hasHost ? host.length + 1 : 0));
    const tag = RFC3164_TAG.exec(rest);
    if (tag !== null) values.appname = tag[1]!;
    if (tag?.[2] !== undefined && tag[2] !== "") values.proc_id = tag[2];
    values.message = rest.slice(tag?.[0].length ?? 0);
    return values;
  }
}

/**
 * The text up to the next space; undefined if it is empty, too long, contains other white space, or no space follows.
 */
function fieldAt(text: string, from: number, maxLength: number): string | undefined {
  const end = text.indexOf(" ", from);
  if (end <= from) return undefined;
  const field = text.slice(from, end);
  if (field.length > maxLength && [...field].length > maxLength) return undefined;
  return OTHER_SPACE.test(field) ? undefined : field;
}

const quickTime = new IsoTime();
const timeBytes = Buffer.alloc(32);

/** The time of an RFC 5424 message in nanoseconds. */
function isoTime(text: string): bigint {
  if (text.length <= timeBytes.length && quickTime.read(timeBytes, 0, timeBytes.write(text)))
    return (BigInt(quickTime.high) << 32n) | BigInt(quickTime.low);
  const layout = text.includes(".") ? layouts().rfc5424 : layouts().rfc5424Seconds;
  return parseTime(layout, text, undefined, 0n).nanos;
}

const ELEMENT_NAME = /[^ =\]"]{1,32}/y;
const PARAMETER = / +([^ =\]"]{1,32})="((?:[^"\\]|\\.)*)"/y;

/** Parses `[id name="value" ...][...] message` or `- message`. */
function readStructuredData(text: string): { data: LogMap | undefined; message: string } {
  if (text === "-" || text.startsWith("- ")) return { data: undefined, message: withoutMark(text.slice(2)) };
  const data = newLogMap();
  let at = 0;
  while (text[at] === "[") {
    ELEMENT_NAME.lastIndex = at + 1;
    const id = ELEMENT_NAME.exec(text)?.[0];
    if (id === undefined) throw new Error("an element of the structured data has no name");
    at += 1 + id.length;
    const element = newLogMap();
    for (PARAMETER.lastIndex = at; ; at = PARAMETER.lastIndex) {
      const found = PARAMETER.exec(text);
      if (found === null) break;
      const value = found[2]!;
      element[found[1]!] = value.includes("\\") ? value.replace(/\\(["\\\]])/g, "$1") : value;
    }
    if (text[at] !== "]") throw new Error("the structured data has no end");
    data[id] = element;
    at++;
  }
  if (at === 0) throw new Error("expected structured data, or - for none");
  return { data, message: withoutMark(text.slice(at + 1)) };
}

function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

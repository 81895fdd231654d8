import { parseGoLayout } from "../../ottl/functions/time/time-layout.js";
import { parseTime } from "../../ottl/functions/time/time-parse.js";
import { compilePattern } from "../match/pattern.js";
import type { LogEntry } from "./log-entry.js";
import type { OperatorContext } from "./log-operator.js";
import { type LogMap, type LogValue, newLogMap } from "./log-value.js";
import { ParserOperator, type ParserSettings } from "./parse-operators.js";

export interface SyslogSettings extends ParserSettings {
  readonly protocol: "rfc3164" | "rfc5424";
  readonly location: string;
  readonly enable_octet_counting: boolean;
  readonly allow_skip_pri_header: boolean;
}

/** Syslog's levels, from emergency to debug, as OpenTelemetry's numbers and the Collector's names. */
const SEVERITIES: readonly (readonly [number, string])[] = [
  [21, "emerg"],
  [19, "alert"],
  [18, "crit"],
  [17, "err"],
  [13, "warning"],
  [10, "notice"],
  [9, "info"],
  [5, "debug"],
];

const FACILITIES = [
  ...["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"],
  ...["ntp", "security", "console", "solaris-cron"],
  ...Array.from({ length: 8 }, (_, i) => `local${i}`),
];

/** Read when the first message is: while modules are loaded, those of OTTL may not be there yet. */
const layouts = once(() => ({
  rfc5424: parseGoLayout("2006-01-02T15:04:05.999999999Z07:00"),
  rfc5424Seconds: parseGoLayout("2006-01-02T15:04:05Z07:00"),
  rfc3164: parseGoLayout("Jan _2 15:04:05"),
}));

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const RFC5424_HEADER = compilePattern(
  "(?s)^(?P<version>[1-9][0-9]{0,2}) (?P<time>-|\\S+) (?P<host>\\S{1,255}) (?P<app>\\S{1,48}) (?P<proc>\\S{1,128}) (?P<msg>\\S{1,32}) (?P<rest>.*)$",
);
const RFC3164_HEADER = compilePattern(
  "(?s)^(?P<time>[A-Z][a-z]{2} [ 0-9]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}) (?P<host>\\S+) (?P<rest>.*)$",
);
const RFC3164_TAG = compilePattern(
  "(?s)^(?P<app>[^\\[\\]:\\s]{1,64})(?:\\[(?P<proc>[^\\]]{0,128})\\])?: ?(?P<message>.*)$",
);

/** Messages of syslog, in the old form and the new. */
export class SyslogParser extends ParserOperator {
  private readonly syslog: SyslogSettings;
  /** What the message that was parsed last says of its entry. */
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
    if (this.syslog.enable_octet_counting) text = text.replace(/^\d{1,10} (?=<)/, "");
    const values = newLogMap();
    const priority = /^<(\d{1,3})>/.exec(text);
    if (priority !== null && Number(priority[1]) <= 191) {
      const number = Number(priority[1]);
      values.priority = BigInt(number);
      values.facility = BigInt(number >> 3);
      values.facility_text = FACILITIES[number >> 3]!;
      this.severity = number & 7;
      text = text.slice(priority[0].length);
    } else if (!this.syslog.allow_skip_pri_header)
      throw new Error("a message of syslog begins with its priority, as <13>");
    return this.syslog.protocol === "rfc5424" ? this.parseNew(text, values) : this.parseOld(text, values);
  }

  private parseNew(text: string, values: LogMap): LogMap {
    const header = RFC5424_HEADER.groups(text);
    if (header === undefined) throw new Error("the message is not of RFC 5424");
    values.version = BigInt(header.version!);
    const { time = "-" } = header;
    if (time !== "-") {
      const layout = time.includes(".") ? layouts().rfc5424 : layouts().rfc5424Seconds;
      this.time = parseTime(layout, time, undefined, 0n).nanos;
    }
    for (const [name, field] of [
      ["hostname", "host"],
      ["appname", "app"],
      ["proc_id", "proc"],
      ["msg_id", "msg"],
    ] as const) {
      if (header[field] !== "-") values[name] = header[field]!;
    }
    const { data, message } = readStructuredData(header.rest ?? "");
    if (data !== undefined) values.structured_data = data;
    if (message !== "") values.message = message;
    return values;
  }

  private parseOld(text: string, values: LogMap): LogMap {
    const header = RFC3164_HEADER.groups(text);
    if (header === undefined) throw new Error("the message is not of RFC 3164");
    const { location } = this.syslog;
    const now = BigInt(Date.now()) * 1_000_000n;
    this.time = parseTime(layouts().rfc3164, header.time!, location === "UTC" ? undefined : location, now).nanos;
    values.hostname = header.host!;
    const tag = RFC3164_TAG.groups(header.rest ?? "");
    if (tag !== undefined) values.appname = tag.app!;
    if (tag?.proc !== undefined && tag.proc !== "") values.proc_id = tag.proc;
    values.message = tag?.message ?? header.rest ?? "";
    return values;
  }
}

/** `[id name="value" ...][...] message`, or `- message`. */
function readStructuredData(text: string): { data: LogMap | undefined; message: string } {
  if (text === "-" || text.startsWith("- ")) return { data: undefined, message: withoutMark(text.slice(2)) };
  const data = newLogMap();
  let at = 0;
  while (text[at] === "[") {
    const name = /[^ =\]"]{1,32}/y;
    name.lastIndex = at + 1;
    const id = name.exec(text)?.[0];
    if (id === undefined) throw new Error("an element of the structured data has no name");
    at += 1 + id.length;
    const element = newLogMap();
    const parameter = / +([^ =\]"]{1,32})="((?:[^"\\]|\\.)*)"/y;
    for (parameter.lastIndex = at; ; at = parameter.lastIndex) {
      const found = parameter.exec(text);
      if (found === null) break;
      element[found[1]!] = found[2]!.replace(/\\(["\\\]])/g, "$1");
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

import { parseCsvRow, parseKeyValue } from "#text";
import { parseJson } from "#text/json";
import { compilePattern, type Pattern } from "#text/patterns";
import { boundOf } from "./entries/entry-growth.js";
import type { LogEntry } from "./entries/log-entry.js";
import { isLogMap, type LogMap, type LogValue, newLogMap, setValue } from "./entries/log-value.js";
import type { EntrySeverity } from "./entry-severity.js";
import type { EntryTime } from "./entry-time.js";
import type { EntryTrace } from "./entry-trace.js";
import { parseJsonWithInts } from "./json-numbers.js";
import type { LogField } from "./log-field.js";
import { LogOperator, type OperatorContext, type OperatorSettings } from "./log-operator.js";

/** Settings of parsers that produce several values, besides those of all operators. */
export interface ParserSettings extends OperatorSettings {
  readonly parse_from: LogField;
  readonly parse_to: LogField;
  readonly timestamp?: EntryTime | undefined;
  readonly severity?: EntrySeverity | undefined;
  readonly trace?: EntryTrace | undefined;
  readonly scope_name?: { readonly parse_from: LogField } | undefined;
  readonly body?: LogField | undefined;
}

/** Parses one value into several and stores them at the configured place. */
export abstract class ParserOperator extends LogOperator {
  protected readonly parser: ParserSettings;

  constructor(settings: ParserSettings, context: OperatorContext) {
    super(settings, context);
    this.parser = settings;
  }

  protected apply(entry: LogEntry): boolean {
    const { parse_from, parse_to, timestamp, severity, trace, scope_name, body } = this.parser;
    const value = parse_from.get(entry);
    if (value === undefined) throw new Error(`there is no ${parse_from}`);
    const parsed = this.parse(value, entry);
    const losesBody = body !== undefined || (parse_to.root === "body" && parse_to.isRoot);
    this.makeRoom(entry, parsed, this.boundOfParsed(value, parsed), losesBody ? entry.body : null);
    if (isLogMap(parsed)) parse_to.merge(entry, parsed);
    else parse_to.set(entry, parsed);
    if (body !== undefined) {
      const text = body.get(entry);
      if (text !== undefined) entry.body = text;
    }
    const failures: unknown[] = [];
    const scope = scope_name && { read: () => readScopeName(entry, scope_name.parse_from) };
    for (const step of [timestamp, severity, trace, scope]) {
      try {
        step?.read(entry);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return true;
  }

  protected abstract parse(value: LogValue, entry: LogEntry): LogMap | LogValue[];

  /** The most bytes that the values parsed from a text can take: the shortest in JSON are like `1,`. */
  protected boundOfParsed(from: LogValue, _parsed: LogValue): number {
    const { length } = typeof from === "string" || from instanceof Uint8Array ? from : "";
    return length * MAX_PARSED_BYTES + MAX_ADDED_BYTES;
  }
}

const MAX_PARSED_BYTES = 16;
/** For names that are not in the text. */
const MAX_ADDED_BYTES = 512;

export function readScopeName(entry: LogEntry, field: LogField): void {
  const name = field.get(entry);
  if (typeof name !== "string") throw new Error(`there is no text in ${field} to read the scope's name from`);
  entry.scopeName = name;
}

function textOf(value: LogValue, what: string): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  throw new Error(`${what} needs a text`);
}

export class JsonParser extends ParserOperator {
  private readonly parsesInts: boolean;

  constructor(settings: ParserSettings & { parse_ints: boolean }, context: OperatorContext) {
    super(settings, context);
    this.parsesInts = settings.parse_ints;
  }

  protected parse(value: LogValue): LogMap {
    return parseJsonMap(textOf(value, "json_parser"), this.parsesInts);
  }
}

/**
 * Whether the parser only turns the body into attributes and at most reads time and severity from their texts, so
 * `JsonAttributes` can do its work.
 */
export function isPlainJsonParser(settings: Omit<ParserSettings, "id"> & { readonly parse_ints: boolean }): boolean {
  const { parse_from, parse_to, parse_ints, timestamp, severity, trace, scope_name, body } = settings;
  const hasMore = [trace, scope_name, body, settings.if, settings.output].some((each) => each !== undefined);
  const isSimple = [timestamp, severity].every((each) => each === undefined || each.attribute !== undefined);
  const isUsual = parse_from.root === "body" && parse_from.isRoot && parse_to.root === "attributes" && parse_to.isRoot;
  return isUsual && isSimple && !hasMore && !parse_ints;
}

/** Throws if the text is neither a JSON object nor null, which has no members. The error does not quote the text, because it may contain anything. */
export function parseJsonMap(text: string, parsesInts = false): LogMap {
  let parsed: LogValue;
  try {
    parsed = parsesInts ? parseJsonWithInts(text) : (parseJson(text) as LogValue);
  } catch {
    throw new Error("the text is not JSON");
  }
  if (parsed === null) return newLogMap();
  if (!isLogMap(parsed)) throw new Error("the JSON is not an object");
  return parsed;
}

/** Parses a list in JSON into a list, or with a header into a map. Its objects become texts. */
export class JsonArrayParser extends ParserOperator {
  private readonly header: readonly string[] | undefined;

  constructor(settings: ParserSettings & { header: string }, context: OperatorContext) {
    super(settings, context);
    this.header = settings.header === "" ? undefined : settings.header.split(",");
  }

  protected parse(value: LogValue): LogMap | LogValue[] {
    const items = parseJsonList(textOf(value, "json_array_parser"));
    const { header } = this;
    if (header === undefined) return items;
    if (items.length !== header.length)
      throw new Error(`the list has ${items.length} items, and the header ${header.length}`);
    const map = newLogMap();
    for (const [index, name] of header.entries()) setValue(map, name, items[index]!);
    return map;
  }

  /** The names may be long too. */
  protected override boundOfParsed(_from: LogValue, parsed: LogValue): number {
    return boundOf(parsed);
  }
}

/** The items of a list; none for other JSON. */
function parseJsonList(text: string): LogValue[] {
  let plain: unknown;
  try {
    plain = parseJson(text);
  } catch {
    throw new Error("the text is not JSON");
  }
  if (!Array.isArray(plain)) return [];
  return (parseJsonWithInts(text) as LogValue[]).map((item, index) => {
    if (Array.isArray(item)) throw new Error("the list has a list in it");
    return isLogMap(item) ? JSON.stringify(plain[index]) : item;
  });
}

export class RegexParser extends ParserOperator {
  private readonly pattern: Pattern;

  constructor(settings: ParserSettings & { regex: string }, context: OperatorContext) {
    super(settings, context);
    this.pattern = compilePattern(settings.regex);
  }

  protected parse(value: LogValue): LogMap {
    return matchGroups(this.pattern, textOf(value, "regex_parser"));
  }

  /** Groups may contain each other. */
  protected override boundOfParsed(from: LogValue, parsed: LogValue): number {
    return super.boundOfParsed(from, parsed) * this.pattern.groupNames.length;
  }
}

/** The named groups; a group that did not take part is empty, as in Go. */
export function matchGroups(pattern: Pattern, text: string): LogMap {
  const found = pattern.groupList(text);
  if (found === undefined) throw new Error("the pattern does not match");
  const groups = newLogMap();
  const { groupNames } = pattern;
  for (let i = 0; i < groupNames.length; i++) groups[groupNames[i]!] = found[i] ?? "";
  return groups;
}

interface CsvSettings extends ParserSettings {
  readonly header: string;
  readonly header_delimiter: string;
  readonly header_attribute: string;
  readonly delimiter: string;
  readonly lazy_quotes: boolean;
  readonly ignore_quotes: boolean;
}

export class CsvParser extends ParserOperator {
  private readonly csv: CsvSettings;
  private readonly header: readonly string[];

  constructor(settings: CsvSettings, context: OperatorContext) {
    super(settings, context);
    this.csv = settings;
    this.header = this.split(settings.header);
  }

  protected parse(value: LogValue, entry: LogEntry): LogMap {
    const { delimiter, lazy_quotes, ignore_quotes, header_attribute } = this.csv;
    const mode = ignore_quotes ? "ignoreQuotes" : lazy_quotes ? "lazyQuotes" : "strict";
    const fields = parseCsvRow(textOf(value, "csv_parser"), delimiter, mode);
    const header = header_attribute === "" ? this.header : this.headerOf(entry);
    if (fields.length !== header.length)
      throw new Error(`the row has ${fields.length} fields, and the header ${header.length}`);
    const row = newLogMap();
    for (const [index, name] of header.entries()) row[name] = fields[index]!;
    return row;
  }

  /** The names may be long too. */
  protected override boundOfParsed(_from: LogValue, parsed: LogValue): number {
    return boundOf(parsed);
  }

  private headerOf({ attributes }: LogEntry): readonly string[] {
    const header = attributes[this.csv.header_attribute];
    if (typeof header !== "string") throw new Error(`there is no header in attributes.${this.csv.header_attribute}`);
    return this.split(header);
  }

  private split(header: string): string[] {
    return header.split(this.csv.header_delimiter || this.csv.delimiter);
  }
}

export class KeyValueParser extends ParserOperator {
  private readonly delimiter: string;
  private readonly pairDelimiter: string;

  constructor(settings: ParserSettings & { delimiter: string; pair_delimiter: string }, context: OperatorContext) {
    super(settings, context);
    this.delimiter = settings.delimiter;
    this.pairDelimiter = settings.pair_delimiter || " ";
  }

  protected parse(value: LogValue): LogMap {
    const pairs = newLogMap();
    for (const [key, text] of parseKeyValue(textOf(value, "key_value_parser"), this.delimiter, this.pairDelimiter))
      pairs[key] = text as string;
    return pairs;
  }
}

/** Reads time, severity, ids or scope name of an entry from one of its fields. */
export class ReadingOperator extends LogOperator {
  private readonly read: (entry: LogEntry) => void;

  constructor(settings: OperatorSettings, context: OperatorContext, read: (entry: LogEntry) => void) {
    super(settings, context);
    this.read = read;
  }

  protected apply(entry: LogEntry): boolean {
    this.read(entry);
    return true;
  }
}

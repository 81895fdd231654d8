import { NameCache } from "#otlp/signals";
import { parseCsvRow, parseKeyValue } from "#text";
import { MAX_JSON_DEPTH, ONLY_DEPTH, parseJson } from "#text/json";
import { compareText } from "../values/compare.js";
import { plainText } from "../values/conversions.js";
import { isValueError, OttlError } from "../values/error.js";
import { joinTexts, MAX_CHARACTERS } from "../values/limits.js";
import type { OttlMap, OttlValue } from "../values/value.js";
import { type CallArguments, type FunctionSpec, parameters } from "./function-spec.js";
import { grokPattern, parseDefinition } from "./text/grok.js";
import { parseCef, parseClf, parseElf, parseLeef } from "./text/log-formats.js";
import { parseUrl } from "./text/parse-url.js";
import { PATTERN_CACHE_LIMITS } from "./text/pattern.js";
import { parseUserAgent } from "./text/user-agent.js";

/** Converters that parse text. */

function extractPatterns(args: CallArguments) {
  const target = args.text("target");
  const pattern = args.pattern("pattern");
  return (ctx: Parameters<typeof target>[0]): OttlValue => {
    const compiled = pattern(ctx);
    if (compiled.groupNames.length === 0)
      throw new OttlError("the pattern has no named group, such as (?P<user>\\\\w+)");
    const groups = compiled.groupList(target(ctx));
    const map: OttlMap = new Map();
    if (groups !== undefined) for (const [i, name] of compiled.groupNames.entries()) map.set(name, groups[i] ?? "");
    return map;
  };
}

function grokDefinitions(args: CallArguments): readonly string[] {
  const definitions = args.literalTexts("pattern_definitions");
  try {
    definitions.forEach(parseDefinition);
    return definitions;
  } catch (error) {
    if (isValueError(error)) args.reject("pattern_definitions", error.message);
    throw error;
  }
}

function singleCharacter(args: CallArguments, name: string, otherwise: string): string {
  const text = args.literalText(name, otherwise);
  if ([...text].length !== 1) args.reject(name, "a delimiter is a single character");
  return text;
}

function logFormatConverter(
  name: string,
  summary: string,
  example: string,
  parse: (text: string) => OttlMap,
): FunctionSpec {
  return {
    name,
    parameters: parameters("target: string"),
    returns: "map",
    summary,
    example,
    compile(args) {
      const target = args.text("target");
      return (ctx) => parse(target(ctx));
    },
  };
}

/** A key or value with its quotes escaped, and in quotes if it contains one of the delimiters. */
function quotedPart(text: string, delimiter: string, pairDelimiter: string): string {
  const escaped = text.replaceAll('"', '\\"');
  return escaped.includes(pairDelimiter) || escaped.includes(delimiter) ? `"${escaped}"` : escaped;
}

function checkDelimiters(args: CallArguments, delimiter: string, pairDelimiter: string): void {
  if (delimiter === "") args.reject("delimiter", "the delimiter cannot be empty");
  if (pairDelimiter === "") args.reject("pair_delimiter", "the delimiter cannot be empty");
  if (delimiter === pairDelimiter) args.reject("pair_delimiter", "the two delimiters cannot be the same");
}

const MODES = ["strict", "lazyQuotes", "ignoreQuotes"] as const;

export const PARSE_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "ParseJSON",
    parameters: parameters("target: string"),
    returns: "map or list",
    summary: "Parses JSON into a map or list. All numbers are doubles.",
    example: 'ParseJSON(body)["user"]["id"]',
    compile(args) {
      const target = args.text("target");
      return (ctx) => jsonValue(target(ctx));
    },
  },
  {
    name: "ParseKeyValue",
    parameters: parameters("target: string", "delimiter?: STRING", "pair_delimiter?: STRING"),
    returns: "map",
    summary:
      'Parses a text of pairs into a map. Default separators: "=" between key and value, a space between pairs. Quoted parts are kept together.',
    example: 'ParseKeyValue("k1=v1 k2=v2")',
    compile(args) {
      const target = args.text("target");
      const delimiter = args.literalText("delimiter", "=");
      const pairDelimiter = args.literalText("pair_delimiter", " ");
      checkDelimiters(args, delimiter, pairDelimiter);
      return (ctx) => parseKeyValue(target(ctx), delimiter, pairDelimiter);
    },
  },
  {
    name: "ToKeyValueString",
    parameters: parameters("target: map", "delimiter?: STRING", "pair_delimiter?: STRING", "sort_output?: BOOL"),
    returns: "string",
    summary:
      'Writes a map as a text of pairs, the reverse of ParseKeyValue. Default separators: "=" between key and value, a space between pairs. With `sort_output` the keys are sorted.',
    example: 'ToKeyValueString(attributes, "=", " ", true)',
    compile(args) {
      const target = args.map("target");
      const delimiter = args.literalText("delimiter", "=");
      const pairDelimiter = args.literalText("pair_delimiter", " ");
      const sorted = args.literalBool("sort_output", false);
      checkDelimiters(args, delimiter, pairDelimiter);
      return (ctx) => {
        const entries = [...target(ctx)];
        if (sorted) entries.sort(([a], [b]) => compareText(a, b));
        const quoted = (text: string) => quotedPart(text, delimiter, pairDelimiter);
        const pairs = entries.map(([key, value]) => quoted(key) + delimiter + quoted(plainText(value)));
        return joinTexts(pairs, pairDelimiter);
      };
    },
  },
  logFormatConverter(
    "ParseCEF",
    "The fields of a message in the Common Event Format: cef.version, cef.device_vendor and so on, and cef.extensions.",
    'merge_maps(attributes, ParseCEF(body), "upsert")',
    parseCef,
  ),
  logFormatConverter(
    "ParseLEEF",
    "The fields of a message in the Log Event Extended Format (1.0 or 2.0): leef.vendor and so on, and leef.attributes.",
    'merge_maps(attributes, ParseLEEF(body), "upsert")',
    parseLeef,
  ),
  logFormatConverter(
    "ParseELF",
    "The contents of a text in W3C's Extended Log Format: elf.version and the other directives, elf.fields, and elf.entries with a map for each line.",
    'ParseELF(body)["elf.entries"]',
    parseElf,
  ),
  {
    name: "ParseCLF",
    parameters: parameters("target: string", "format?: STRING"),
    returns: "map",
    summary:
      'The fields of a line in the Common Log Format of web servers: clf.remote_host, clf.request, clf.status and so on. The format is "clf" or "combined".',
    example: 'merge_maps(attributes, ParseCLF(body, "combined"), "upsert")',
    compile(args) {
      const target = args.text("target");
      const format = args.literalText("format", "clf");
      if (format !== "clf" && format !== "combined") args.reject("format", 'the format is "clf" or "combined"');
      return (ctx) => parseClf(target(ctx), format as "clf" | "combined");
    },
  },
  {
    name: "ParseCSV",
    parameters: parameters(
      "target: string",
      "header: string",
      "delimiter?: STRING",
      "header_delimiter?: STRING",
      "mode?: STRING",
    ),
    returns: "map",
    summary: `The fields of a row of CSV under the names in \`header\`. The mode is one of ${MODES.join(", ")}.`,
    example: 'ParseCSV(body, "time,level,message")',
    compile(args) {
      const target = args.text("target");
      const header = args.text("header");
      const delimiter = singleCharacter(args, "delimiter", ",");
      const headerDelimiter = singleCharacter(args, "header_delimiter", delimiter);
      const mode = args.literalText("mode", "strict");
      if (!MODES.some((known) => known === mode)) args.reject("mode", `the mode is one of ${MODES.join(", ")}`);
      return (ctx) => {
        const names = header(ctx).split(headerDelimiter);
        if (names.length === 1 && names[0] === "") throw new OttlError("ParseCSV: the header is empty");
        const row = parseCsvRow(target(ctx), delimiter, mode as (typeof MODES)[number]);
        if (row.length !== names.length)
          throw new OttlError(`ParseCSV: the row has ${row.length} fields, the header ${names.length}`);
        return new Map(names.map((name, i) => [name, row[i]!]));
      };
    },
  },
  {
    name: "ExtractPatterns",
    parameters: parameters("target: string", "pattern: pattern"),
    returns: "map",
    summary: "The named groups of a pattern's match in a text; an empty map if it does not match.",
    example: 'ExtractPatterns(body, "user=(?P<user>\\\\w+)")',
    compile: extractPatterns,
  },
  {
    name: "ExtractGrokPatterns",
    parameters: parameters(
      "target: string",
      "pattern: string",
      "named_captures_only?: BOOL",
      "pattern_definitions?: STRING[]",
    ),
    returns: "map",
    summary:
      "The captures of a grok pattern (%{NUMBER:status:int}) in a text; an empty map if it does not match. Unless only named captures are wanted, unnamed captures are stored under the name of their pattern.",
    example: 'ExtractGrokPatterns(body, "%{IP:client} %{WORD:method} %{NUMBER:status:int}", true)',
    compile(args) {
      const target = args.text("target");
      const namedOnly = args.literalBool("named_captures_only", false);
      const definitions = grokDefinitions(args);
      if (typeof args.constant("pattern") !== "string") {
        const pattern = args.text("pattern");
        const compiled = new NameCache((text) => grokPattern(text, namedOnly, definitions), PATTERN_CACHE_LIMITS);
        return (ctx) => compiled.get(pattern(ctx))(target(ctx));
      }
      try {
        const extract = grokPattern(args.literalText("pattern"), namedOnly, definitions);
        return (ctx) => extract(target(ctx));
      } catch (error) {
        if (isValueError(error)) args.reject("pattern", error.message);
        throw error;
      }
    },
  },
  {
    name: "URL",
    parameters: parameters("uri: string"),
    returns: "map",
    summary:
      "The parts of a URL under the names of the semantic conventions: url.scheme, url.domain, url.path and so on.",
    example: 'merge_maps(attributes, URL(attributes["url.full"]), "insert")',
    compile(args) {
      const uri = args.text("uri");
      return (ctx) => parseUrl(uri(ctx));
    },
  },
  {
    name: "UserAgent",
    parameters: parameters("user_agent: string"),
    returns: "map",
    summary:
      "The name and version in a User-Agent header: user_agent.name, user_agent.version, user_agent.original, os.name and os.version where they are known.",
    example: 'merge_maps(attributes, UserAgent(attributes["user_agent.original"]), "insert")',
    compile(args) {
      const agent = args.text("user_agent");
      return (ctx) => parseUserAgent(agent(ctx));
    },
  },
];

/** JSON as values of the language; every number is a double. */
function jsonValue(text: string): OttlValue {
  if (text.length > MAX_CHARACTERS) throw new OttlError(`the JSON is longer than ${MAX_CHARACTERS} characters`);
  let parsed: unknown;
  try {
    parsed = parseJson(text, ONLY_DEPTH);
  } catch (error) {
    throw new OttlError(`not valid JSON: ${error instanceof Error ? error.message.slice(0, 120) : ""}`);
  }
  if (typeof parsed !== "object" || parsed === null) throw new OttlError("ParseJSON needs an object or a list");
  return jsonToValue(parsed, MAX_JSON_DEPTH);
}

function jsonToValue(value: unknown, depth: number): OttlValue {
  if (depth === 0) throw new OttlError(`the JSON is nested more than ${MAX_JSON_DEPTH} deep`);
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new OttlError("a number in the JSON does not fit a double");
  if (typeof value !== "object" || value === null) return value as OttlValue;
  if (Array.isArray(value)) return value.map((item) => jsonToValue(item, depth - 1));
  const map: OttlMap = new Map();
  for (const [key, item] of Object.entries(value)) map.set(key, jsonToValue(item, depth - 1));
  return map;
}

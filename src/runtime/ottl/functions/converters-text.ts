import { toText } from "../values/conversions.js";
import { OttlError } from "../values/error.js";
import { joinTexts, MAX_ITEMS, tooManyItems } from "../values/limits.js";
import type { OttlValue } from "../values/value.js";
import { type FunctionSpec, type Parameter, parameters } from "./function-spec.js";
import { sprintf } from "./text/sprintf.js";
import { camelCase, lowerCase, snakeCase, upperCase } from "./text/text-case.js";

/** Converters of text. Positions and lengths are in bytes of UTF-8, as everywhere in OTLP. */

function textConverter(
  name: string,
  summary: string,
  example: string,
  convert: (text: string) => OttlValue,
  returns = "string",
): FunctionSpec {
  return {
    name,
    parameters: parameters("target: string"),
    returns,
    summary,
    example,
    compile(args) {
      const target = args.text("target");
      return (ctx) => convert(target(ctx));
    },
  };
}

/** A converter of two texts. */
function twoTextConverter(
  name: string,
  second: string,
  returns: string,
  summary: string,
  example: string,
  convert: (text: string, other: string) => OttlValue,
  first = "target",
): FunctionSpec {
  const list: Parameter[] = parameters(`${first}: string`, `${second}: string`);
  return {
    name,
    parameters: list,
    returns,
    summary,
    example,
    compile(args) {
      const target = args.text(first);
      const other = args.text(second);
      return (ctx) => convert(target(ctx), other(ctx));
    },
  };
}

const CASES: Readonly<Record<string, (text: string) => string>> = {
  lower: lowerCase,
  upper: upperCase,
  snake: snakeCase,
  camel: camelCase,
};

function substring(text: string, start: bigint, length: bigint, utf8Safe: boolean): string {
  if (start < 0n) throw new OttlError(`Substring: the start cannot be negative, got ${start}`);
  if (length <= 0n) throw new OttlError(`Substring: the length must be above 0, got ${length}`);
  const bytes = Buffer.from(text);
  if (start + length > BigInt(bytes.length))
    throw new OttlError(`Substring: ${start} and ${length} go past the end of a text of ${bytes.length} bytes`);
  let from = Number(start);
  let to = Number(start + length);
  if (utf8Safe) {
    while (from < bytes.length && isContinuationByte(bytes[from]!)) from++;
    while (from < to && to < bytes.length && isContinuationByte(bytes[to]!)) to--;
  }
  return bytes.toString("utf8", from, Math.max(from, to));
}

function isContinuationByte(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Removes the characters in `cutset` from both ends. */
function trim(text: string, cutset: string): string {
  const characters = [...text];
  const cut = new Set(cutset);
  let from = 0;
  let to = characters.length;
  while (from < to && cut.has(characters[from]!)) from++;
  while (to > from && cut.has(characters[to - 1]!)) to--;
  return characters.slice(from, to).join("");
}

export const TEXT_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "Concat",
    parameters: parameters("vals: any[]", "delimiter: string"),
    returns: "string",
    summary: "The values as text, joined with the delimiter. Nil is written as <nil>.",
    example: 'Concat([attributes["http.method"], attributes["http.route"]], " ")',
    compile(args) {
      const values = args.items("vals");
      const delimiter = args.text("delimiter");
      return (ctx) =>
        joinTexts(
          values.map((get) => toText(get(ctx)) ?? "<nil>"),
          delimiter(ctx),
        );
    },
  },
  twoTextConverter(
    "Split",
    "delimiter",
    "list",
    "The parts of a text between the delimiters.",
    'Split("a,b", ",")',
    (text, delimiter) => {
      if (delimiter === "" && text.length > MAX_ITEMS) throw tooManyItems();
      const parts = delimiter === "" ? [...text] : text.split(delimiter, MAX_ITEMS + 1);
      if (parts.length > MAX_ITEMS) throw tooManyItems();
      return parts;
    },
  ),
  {
    name: "Substring",
    parameters: parameters("target: string", "start: int", "length: int", "utf8_safe?: BOOL"),
    returns: "string",
    summary: "A part of a text, in bytes; with `utf8_safe` no character is split. A range past the end is an error.",
    example: "Substring(body, 0, 10)",
    compile(args) {
      const target = args.text("target");
      const start = args.int("start");
      const length = args.int("length");
      const keepsCharacters = args.literalBool("utf8_safe", false);
      return (ctx) => substring(target(ctx), start(ctx), length(ctx), keepsCharacters);
    },
  },
  {
    name: "Trim",
    parameters: parameters("target: string", "replacement?: STRING"),
    returns: "string",
    summary: "The text without these characters at its ends. Default: spaces.",
    example: 'Trim("  text ")',
    compile(args) {
      const target = args.text("target");
      const cutset = args.literalText("replacement", " ");
      return (ctx) => trim(target(ctx), cutset);
    },
  },
  twoTextConverter(
    "TrimPrefix",
    "prefix",
    "string",
    "The text without this prefix, if it has it.",
    'TrimPrefix(name, "GET ")',
    (text, prefix) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
  ),
  twoTextConverter(
    "TrimSuffix",
    "suffix",
    "string",
    "The text without this suffix, if it has it.",
    'TrimSuffix(name, "_total")',
    (text, suffix) => (suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text),
  ),
  twoTextConverter(
    "HasPrefix",
    "prefix",
    "bool",
    "Whether the text has this prefix.",
    'HasPrefix(body, "GET ")',
    (text, prefix) => text.startsWith(prefix),
  ),
  twoTextConverter(
    "HasSuffix",
    "suffix",
    "bool",
    "Whether the text has this suffix.",
    'HasSuffix(name, "_total")',
    (text, suffix) => text.endsWith(suffix),
  ),
  textConverter("ToLowerCase", "The text in lower case.", "ToLowerCase(severity_text)", lowerCase),
  textConverter("ToUpperCase", "The text in upper case.", "ToUpperCase(severity_text)", upperCase),
  textConverter("ToSnakeCase", "The text in snake_case.", "ToSnakeCase(name)", snakeCase),
  textConverter("ToCamelCase", "The text in CamelCase.", "ToCamelCase(name)", camelCase),
  {
    name: "ConvertCase",
    parameters: parameters("target: string", "to_case: STRING"),
    returns: "string",
    summary: 'The text in another case: "lower", "upper", "snake" or "camel".',
    example: 'ConvertCase(name, "lower")',
    compile(args) {
      const target = args.text("target");
      const name = args.literalText("to_case");
      if (!Object.hasOwn(CASES, name)) args.reject("to_case", 'the case is "lower", "upper", "snake" or "camel"');
      const convert = CASES[name]!;
      return (ctx) => convert(target(ctx));
    },
  },
  {
    name: "IsMatch",
    parameters: parameters("target: any", "pattern: pattern"),
    returns: "bool",
    summary: "Whether the pattern matches somewhere in the value as text. False for nil.",
    example: 'IsMatch(body, "^(GET|POST) ")',
    compile(args) {
      const target = args.any("target");
      const pattern = args.pattern("pattern");
      const mayMatch = args.mayMatch("target", "pattern");
      return (ctx) => {
        if (mayMatch?.(ctx, pattern(ctx)) === false) return false;
        const text = toText(target(ctx));
        return text !== null && pattern(ctx).test(text);
      };
    },
  },
  {
    name: "Format",
    parameters: parameters("format: string", "vals: any[]"),
    returns: "string",
    summary:
      "The values put into a format of Go's Sprintf: %s, %d, %v, %q, %x, %t, %f, %e, %g, %c, %b, %o, with flags, width and precision.",
    example: 'Format("%04d-%02d", [Year(Now()), Month(Now())])',
    compile(args) {
      const format = args.text("format");
      const values = args.items("vals");
      return (ctx) =>
        sprintf(
          format(ctx),
          values.map((get) => get(ctx)),
        );
    },
  },
];

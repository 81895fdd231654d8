import { toText } from "../values/conversions.js";
import { OttlError } from "../values/error.js";
import { isMap, type OttlMap, type OttlValue, typeName } from "../values/value.js";
import { type FunctionSpec, parameters } from "./function-spec.js";

/** Converters of numbers in text and of severities. */

const MAX_DIGITS = 100;
const PREFIXES: Readonly<Record<string, number>> = { "0x": 16, "0o": 8, "0b": 2 };

/**
 * Parses an integer as Go does: base 0 takes the base from the text, which may then have underscores between digits.
 */
function parseInteger(text: string, base: bigint): bigint {
  const fail = (why: string): never => {
    throw new OttlError(`ParseInt: ${JSON.stringify(text.slice(0, 40))} ${why}`);
  };
  if (text === "" || text.length > MAX_DIGITS) return fail("is not an integer");
  if (base < 0n || base === 1n || base > 36n) throw new OttlError(`ParseInt: no such base: ${base}`);
  const negative = text.startsWith("-");
  let digits = /^[+-]/.test(text) ? text.slice(1) : text;
  let radix = Number(base);
  if (radix === 0) {
    const prefixed = PREFIXES[digits.slice(0, 2).toLowerCase()];
    radix = prefixed ?? (/^0[\d_]/.test(digits) ? 8 : 10);
    if (prefixed !== undefined) digits = digits.slice(2).replace(/^_/, "");
    else if (radix === 8) digits = digits.slice(1).replace(/^_/, "");
    if (/__|^_|_$/.test(digits)) fail("has an underscore that is not between digits");
    digits = digits.replaceAll("_", "");
  }
  if (digits === "") fail("is not an integer");
  let value = 0n;
  for (const c of digits.toLowerCase()) {
    const digit = "0123456789abcdefghijklmnopqrstuvwxyz".indexOf(c);
    if (digit < 0 || digit >= radix) fail(`is not an integer in base ${radix}`);
    value = value * BigInt(radix) + BigInt(digit);
  }
  if (value > 2n ** 63n - (negative ? 0n : 1n)) fail("does not fit 64 bits");
  return negative ? -value : value;
}

/** Whether the last digit is the check digit of the others. */
function isValidLuhn(value: OttlValue): boolean {
  const text = toText(value);
  if (text === null) throw new OttlError("IsValidLuhn needs a value, got nil");
  const digits = text.replaceAll(" ", "");
  if (/\D/.test(digits))
    throw new OttlError(`IsValidLuhn: ${JSON.stringify(text.slice(0, 4))}... has more than digits`);
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return digits !== "" && sum % 10 === 0;
}

interface Criterion {
  readonly equals: readonly string[];
  readonly min: bigint;
  readonly max: bigint;
}

const HTTP_RANGES: Readonly<Record<string, bigint>> = { "2xx": 200n, "3xx": 300n, "4xx": 400n, "5xx": 500n };

function criterionOf(value: OttlValue): Criterion {
  if (!isMap(value)) throw new OttlError("each of a severity's criteria is a map with equals or range");
  const equals = value.get("equals") ?? [];
  if (!Array.isArray(equals) || !equals.every((item) => typeof item === "string"))
    throw new OttlError("equals is a list of strings");
  return { equals: equals as string[], ...rangeOf(value.get("range")) };
}

function rangeOf(range: OttlValue | undefined): { min: bigint; max: bigint } {
  if (range === undefined) return { min: 1n, max: 0n };
  if (typeof range === "string" && Object.hasOwn(HTTP_RANGES, range))
    return { min: HTTP_RANGES[range]!, max: HTTP_RANGES[range]! + 99n };
  if (isMap(range)) {
    const [min, max] = [range.get("min"), range.get("max")];
    if (typeof min === "bigint" && typeof max === "bigint") return { min, max };
  }
  throw new OttlError(`a range is {"min": 1, "max": 9} or one of ${Object.keys(HTTP_RANGES).join(", ")}`);
}

function severityMapping(mapping: OttlMap): [level: string, criteria: Criterion[]][] {
  return [...mapping].map(([level, criteria]) => {
    if (!Array.isArray(criteria)) throw new OttlError(`the criteria of ${level} must be a list`);
    return [level, criteria.map(criterionOf)];
  });
}

function severityOf(value: OttlValue, mapping: ReturnType<typeof severityMapping>): string {
  if (typeof value !== "string" && typeof value !== "bigint")
    throw new OttlError(`ParseSeverity needs a string or an int, got ${typeName(value)}`);
  for (const [level, criteria] of mapping) {
    for (const { equals, min, max } of criteria)
      if (typeof value === "string" ? equals.includes(value) : value >= min && value <= max) return level;
  }
  throw new OttlError(`ParseSeverity: nothing fits ${JSON.stringify(String(value).slice(0, 40))}`);
}

export const NUMBER_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "ParseInt",
    parameters: parameters("target: string", "base: int"),
    returns: "int",
    summary: "Parses an integer in a base from 2 to 36. With base 0 the prefix decides: 0x, 0o, 0b or 0.",
    example: 'ParseInt("ff", 16)',
    compile(args) {
      const target = args.text("target");
      const base = args.int("base");
      return (ctx) => parseInteger(target(ctx), base(ctx));
    },
  },
  {
    name: "IsValidLuhn",
    parameters: parameters("target: any"),
    returns: "bool",
    summary: "Whether a number, such as that of a credit card, has the right check digit. Spaces in it do not count.",
    example: 'IsValidLuhn(attributes["card"])',
    compile(args) {
      const target = args.any("target");
      return (ctx) => isValidLuhn(target(ctx));
    },
  },
  {
    name: "ParseSeverity",
    parameters: parameters("target: any", "mapping: map"),
    returns: "string",
    summary:
      'The severity of a text or number: the first level of the mapping with a matching criterion. A criterion has `equals`, a list of texts, or `range`, which is a map with `min` and `max` or "2xx" to "5xx".',
    example: 'ParseSeverity(attributes["status"], {"error": [{"range": "5xx"}], "info": [{"equals": ["ok"]}]})',
    compile(args) {
      const target = args.any("target");
      const mapping = args.map("mapping");
      if (!args.isMapLiteral("mapping"))
        return () => {
          throw new OttlError('ParseSeverity: the mapping must be written out: {"error": [...]}');
        };
      let compiled: ReturnType<typeof severityMapping> | undefined;
      return (ctx) => {
        compiled ??= severityMapping(mapping(ctx));
        return severityOf(target(ctx), compiled);
      };
    },
  },
];

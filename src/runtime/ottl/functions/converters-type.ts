import { LENGTH_DELIMITED } from "#otlp/bytes";
import { rawMessages, readField } from "../paths/field-access.js";
import type { RecordContext } from "../paths/record-context.js";
import { lengthOf, toBool, toBytes, toDouble, toInt, toText } from "../values/conversions.js";
import { isOttlError, OttlError } from "../values/error.js";
import { OttlDuration, OttlId, type OttlMap, OttlMessages, OttlProfileId, type OttlValue } from "../values/value.js";
import { readOttlMap } from "../values/wire-value.js";
import { type FunctionSpec, parameters } from "./function-spec.js";

/** Converters between types, and type tests. */

const TARGET = parameters("target|value: any");

function valueConverter(
  name: string,
  returns: string,
  summary: string,
  example: string,
  convert: (value: OttlValue) => OttlValue,
): FunctionSpec {
  return {
    name,
    parameters: TARGET,
    returns,
    summary,
    example,
    compile(args) {
      const value = args.any("target");
      return (ctx) => convert(value(ctx));
    },
  };
}

function typeTest(name: string, what: string, test: (value: OttlValue) => boolean): FunctionSpec {
  return valueConverter(name, "bool", `Whether the value is ${what}.`, `${name}(attributes["key"])`, test);
}

/** The same, but a literal of another type is rejected: such a test would be pointless. */
function strictTypeTest(name: string, what: string, test: (value: OttlValue) => boolean): FunctionSpec {
  return triedOnLiterals(typeTest(name, what, test), (literal) => {
    if (!test(literal)) throw new OttlError(`this is never ${what}`);
  });
}

/** A conversion that may fail: a literal is converted at compile time. */
function conversion(
  name: string,
  returns: string,
  summary: string,
  example: string,
  convert: (value: OttlValue) => OttlValue,
): FunctionSpec {
  return triedOnLiterals(valueConverter(name, returns, summary, example, convert), convert);
}

/** Rejects a literal for which the function throws; for a map or list literal only the type counts. */
function triedOnLiterals(spec: FunctionSpec, attempt: (literal: OttlValue) => unknown): FunctionSpec {
  return {
    ...spec,
    compile(args) {
      const literal = args.isMapLiteral("target")
        ? new Map()
        : args.isListLiteral("target")
          ? []
          : args.constant("target");
      try {
        if (literal !== undefined) attempt(literal);
      } catch (error) {
        if (isOttlError(error)) args.reject("target", error.message);
        throw error;
      }
      return spec.compile(args);
    },
  };
}

function wholeNumber(value: OttlValue): bigint | null {
  const int = toInt(value);
  if (int !== null || value === null) return int;
  throw new OttlError(`${JSON.stringify(String(value).slice(0, 40))} is not an integer`);
}

function isEmpty(value: OttlValue): boolean {
  if (value === null || value === "" || value === 0n || value === 0 || value === false) return true;
  if (value instanceof Uint8Array)
    return value.length === 0 || (value instanceof OttlId && value.every((byte) => byte === 0));
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof Map) return value.size === 0;
  if (value instanceof OttlMessages) return value.items.length === 0;
  return value instanceof OttlDuration && value.nanos === 0n;
}

export const TYPE_CONVERTERS: readonly FunctionSpec[] = [
  valueConverter(
    "String",
    "string",
    "The value as text: bytes in hex, ids as lists of numbers, maps and lists as JSON. Nil stays nil.",
    'String(attributes["bytes"])',
    (value) => toText(value),
  ),
  conversion(
    "Int",
    "int",
    "The value as an integer: a double is truncated, text is parsed, true is 1. Fails if there is not an integer; nil stays nil.",
    'Int(attributes["http.status_code"])',
    wholeNumber,
  ),
  conversion(
    "Double",
    "double",
    "The value as a double. Fails if it is not a number; nil stays nil.",
    'Double("1.5")',
    toDouble,
  ),
  conversion(
    "Bool",
    "bool",
    "The value as a bool: numbers are true unless 0, text is parsed. Fails for other values; nil stays nil.",
    'Bool("true")',
    toBool,
  ),
  conversion("Hex", "string", "The bytes of the value in hex; a number has 8 bytes.", 'Hex("abc")', (value) =>
    Buffer.from(toBytes(value) ?? []).toString("hex"),
  ),
  valueConverter(
    "Len",
    "int",
    "The number of entries of a map, items of a list, or bytes of a text.",
    "Len(body)",
    (value) => BigInt(lengthOf(value)),
  ),
  triedOnLiterals(
    valueConverter("Log", "double", "The natural logarithm of a number.", 'Log(attributes["duration_ms"])', (value) => {
      const number = toDouble(value);
      if (number === null || !(number > 0)) throw new OttlError(`Log needs a number above 0, got ${number ?? "nil"}`);
      return Math.log(number);
    }),
    toDouble,
  ),
  strictTypeTest("IsString", "a string", (value) => typeof value === "string"),
  strictTypeTest("IsInt", "an integer", (value) => typeof value === "bigint"),
  strictTypeTest("IsDouble", "a double", (value) => typeof value === "number"),
  strictTypeTest("IsBool", "a bool", (value) => typeof value === "boolean"),
  strictTypeTest("IsMap", "a map", (value) => value instanceof Map),
  typeTest("IsList", "a list", (value) => Array.isArray(value) || value instanceof OttlMessages),
  typeTest("IsEmpty", "nil, zero, false, or without content", isEmpty),
  {
    name: "IsRootSpan",
    parameters: [],
    returns: "bool",
    summary: "Whether the span has no parent.",
    example: "IsRootSpan()",
    contexts: ["span", "spanevent"],
    compile: () => (ctx) => {
      const message = ctx.around.span.current();
      const field = message.type.byName.get("parentSpanId")!;
      const id = readField(message, field);
      return !(id instanceof Uint8Array && id.length === 8 && id.some((byte) => byte !== 0));
    },
  },
  {
    name: "Coalesce",
    parameters: parameters("values: any[]"),
    returns: "any",
    summary: "The first of the values that is not nil.",
    example: 'Coalesce([attributes["user.id"], attributes["enduser.id"], "unknown"])',
    compile(args) {
      const values = args.items("values");
      if (values.length === 0) args.reject("values", "at least one value is needed");
      return (ctx) => {
        for (const get of values) {
          const value = get(ctx);
          if (value !== null) return value;
        }
        return null;
      };
    },
  },
  {
    name: "HasAttrKeyOnDatapoint",
    parameters: parameters("key: string"),
    returns: "bool",
    summary: "Whether a data point of the metric has this attribute.",
    example: 'HasAttrKeyOnDatapoint("http.method")',
    contexts: ["metric"],
    compile(args) {
      const key = args.text("key");
      return (ctx) => attributesOfPoints(ctx).some((map) => map.has(key(ctx)));
    },
  },
  {
    name: "HasAttrOnDatapoint",
    parameters: parameters("key: string", "expected_val: string"),
    returns: "bool",
    summary:
      "Whether a data point of the metric has this attribute with this text; other values count as the empty text.",
    example: 'HasAttrOnDatapoint("http.method", "GET")',
    contexts: ["metric"],
    compile(args) {
      const key = args.text("key");
      const expected = args.text("expected_val");
      return (ctx) => {
        const [name, text] = [key(ctx), expected(ctx)];
        return attributesOfPoints(ctx).some((map) => {
          const value = map.get(name);
          return value !== undefined && textOf(value) === text;
        });
      };
    },
  },
  idConverter("TraceID", 16),
  idConverter("SpanID", 8),
  idConverter("ProfileID", 16),
];

function textOf(value: OttlValue): string {
  return typeof value === "string" ? value : "";
}

function attributesOfPoints(ctx: RecordContext): OttlMap[] {
  const data = ctx.around.metricData.current();
  const points = data.type.byNumber[1]!.message!;
  const tag = (points.byName.get("attributes")!.number << 3) | LENGTH_DELIMITED;
  return rawMessages(data, data.type.byNumber[1]!).map((bytes) => readOttlMap(bytes, 0, bytes.length, tag));
}

function idConverter(name: string, size: number): FunctionSpec {
  return {
    name,
    parameters: parameters("target|bytes: any"),
    returns: "id",
    summary: `An id of ${size} bytes from as many bytes or from ${size * 2} hex digits.`,
    example: `${name}(0x${"00".repeat(size)})`,
    compile(args) {
      if (args.isMapLiteral("target") || args.isListLiteral("target"))
        return args.reject("target", `${name} needs ${size} bytes or ${size * 2} hex digits`);
      const constant = args.constant("target");
      if (constant !== undefined) {
        const id = parseId(name, size, constant);
        if (typeof id === "string") return args.reject("target", id);
        return () => id;
      }
      const value = args.any("target");
      return (ctx) => {
        const id = parseId(name, size, value(ctx));
        if (typeof id === "string") throw new OttlError(id);
        return id;
      };
    },
  };
}

/** Text, bytes and numbers are read as bytes: the id itself, or its hex digits. */
function parseId(name: string, size: number, value: OttlValue): Uint8Array | string {
  const bytes = Buffer.from(toBytes(value) ?? []);
  const Id = name === "ProfileID" ? OttlProfileId : OttlId;
  if (bytes.length === size) return new Id(bytes);
  if (bytes.length !== size * 2)
    return `${name} needs ${size} bytes or ${size * 2} hex digits, got ${bytes.length} bytes`;
  const digits = bytes.toString("latin1");
  if (!/^[0-9a-fA-F]*$/.test(digits)) return `${name} needs ${size * 2} hex digits, got ${JSON.stringify(digits)}`;
  return new Id(Buffer.from(digits, "hex"));
}

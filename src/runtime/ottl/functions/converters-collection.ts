import { compare, compareText } from "../values/compare.js";
import { toText } from "../values/conversions.js";
import { OttlError } from "../values/error.js";
import { type OttlMap, type OttlValue, typeName } from "../values/value.js";
import { type FunctionSpec, parameters } from "./function-spec.js";

/** Converters of maps and lists. */

function indexOf(target: OttlValue, value: OttlValue): bigint {
  if (typeof target === "string") {
    if (typeof value !== "string") throw new OttlError(`Index in a string needs a string, got ${typeName(value)}`);
    return BigInt(Buffer.from(target).indexOf(value));
  }
  if (!Array.isArray(target)) throw new OttlError(`Index needs a string or list, got ${typeName(target)}`);
  return BigInt(target.findIndex((item) => compare(item, value, "==")));
}

function sortValues(list: readonly OttlValue[], descending: boolean): OttlValue[] {
  if (list.some((item) => typeof item === "object" && item !== null)) return [...list];
  const numeric = list.every((item) => typeof item === "bigint" || typeof item === "number");
  const order = numeric
    ? (a: OttlValue, b: OttlValue) => (compare(a, b, "<") ? -1 : compare(a, b, ">") ? 1 : 0)
    : (a: OttlValue, b: OttlValue) => compareText(toText(a) ?? "", toText(b) ?? "");
  return [...list].sort(descending ? (a, b) => order(b, a) : order);
}

function valueAtPath(value: OttlValue, path: readonly string[]): OttlValue | undefined {
  let current: OttlValue | undefined = value;
  for (const key of path) current = current instanceof Map ? current.get(key) : undefined;
  return current;
}

export const COLLECTION_CONVERTERS: readonly FunctionSpec[] = [
  {
    name: "Keys",
    parameters: parameters("target: map"),
    returns: "list",
    summary: "The keys of a map.",
    example: "Keys(resource.attributes)",
    compile(args) {
      const target = args.map("target");
      return (ctx) => [...target(ctx).keys()];
    },
  },
  {
    name: "Values",
    parameters: parameters("target: map"),
    returns: "list",
    summary: "The values of a map.",
    example: "Values(attributes)",
    compile(args) {
      const target = args.map("target");
      return (ctx) => [...target(ctx).values()];
    },
  },
  {
    name: "ContainsValue",
    parameters: parameters("target: list", "item: any"),
    returns: "bool",
    summary: "Whether the list has an item that equals this.",
    example: 'ContainsValue(attributes["tags"], "prod")',
    compile(args) {
      const target = args.list("target");
      const item = args.any("item");
      return (ctx) => {
        const expected = item(ctx);
        return target(ctx).some((value) => compare(value, expected, "=="));
      };
    },
  },
  {
    name: "Index",
    parameters: parameters("target: any", "value: any"),
    returns: "int",
    summary: "The first index of the value in a list, or of a text in a text (in bytes); -1 if it does not occur.",
    example: 'Index(body, "error")',
    compile(args) {
      const target = args.any("target");
      const value = args.any("value");
      return (ctx) => indexOf(target(ctx), value(ctx));
    },
  },
  {
    name: "Sort",
    parameters: parameters("target: any", "order?: STRING"),
    returns: "list",
    summary:
      'The items of a list in order, "asc" or "desc": numbers as numbers, everything mixed as text. A list with maps, lists or bytes in it stays as it is.',
    example: 'Sort(attributes["tags"], "desc")',
    compile(args) {
      const target = args.any("target");
      const order = args.literalText("order", "asc");
      if (order !== "asc" && order !== "desc") args.reject("order", 'the order is "asc" or "desc"');
      return (ctx) => {
        const list = target(ctx);
        if (!Array.isArray(list)) throw new OttlError(`Sort: expected list, got ${typeName(list)}`);
        return sortValues(list, order === "desc");
      };
    },
  },
  {
    name: "SliceToMap",
    parameters: parameters("target: list", "key_path?: STRING[]", "value_path?: STRING[]"),
    returns: "map",
    summary:
      "Converts a list of maps to one map: the key of each item is its value at `key_path` (default: its index), the value is its value at `value_path` (default: the whole item).",
    example: 'SliceToMap(attributes["things"], ["name"], ["value"])',
    compile(args) {
      const target = args.list("target");
      const keyPath = args.literalTexts("key_path");
      const valuePath = args.literalTexts("value_path");
      for (const [name, path] of [["key_path", keyPath] as const, ["value_path", valuePath] as const])
        if (args.has(name) && path.length === 0) args.reject(name, "expected at least one key");
      return (ctx) => {
        const map: OttlMap = new Map();
        target(ctx).forEach((item, i) => {
          const key = keyPath.length === 0 ? String(i) : valueAtPath(item, keyPath);
          const value = valueAtPath(item, valuePath);
          if (typeof key !== "string") throw new OttlError("SliceToMap: the key of an item is not a string");
          if (value === undefined) throw new OttlError("SliceToMap: an item has no such value");
          map.set(key, value);
        });
        return map;
      };
    },
  },
];

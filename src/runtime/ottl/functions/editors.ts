import { encodedKey } from "#otlp/bytes";
import { MatchingKeys } from "../paths/known-keys.js";
import type { Getter, PathAccess } from "../paths/path-access.js";
import type { RecordContext } from "../paths/record-context.js";
import { OttlError } from "../values/error.js";
import {
  isMap,
  OttlDuration,
  OttlId,
  type OttlMap,
  OttlMessages,
  OttlTime,
  type OttlValue,
  typeName,
} from "../values/value.js";
import { type CallArguments, type FunctionSpec, parameters } from "./function-spec.js";

/** Editors of values, lists and the keys of maps. */

/** Reads a map, changes a copy of it and sets the copy; if the copy is equal, nothing changes. */
export function editMap(
  args: CallArguments,
  change: (map: OttlMap, ctx: RecordContext) => OttlMap | undefined,
): Getter {
  const target = args.path("target");
  return (ctx) => {
    const current = target.get(ctx);
    if (!isMap(current)) throw new OttlError(`expected a map to edit, got ${typeName(current)}`);
    const map = new Map(current);
    target.set(ctx, change(map, ctx) ?? map);
    return null;
  };
}

function deleteKey(target: PathAccess, key: (ctx: RecordContext) => string): Getter {
  const { attributes } = target;
  if (attributes !== undefined) {
    return (ctx) => {
      const name = key(ctx);
      attributes(ctx).deleteAttribute(name, encodedKey(name));
      return null;
    };
  }
  return (ctx) => {
    const current = target.get(ctx);
    if (!isMap(current)) throw new OttlError(`delete_key: expected map, got ${typeName(current)}`);
    const map = new Map(current);
    if (map.delete(key(ctx))) target.set(ctx, map);
    return null;
  };
}

function keyPatternEditor(
  name: string,
  summary: string,
  example: string,
  stays: (matches: boolean) => boolean,
): FunctionSpec {
  return {
    name,
    parameters: parameters("target: map path", "pattern: pattern"),
    returns: "",
    summary,
    example,
    compile(args) {
      const pattern = args.pattern("pattern");
      const { attributes } = args.path("target");
      if (attributes !== undefined) {
        let deleted: MatchingKeys | undefined;
        return (ctx) => {
          const matching = pattern(ctx);
          if (deleted?.pattern !== matching) deleted = new MatchingKeys(matching, !stays(true));
          attributes(ctx).deleteMatching(deleted);
          return null;
        };
      }
      return editMap(args, (map, ctx) => {
        const matching = pattern(ctx);
        for (const key of [...map.keys()]) if (!stays(matching.test(key))) map.delete(key);
        return undefined;
      });
    },
  };
}

function asList(value: OttlValue): OttlValue[] {
  if (value === null) return [];
  return Array.isArray(value) ? [...value] : [value];
}

/** The zero value of the same type. */
function zeroOf(value: OttlValue): OttlValue {
  switch (typeof value) {
    case "string":
      return "";
    case "bigint":
      return 0n;
    case "number":
      return 0;
    case "boolean":
      return false;
  }
  if (value === null) return null;
  if (value instanceof Uint8Array) return value instanceof OttlId ? new OttlId(value.length) : new Uint8Array(0);
  if (value instanceof OttlTime) return new OttlTime(0n);
  if (value instanceof OttlDuration) return new OttlDuration(0n);
  if (value instanceof OttlMessages) return new OttlMessages(value.kind, []);
  return Array.isArray(value) ? [] : new Map();
}

export const EDITORS: readonly FunctionSpec[] = [
  {
    name: "set",
    parameters: parameters("target: path", "value: any"),
    returns: "",
    summary: "Sets the target to the value. Nothing happens when the value is nil.",
    example: 'set(attributes["env"], "prod")',
    compile(args) {
      const target = args.path("target");
      const value = args.any("value");
      return (ctx) => {
        const resolved = value(ctx);
        if (resolved !== null) target.set(ctx, resolved);
        return null;
      };
    },
  },
  {
    name: "clear",
    parameters: parameters("target: path"),
    returns: "",
    summary: "Sets the target to the empty value of its type: an empty text, map or list, 0 or false.",
    example: "clear(attributes)",
    compile(args) {
      const target = args.path("target");
      return (ctx) => {
        target.set(ctx, zeroOf(target.get(ctx)));
        return null;
      };
    },
  },
  {
    name: "delete_key",
    parameters: parameters("target: map path", "key: string"),
    returns: "",
    summary: "Removes one key from a map.",
    example: 'delete_key(attributes, "password")',
    compile: (args) => deleteKey(args.path("target"), args.text("key")),
  },
  keyPatternEditor(
    "delete_matching_keys",
    "Removes the keys of a map that match the pattern.",
    'delete_matching_keys(attributes, "(?i).*password.*")',
    (matches) => !matches,
  ),
  keyPatternEditor(
    "keep_matching_keys",
    "Removes the keys of a map that do not match the pattern.",
    'keep_matching_keys(attributes, "^http\\\\.")',
    (matches) => matches,
  ),
  {
    name: "keep_keys",
    parameters: parameters("target: map path", "keys: string[]"),
    returns: "",
    summary: "Removes all keys of a map except these.",
    example: 'keep_keys(attributes, ["http.route", "http.method"])',
    compile(args) {
      const keys = args.texts("keys");
      return editMap(args, (map, ctx) => {
        const keptKeys = new Set(keys.map((key) => key(ctx)));
        for (const key of [...map.keys()]) if (!keptKeys.has(key)) map.delete(key);
        return undefined;
      });
    },
  },
  {
    name: "limit",
    parameters: parameters("target: map path", "limit: INT", "priority_keys: STRING[]"),
    returns: "",
    summary: "Removes keys of a map until it has at most `limit`; the priority keys stay, then the first ones.",
    example: 'limit(attributes, 10, ["http.route"])',
    compile(args) {
      const limit = args.literalInt("limit");
      const priority = new Set(args.literalTexts("priority_keys"));
      if (limit < 0n) args.reject("limit", "a limit cannot be negative");
      if (limit < BigInt(priority.size)) args.reject("limit", "the limit is less than the number of priority keys");
      return editMap(args, (map) => {
        let room = Number(limit) - [...priority].filter((key) => map.has(key)).length;
        if (BigInt(map.size) <= limit) return undefined;
        for (const key of [...map.keys()]) if (!priority.has(key) && --room < 0) map.delete(key);
        return undefined;
      });
    },
  },
  {
    name: "merge_maps",
    parameters: parameters("target: map path", "source: map", "strategy: STRING"),
    returns: "",
    summary:
      'Merges a map into another: "insert" adds only missing keys, "update" changes only existing keys, "upsert" does both.',
    example: 'merge_maps(attributes, ParseJSON(body), "upsert")',
    compile(args) {
      const source = args.map("source");
      const strategy = args.literalText("strategy");
      if (!["insert", "update", "upsert"].includes(strategy))
        args.reject("strategy", 'the strategy is "insert", "update" or "upsert"');
      const isWanted = (exists: boolean) => strategy === "upsert" || exists === (strategy === "update");
      const { attributes } = args.path("target");
      if (attributes !== undefined) {
        return (ctx) => {
          const added = source(ctx);
          attributes(ctx).mergeAttributes(added, isWanted);
          return null;
        };
      }
      return editMap(args, (map, ctx) => {
        for (const [key, value] of source(ctx)) if (isWanted(map.has(key))) map.set(key, value);
        return undefined;
      });
    },
  },
  {
    name: "append",
    parameters: parameters("target: path", "value?: any", "values?: any[]"),
    returns: "",
    summary: "Appends to a list. A single value becomes a list first; nil becomes a new list.",
    example: 'append(attributes["tags"], "prod")',
    compile(args) {
      if (!args.has("value") && !args.has("values")) args.reject("value", "append needs value or values");
      const target = args.path("target");
      const added = [
        ...(args.has("value") ? [args.any("value")] : []),
        ...(args.has("values") ? args.items("values") : []),
      ];
      return (ctx) => {
        const list = asList(target.get(ctx));
        for (const get of added) list.push(get(ctx));
        target.set(ctx, list);
        return null;
      };
    },
  },
  {
    name: "delete_index",
    parameters: parameters("target: path", "start_index: int", "end_index?: int"),
    returns: "",
    summary: "Removes items from a list: one, or those from `start_index` up to `end_index`.",
    example: 'delete_index(attributes["tags"], 0)',
    compile(args) {
      const target = args.path("target");
      const start = args.int("start_index");
      const end = args.has("end_index") ? args.int("end_index") : undefined;
      return (ctx) => {
        const list = target.get(ctx);
        if (!Array.isArray(list)) throw new OttlError(`delete_index: expected list, got ${typeName(list)}`);
        const from = start(ctx);
        const to = end === undefined ? from + 1n : end(ctx);
        const length = BigInt(list.length);
        const all = from === 0n && to === length;
        if (!all && (from < 0n || from >= length || to < from || to > length))
          throw new OttlError(`index ${from} is out of bounds`);
        target.set(ctx, [...list.slice(0, Number(from)), ...list.slice(Number(to))]);
        return null;
      };
    },
  },
];

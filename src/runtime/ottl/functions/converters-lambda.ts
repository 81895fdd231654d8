import type { RecordContext } from "../paths/record-context.js";
import { OttlError } from "../values/error.js";
import { MAX_ITEMS, tooManyItems } from "../values/limits.js";
import { type OttlMap, type OttlValue, typeName } from "../values/value.js";
import { type CallArguments, type FunctionSpec, type Lambda, parameters } from "./function-spec.js";

/** Converters that call a lambda for every entry of a map (key and value) or item of a list (index and value). */

type SourceEntry = readonly [key: string | bigint, value: OttlValue];

/** The source is copied once, so a lambda cannot change it. */
function* entriesOf(source: OttlValue): Generator<SourceEntry> {
  if (source instanceof Map) yield* source;
  else if (Array.isArray(source)) for (let i = 0; i < source.length; i++) yield [BigInt(i), source[i]!];
  else throw new OttlError(`expected a map or list, got ${typeName(source)}`);
}

function isTrue(value: OttlValue): boolean {
  if (typeof value === "boolean") return value;
  throw new OttlError(`the lambda must give a bool, it gave ${typeName(value)}`);
}

/** The first entry for which the lambda returns the wanted result. */
function findEntry(source: OttlValue, test: Lambda, ctx: RecordContext, wanted: boolean): SourceEntry | undefined {
  for (const entry of entriesOf(source)) if (isTrue(test(ctx, ...entry)) === wanted) return entry;
  return undefined;
}

/** The lambda is called once per entry of the source, so nested lambdas could take forever. */
const MAX_CALLS = 100_000;

function budgeted(lambda: Lambda): Lambda {
  let record = -1;
  let calls = 0;
  return (ctx, ...values) => {
    if (ctx.recordSerial !== record) {
      record = ctx.recordSerial;
      calls = 0;
    }
    if (++calls > MAX_CALLS) throw new OttlError(`a lambda was called more than ${MAX_CALLS} times for one record`);
    return lambda(ctx, ...values);
  };
}

function predicateConverter(
  name: string,
  returns: string,
  summary: string,
  example: string,
  answer: (source: OttlValue, test: Lambda, ctx: RecordContext) => OttlValue,
): FunctionSpec {
  return {
    name,
    parameters: parameters("source: any", "predicate: lambda"),
    returns,
    summary,
    example,
    compile(args) {
      const source = args.any("source");
      const predicate = budgeted(args.lambda("predicate", 2));
      return (ctx) => answer(source(ctx), predicate, ctx);
    },
  };
}

function filterEntries(source: OttlValue, test: Lambda, ctx: RecordContext): OttlValue {
  const kept = [...entriesOf(source)].filter((entry) => isTrue(test(ctx, ...entry)));
  return source instanceof Map ? new Map(kept as [string, OttlValue][]) : kept.map(([, value]) => value);
}

function compileFind(args: CallArguments) {
  const source = args.any("source");
  const predicate = budgeted(args.lambda("predicate", 2));
  const mapper = args.has("mapper") ? args.lambda("mapper", 2) : undefined;
  return (ctx: RecordContext): OttlValue => {
    const found = findEntry(source(ctx), predicate, ctx, true);
    if (found === undefined) return null;
    return mapper === undefined ? found[1] : mapper(ctx, ...found);
  };
}

function compileMapEach(args: CallArguments) {
  const source = args.any("source");
  const mapper = budgeted(args.lambda("mapper", 2));
  return (ctx: RecordContext): OttlValue => {
    const from = source(ctx);
    const mapped = [...entriesOf(from)].map((entry) => [entry[0], mapper(ctx, ...entry)] as const);
    return from instanceof Map ? new Map(mapped as [string, OttlValue][]) : mapped.map(([, value]) => value);
  };
}

function compileMapKeys(args: CallArguments) {
  const source = args.map("source");
  const mapper = budgeted(args.lambda("key_mapper", 2));
  return (ctx: RecordContext): OttlValue => {
    const renamed: OttlMap = new Map();
    for (const [key, value] of source(ctx)) {
      const name = mapper(ctx, key, value);
      if (typeof name !== "string") throw new OttlError(`MapKeys: a key must be a string, got ${typeName(name)}`);
      renamed.set(name, value);
    }
    return renamed;
  };
}

function compileReduce(args: CallArguments) {
  const source = args.any("source");
  const seed = args.any("seed");
  const accumulator = budgeted(args.lambda("accumulator", 3));
  return (ctx: RecordContext): OttlValue => {
    const from = source(ctx);
    let result = seed(ctx);
    for (const entry of entriesOf(from)) {
      result = accumulator(ctx, result, ...entry);
      if (Array.isArray(result) && result.length > MAX_ITEMS) throw tooManyItems();
    }
    return result;
  };
}

export const LAMBDA_CONVERTERS: readonly FunctionSpec[] = [
  predicateConverter(
    "All",
    "bool",
    "Whether the lambda is true for every entry of a map or item of a list. True for an empty one.",
    'All(attributes["ports"], (_, port) => port > 1024)',
    (source, test, ctx) => findEntry(source, test, ctx, false) === undefined,
  ),
  predicateConverter(
    "Any",
    "bool",
    "Whether the lambda is true for any entry of a map or item of a list.",
    'Any(attributes, (key, _) => IsMatch(key, "^http"))',
    (source, test, ctx) => findEntry(source, test, ctx, true) !== undefined,
  ),
  predicateConverter(
    "Filter",
    "map or list",
    "The map or list with only those entries for which the lambda is true.",
    'Filter(attributes, (key, _) => not HasPrefix(key, "internal."))',
    filterEntries,
  ),
  {
    name: "Find",
    parameters: parameters("source: any", "predicate: lambda", "mapper?: lambda"),
    returns: "any",
    summary:
      "The value of the first entry for which the lambda is true, or the mapper's result for its key and value. Nil if there is none.",
    example: 'Find(attributes["tags"], (_, tag) => HasPrefix(tag, "env:"))',
    compile: compileFind,
  },
  {
    name: "MapEach",
    parameters: parameters("source: any", "mapper: lambda"),
    returns: "map or list",
    summary: "The map or list with each value replaced by the lambda's result for its key (or index) and value.",
    example: 'MapEach(attributes["tags"], (_, tag) => ToLowerCase(tag))',
    compile: compileMapEach,
  },
  {
    name: "MapKeys",
    parameters: parameters("source: map", "key_mapper: lambda"),
    returns: "map",
    summary:
      "The map with each key replaced by the lambda's result for its key and value. If keys become equal, the last value counts.",
    example: 'MapKeys(attributes, (key, _) => Concat(["app", key], "."))',
    compile: compileMapKeys,
  },
  {
    name: "Reduce",
    parameters: parameters("source: any", "seed: any", "accumulator: lambda"),
    returns: "any",
    summary:
      "Reduces a map or list to one value: the lambda gets its previous result (the seed at first), the key or index, and the value.",
    example: 'Reduce(attributes["sizes"], 0, (sum, _, size) => sum + size)',
    compile: compileReduce,
  },
  {
    name: "When",
    parameters: parameters("condition: lambda", "true_value: any", "false_value: any"),
    returns: "any",
    summary: "The first value if the condition holds, else the second. The condition is a lambda without parameters.",
    example: 'When(() => severity_number >= 17, "error", "other")',
    compile(args) {
      const condition = args.lambda("condition", 0);
      const whenTrue = args.any("true_value");
      const whenFalse = args.any("false_value");
      return (ctx) => (isTrue(condition(ctx)) ? whenTrue(ctx) : whenFalse(ctx));
    },
  },
];

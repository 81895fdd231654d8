import type { OttlMap, OttlValue } from "../values/value.js";
import { editMap } from "./editors.js";
import { type FunctionSpec, parameters } from "./function-spec.js";

/** Moves values in nested maps and lists to the top of a map, under joined keys. */
class Flattener {
  readonly result: OttlMap = new Map();
  private readonly maxDepth: bigint;
  private readonly resolveConflicts: boolean;
  private readonly suffixes = new Map<string, number>();

  constructor(maxDepth: bigint, resolveConflicts: boolean) {
    this.maxDepth = maxDepth;
    this.resolveConflicts = resolveConflicts;
  }

  map(map: OttlMap, prefix: string, depth: bigint): void {
    const start = prefix === "" ? "" : `${prefix}.`;
    for (const [key, value] of map) this.value(start + key, value, depth);
  }

  private value(key: string, value: OttlValue, depth: bigint): void {
    if (value instanceof Map && depth < this.maxDepth) this.map(value, key, depth + 1n);
    else if (Array.isArray(value) && depth < this.maxDepth)
      value.forEach((item, i) => {
        this.item(key, i, item, depth + 1n);
      });
    else this.put(key, value);
  }

  private item(key: string, index: number, item: OttlValue, depth: bigint): void {
    const numbered = `${key}.${index}`;
    const nested = item instanceof Map || Array.isArray(item);
    if (nested && depth < this.maxDepth) this.value(numbered, item, depth);
    else this.put(this.resolveConflicts ? key : numbered, item);
  }

  private put(key: string, value: OttlValue): void {
    if (!this.resolveConflicts || !this.result.has(key)) {
      this.result.set(key, value);
      return;
    }
    const suffix = this.suffixes.get(key) ?? 0;
    this.suffixes.set(key, suffix + 1);
    this.result.set(`${key}.${suffix}`, value);
  }
}

const NO_LIMIT = 2n ** 63n;

export const FLATTEN: FunctionSpec = {
  name: "flatten",
  parameters: parameters("target: map path", "prefix?: STRING", "depth?: INT", "resolve_conflicts?: BOOL"),
  returns: "",
  summary:
    "Moves values in nested maps and lists to the top level of the map, under keys joined with dots: at most `depth` levels, all with `prefix`. With `resolve_conflicts` equal keys get numbers instead of replacing each other.",
  example: 'flatten(body, "app", depth = 2)',
  compile(args) {
    const prefix = args.literalText("prefix", "");
    const depth = args.literalInt("depth", NO_LIMIT);
    const resolveConflicts = args.literalBool("resolve_conflicts", false);
    if (depth < 1n) args.reject("depth", "the depth must be at least 1");
    return editMap(args, (map) => {
      const flattener = new Flattener(depth, resolveConflicts);
      flattener.map(map, prefix, 0n);
      return flattener.result;
    });
  },
};

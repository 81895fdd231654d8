import { OttlError } from "../values/error.js";
import type { OttlValue } from "../values/value.js";
import type { ContextName } from "./context.js";
import type { PathSpec, PathTable } from "./path-table.js";
import { PATHS } from "./paths.js";

/**
 * `plain.attributes` and `plain.resource.attributes` of a context: the same without lists, maps and bytes, which are nil.
 * They are known only to who asks for them, and cannot be set.
 */
export function plainPaths(context: ContextName): PathTable {
  const paths: Record<string, PathSpec> = {};
  for (const name of ["attributes", "resource.attributes"]) {
    const spec = PATHS[context][name];
    if (spec !== undefined) paths[`plain.${name}`] = plainPath(spec);
  }
  return paths;
}

function plainPath(spec: PathSpec): PathSpec {
  return {
    type: "any",
    keys: "one",
    compile(keys) {
      const access = spec.compile(keys);
      return { get: (ctx) => plainOrNil(access.get(ctx)), set: refuseToSet, isReadOnly: true };
    },
  };
}

function plainOrNil(value: OttlValue): OttlValue {
  return typeof value === "object" ? null : value;
}

function refuseToSet(): never {
  throw new OttlError("a plain path is only read");
}

import type { ZodType } from "zod";
import { isRecord } from "#contract/schema";
import { childrenAt, knownKey } from "./visit-schema.js";
import { isOpaqueSchema, keysOf, metaOf } from "./zod-schema.js";

/** A privileged key that a config has. */
export interface PrivilegedValue {
  /** The dotted path below the component, without indexes of lists. */
  readonly key: string;
  readonly value: unknown;
}

/**
 * The privileged keys of a config as written, by their paths. Everything in a config whose schema is not known is
 * privileged, because nobody can tell.
 */
export function privilegedValues(schema: ZodType, written: unknown): ReadonlyMap<string, PrivilegedValue> {
  const found = new Map<string, PrivilegedValue>();
  collect([schema], written, [], found);
  return found;
}

function collect(
  schemas: readonly ZodType[],
  value: unknown,
  path: readonly (string | number)[],
  found: Map<string, PrivilegedValue>,
): void {
  if (schemas.some((schema) => isOpaqueSchema(schema) || metaOf(schema).privileged === true)) {
    const key = path.filter((part) => typeof part === "string").join(".");
    found.set(path.join("."), { key, value });
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(childrenAt(schemas, index), item, [...path, index], found);
    return;
  }
  if (!isRecord(value)) return;
  const known = new Map(schemas.flatMap((schema) => [...keysOf(schema)]));
  const taken = new Map(Object.entries(value));
  for (const [written, item] of taken) {
    const name = knownKey(written, known, taken);
    collect(childrenAt(schemas, name), item, [...path, name], found);
  }
}

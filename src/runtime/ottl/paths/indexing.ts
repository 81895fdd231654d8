import { OttlError } from "../values/error.js";
import { isMap, type OttlValue, typeName } from "../values/value.js";
import type { PathKey } from "./path-access.js";
import type { RecordContext } from "./record-context.js";

/**
 * Follows keys into a value. A key that a map does not have gives nil, or is an error if strict; all other mismatches
 * are errors.
 */
export function getAtKeys(
  value: OttlValue,
  keys: readonly PathKey[],
  ctx: RecordContext,
  from = 0,
  strict = false,
): OttlValue {
  let current = value;
  for (let i = from; i < keys.length; i++) {
    if (isMap(current)) {
      const found = current.get(mapKey(keys[i]!, ctx));
      if (found === undefined && strict)
        throw new OttlError(`the map has no key ${JSON.stringify(mapKey(keys[i]!, ctx))}`);
      if (found === undefined) return null;
      current = found;
    } else if (Array.isArray(current)) current = current[listIndex(keys[i]!, ctx, current.length)]!;
    else throw new OttlError(`${typeName(current)} cannot be indexed`);
  }
  return current;
}

/**
 * The value with the part at keys[from...] replaced. Maps and lists on the way are copied, or created if missing; the
 * rest is shared with the old value.
 */
export function setAtKeys(
  current: OttlValue,
  keys: readonly PathKey[],
  from: number,
  ctx: RecordContext,
  value: OttlValue,
): OttlValue {
  const key = keys[from];
  if (key === undefined) return value;
  if (isMap(current)) {
    const name = mapKey(key, ctx);
    return new Map(current).set(name, setAtKeys(current.get(name) ?? null, keys, from + 1, ctx, value));
  }
  if (Array.isArray(current)) {
    const index = listIndex(key, ctx, current.length);
    return current.with(index, setAtKeys(current[index]!, keys, from + 1, ctx, value));
  }
  if (current === null) return createContainer(key, ctx, setAtKeys(null, keys, from + 1, ctx, value));
  throw new OttlError(`${typeName(current)} cannot be indexed`);
}

const MAX_NEW_ITEMS = 1000n;

function createContainer(key: PathKey, ctx: RecordContext, inner: OttlValue): OttlValue {
  const resolved = key.literal ?? key.get(ctx);
  if (typeof resolved === "string") return new Map([[resolved, inner]]);
  if (typeof resolved !== "bigint") throw new OttlError(`a key must be a string or an int, not ${typeName(resolved)}`);
  if (resolved < 0n || resolved > MAX_NEW_ITEMS) throw new OttlError(`index ${resolved} is out of bounds`);
  const list: OttlValue[] = new Array<OttlValue>(Number(resolved)).fill(null);
  list.push(inner);
  return list;
}

export function mapKey(key: PathKey, ctx: RecordContext): string {
  const resolved = key.literal ?? key.get(ctx);
  if (typeof resolved !== "string") throw new OttlError(`a map is indexed by a string, not by ${typeName(resolved)}`);
  return resolved;
}

function listIndex(key: PathKey, ctx: RecordContext, length: number): number {
  const resolved = key.literal ?? key.get(ctx);
  if (typeof resolved !== "bigint") throw new OttlError(`a list is indexed by an int, not by ${typeName(resolved)}`);
  if (resolved < 0n || resolved >= BigInt(length)) throw new OttlError(`index ${resolved} is out of bounds`);
  return Number(resolved);
}

import type { Key } from "./access.js";
import { OttlError } from "./error.js";
import type { Scene } from "./scene.js";
import { isMap, type OttlValue, typeName } from "./value.js";

/**
 * Follows keys into a value. A key that a map does not have gives nil, or is an error when it is asked to be strict;
 * everything else that does not fit is an error.
 */
export function indexed(value: OttlValue, keys: readonly Key[], scene: Scene, from = 0, strict = false): OttlValue {
  let current = value;
  for (let i = from; i < keys.length; i++) {
    if (isMap(current)) {
      const found = current.get(mapKey(keys[i]!, scene));
      if (found === undefined && strict)
        throw new OttlError(`the map has no key ${JSON.stringify(mapKey(keys[i]!, scene))}`);
      if (found === undefined) return null;
      current = found;
    } else if (Array.isArray(current)) current = current[listIndex(keys[i]!, scene, current.length)]!;
    else throw new OttlError(`${typeName(current)} cannot be indexed`);
  }
  return current;
}

/**
 * The value with what keys[from...] lead to replaced. The maps and lists on the way are new ones, also where there was
 * nothing; the rest is shared with the value as it was.
 */
export function withIndexed(
  current: OttlValue,
  keys: readonly Key[],
  from: number,
  scene: Scene,
  value: OttlValue,
): OttlValue {
  const key = keys[from];
  if (key === undefined) return value;
  if (isMap(current)) {
    const name = mapKey(key, scene);
    return new Map(current).set(name, withIndexed(current.get(name) ?? null, keys, from + 1, scene, value));
  }
  if (Array.isArray(current)) {
    const index = listIndex(key, scene, current.length);
    return current.with(index, withIndexed(current[index]!, keys, from + 1, scene, value));
  }
  if (current === null) return madeFor(key, scene, withIndexed(null, keys, from + 1, scene, value));
  throw new OttlError(`${typeName(current)} cannot be indexed`);
}

const MOST_NEW_ITEMS = 1000n;

function madeFor(key: Key, scene: Scene, inner: OttlValue): OttlValue {
  const resolved = key.literal ?? key.get(scene);
  if (typeof resolved === "string") return new Map([[resolved, inner]]);
  if (typeof resolved !== "bigint") throw new OttlError(`a key must be a string or an int, not ${typeName(resolved)}`);
  if (resolved < 0n || resolved > MOST_NEW_ITEMS) throw new OttlError(`index ${resolved} is out of bounds`);
  const list: OttlValue[] = new Array<OttlValue>(Number(resolved)).fill(null);
  list.push(inner);
  return list;
}

export function mapKey(key: Key, scene: Scene): string {
  const resolved = key.literal ?? key.get(scene);
  if (typeof resolved !== "string") throw new OttlError(`a map is indexed by a string, not by ${typeName(resolved)}`);
  return resolved;
}

function listIndex(key: Key, scene: Scene, length: number): number {
  const resolved = key.literal ?? key.get(scene);
  if (typeof resolved !== "bigint") throw new OttlError(`a list is indexed by an int, not by ${typeName(resolved)}`);
  if (resolved < 0n || resolved >= BigInt(length)) throw new OttlError(`index ${resolved} is out of bounds`);
  return Number(resolved);
}

import { after, attributeValue, encodedKey, findAttribute, findField, readValue, varint } from "#otlp/bytes";
import { LOG_BODY_TAG } from "#otlp/tags";
import type { Value } from "../../../plugin.js";

/** A dotted path, such as `order.total`, in the attributes of a record, in its `body.` or in its `resource.`. */
export interface ValuePath {
  readonly owner: "attributes" | "body" | "resource";
  /** The ways to split the path into an attribute key and a path inside its value, longest key first. */
  readonly splits: readonly (readonly [key: string, rest: string])[];
}

/** Parses a path. Every text is a valid path. */
export function parseValuePath(text: string): ValuePath {
  const [, owner = "attributes", path = text] = /^(attributes|body|resource)\.(.+)$/s.exec(text) ?? [];
  return { owner: owner as ValuePath["owner"], splits: splitsOf(path) };
}

/** Returns all ways, because keys may contain dots themselves. */
function splitsOf(path: string): [string, string][] {
  const cuts: [string, string][] = [[path, ""]];
  for (let at = path.lastIndexOf("."); at > 0; at = path.lastIndexOf(".", at - 1))
    cuts.push([path.slice(0, at), path.slice(at + 1)]);
  return cuts;
}

/** Returns the value among the attributes with this tag in [start, end), or undefined. */
export function valueInAttributes(
  b: Uint8Array,
  start: number,
  end: number,
  tag: number,
  path: ValuePath,
): Value | undefined {
  for (const [key, rest] of path.splits) {
    const at = findAttribute(b, start, end, tag, encodedKey(key));
    const found = at < 0 ? undefined : valueWithin(attributeValue(b, at), rest);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the value in the body of the log record in [start, end). */
export function valueInBody(b: Uint8Array, start: number, end: number, path: ValuePath): Value | undefined {
  const at = findField(b, start, end, LOG_BODY_TAG);
  if (at < 0) return undefined;
  const size = varint(b, at);
  return valueWithin(readValue(b, after, after + size), path.splits[0]![0]);
}

function valueWithin(value: Value, path: string): Value | undefined {
  if (path === "") return value;
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array)
    return undefined;
  const map = value as { [key: string]: Value };
  for (const [key, rest] of splitsOf(path)) {
    const found = Object.hasOwn(map, key) ? valueWithin(map[key]!, rest) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

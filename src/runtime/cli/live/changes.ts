import { type AnyJsonValue, plainText } from "./plain-values.js";

/** A value that is no longer there, or new. */
export interface Change {
  readonly sign: "-" | "+";
  readonly path: string;
  readonly value: string;
}

/** What differs between two trees of OTLP/JSON, by the path of each value; of attributes by their keys. */
export function changesBetween(before: unknown, after: unknown): Change[] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const paths = new Set([...old.keys(), ...now.keys()]);
  return [...paths].flatMap((path) => {
    const [was, is] = [old.get(path), now.get(path)];
    if (was === is) return [];
    return [
      ...(was === undefined ? [] : [{ sign: "-" as const, path, value: was }]),
      ...(is === undefined ? [] : [{ sign: "+" as const, path, value: is }]),
    ];
  });
}

function valuesOf(tree: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(tree)) {
    for (const [i, item] of tree.entries()) {
      const { key, value } = (item ?? {}) as { readonly key?: unknown; readonly value?: AnyJsonValue };
      if (typeof key === "string") into.set(`${path}[${JSON.stringify(key)}]`, plainText(value));
      else valuesOf(item, `${path}[${i}]`, into);
    }
  } else if (typeof tree === "object" && tree !== null) {
    const [kind] = Object.keys(tree);
    if (kind?.endsWith("Value") && path !== "") into.set(path, plainText(tree as AnyJsonValue));
    else for (const [key, value] of Object.entries(tree)) valuesOf(value, path === "" ? key : `${path}.${key}`, into);
  } else if (tree !== undefined) into.set(path, JSON.stringify(tree));
  return into;
}

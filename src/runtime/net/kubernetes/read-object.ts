/**
 * Reads objects of the API without trusting their shape: missing values, and values of the wrong type, are treated as
 * empty.
 */

export type ObjectFields = Readonly<Record<string, unknown>>;

/** The object at a path of names. */
export function fieldsOf(value: unknown, ...path: readonly string[]): ObjectFields {
  const found = valueAt(value, path);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as ObjectFields) : {};
}

export function listOf(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

export function textOf(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, path);
  return typeof found === "string" ? found : "";
}

/** Strings by name; other values are skipped. */
export function textsOf(value: unknown, ...path: readonly string[]): Record<string, string> {
  const entries = Object.entries(fieldsOf(value, ...path)).filter(([, text]) => typeof text === "string");
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The digits of an integer; an empty string for anything else. */
export function digitsOf(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, path);
  return Number.isSafeInteger(found) ? String(found) : "";
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as ObjectFields)[name];
  }
  return found;
}

/** Readers of JSON from outside, whose shape is not trusted: a missing value and one of another type are the same. */

export type ObjectFields = Readonly<Record<string, unknown>>;

/** Whether this is an object, and neither a list nor null. */
export function isObject(value: unknown): value is ObjectFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined for an empty text too. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The object at a path of names, or an empty one. */
export function fieldsOf(value: unknown, ...path: readonly string[]): ObjectFields {
  const found = valueAt(value, path);
  return isObject(found) ? found : {};
}

/** The list at a path, or an empty one. */
export function listOf(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

/** The text at a path, or an empty one. */
export function textOf(value: unknown, ...path: readonly string[]): string {
  const found = valueAt(value, path);
  return typeof found === "string" ? found : "";
}

/** The number at a path. */
export function numberOf(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, path);
  return typeof found === "number" ? found : undefined;
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

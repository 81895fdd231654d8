/** More changed keys are only counted. */
const MAX_LISTED = 5;

/**
 * The paths of the keys in which two configs of a component differ, such as `tls.ca_file`. Values are never part of the
 * result, because they may be secret.
 */
export function changedKeys(before: unknown, after: unknown): string[] {
  const found: string[] = [];
  compare(before, after, [], found);
  return found;
}

/** `endpoint, timeout and 3 more keys`. */
export function listOfKeys(keys: readonly string[]): string {
  const rest = keys.length - MAX_LISTED;
  const listed = keys.slice(0, MAX_LISTED).join(", ");
  return rest > 0 ? `${listed} and ${rest} more` : listed;
}

function compare(before: unknown, after: unknown, path: readonly string[], found: string[]): void {
  if (isMap(before) || isMap(after)) {
    const left = isMap(before) ? before : {};
    const right = isMap(after) ? after : {};
    const isOtherKind = !((isMap(before) || before == null) && (isMap(after) || after == null));
    if (isOtherKind) return void found.push(pathText(path));
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
      if (key in left && key in right) compare(left[key], right[key], [...path, key], found);
      else found.push(pathText([...path, key]));
    }
  } else if (JSON.stringify(before ?? null) !== JSON.stringify(after ?? null)) found.push(pathText(path));
}

/** Scalars other than texts are written as `{ number: "1" }`; they are no maps of the config. */
function isMap(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const keys = Object.keys(value);
  return !(keys.length === 1 && /^(number|boolean)$/.test(keys[0]!) && typeof Object.values(value)[0] === "string");
}

function pathText(path: readonly string[]): string {
  return path.length === 0 ? "its value" : path.join(".");
}

import type { Value } from "#otlp/bytes";

/** An event's name without the version that may be part of it, and that version. */
export interface EventName {
  readonly plain: string;
  readonly version: number | undefined;
}

/**
 * Parses `order.paid.v2` and `OrderPaidV2`. In camel case, a lower-case letter or a digit must stand before the V, so
 * that IPV4 is a plain name. If there are several versions, the last one counts and all are removed, so a plain name
 * has none left. Takes time in proportion to the name, which clients can choose freely.
 */
export function parseEventName(name: string): EventName {
  let end = name.length;
  let version: number | undefined;
  for (;;) {
    const digits = digitsBefore(name, end);
    const plainEnd = digits === end ? -1 : plainEndBefore(name, digits);
    if (plainEnd < 0) return { plain: name.slice(0, end), version };
    version ??= Number(name.slice(digits, end));
    end = plainEnd;
  }
}

const MAX_DIGITS = 9;

/** Returns the start of the number that ends at `end`, or `end` if there is none that can be a version. */
function digitsBefore(name: string, end: number): number {
  let start = end;
  while (start > 0 && end - start <= MAX_DIGITS && isDigit(name.charCodeAt(start - 1))) start--;
  return end - start > MAX_DIGITS || name[start] === "0" ? end : start;
}

/** Returns the end of the name before the `.v` or `V` that ends at `end`, or -1 if there is none. */
function plainEndBefore(name: string, end: number): number {
  if (end > 2 && name.startsWith(".v", end - 2)) return end - 2;
  const before = name.charCodeAt(end - 2);
  return end > 1 && name[end - 1] === "V" && (isDigit(before) || isLowerCase(before)) ? end - 1 : -1;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isLowerCase(code: number): boolean {
  return code >= 97 && code <= 122;
}

/** The attribute that carries the version of an event. */
export const VERSION_ATTRIBUTE = "event.version";

/** Returns the version in the attribute: 1 or more, as a number or text; undefined if it is not a version. */
export function parseVersion(value: Value): number | undefined {
  const number = typeof value === "string" && /^v?[1-9]\d{0,8}$/.test(value) ? Number(value.replace("v", "")) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 ? number : undefined;
}

import type { Value } from "../telemetry/views/value.js";

/** An event's name without the version that some write into it, and that version. */
export interface EventName {
  readonly plain: string;
  readonly version: number | undefined;
}

const DOTTED = /^(.+)\.v([1-9]\d{0,8})$/s;
/** In camel case: a V behind a small letter or a digit, so that IPV4 is a name. */
const CAMEL = /^(.*[a-z0-9])V([1-9]\d{0,8})$/s;

/** Reads `order.paid.v2` and `OrderPaidV2`. Of several versions the last counts, so that a plain name has none left. */
export function parseEventName(name: string): EventName {
  let plain = name;
  let version: number | undefined;
  for (;;) {
    const found = DOTTED.exec(plain) ?? CAMEL.exec(plain);
    if (found === null) return { plain, version };
    plain = found[1]!;
    version ??= Number(found[2]);
  }
}

/** The attribute that carries the version of an event. */
export const VERSION_ATTRIBUTE = "event.version";

/** The version that the attribute states: 1 and up, as number or text; undefined when it is none. */
export function parseVersion(value: Value): number | undefined {
  const number = typeof value === "string" && /^v?[1-9]\d{0,8}$/.test(value) ? Number(value.replace("v", "")) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 ? number : undefined;
}

import type { TreeValue } from "#otlp/bytes";
import type { Paint } from "#text";
import { attributeEntries, plainText, timeText, valueText } from "./values.js";

/** Parts that the one-line forms of all signals share. */

export const MAX_VALUE_LENGTH = 200;
const NO_TIME = "(no time)".padEnd(30);

/** Joins the parts that are not empty with spaces. */
export function joinParts(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(" ");
}

export function timePart(nanos: TreeValue | undefined, paint: Paint): string {
  return paint("dim", timeText(nanos) ?? NO_TIME);
}

/** key=value key=value */
export function attributesPart(attributes: TreeValue | undefined, paint: Paint): string {
  return attributeEntries(attributes)
    .map(([key, value]) => `${paint("dim", `${key}=`)}${attributeText(value)}`)
    .join(" ");
}

function attributeText(value: TreeValue | undefined): string {
  const text = plainText(value, MAX_VALUE_LENGTH);
  return /[\s"=]|^$/.test(text) ? valueText(value, MAX_VALUE_LENGTH) : text;
}

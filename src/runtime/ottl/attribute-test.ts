import { anyValueAt, anyValueEnd } from "../telemetry/any-value.js";
import { findAttribute } from "../telemetry/views/attributes.js";
import type { PathAccess } from "./access.js";
import { type Comparison, compare } from "./compare.js";
import type { Predicate } from "./logic.js";
import type { OttlValue } from "./value.js";
import { isEncodedNil, isEncodedText } from "./wire-value.js";

/**
 * One attribute is or is not a text or nil: answered by comparing bytes, with nothing decoded. Undefined for every
 * other comparison.
 */
export function attributeTest(
  { select, key, encoded }: NonNullable<PathAccess["attribute"]>,
  operator: Comparison,
  value: OttlValue,
): Predicate | undefined {
  if ((operator !== "==" && operator !== "!=") || (typeof value !== "string" && value !== null)) return undefined;
  const text = Buffer.from(value ?? "", "utf8");
  const wanted = operator === "==";
  return (ctx) => {
    const message = select(ctx);
    if (message.edits !== undefined) return compare(message.attribute(key, encoded), value, operator);
    const { bytes } = message;
    const at = findAttribute(bytes, message.start, message.end, message.attributesTag, encoded);
    const start = at < 0 ? -1 : anyValueAt(bytes, at);
    if (start < 0) return (value === null) === wanted;
    return (
      (value === null
        ? isEncodedNil(bytes, start, anyValueEnd)
        : isEncodedText(bytes, start, anyValueEnd, value, text)) === wanted
    );
  };
}

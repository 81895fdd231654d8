import { anyEnd, anyValueAt } from "../telemetry/any-value.js";
import { findAttribute } from "../telemetry/views/attributes.js";
import type { Access } from "./access.js";
import { type Comparison, compare } from "./compare.js";
import type { Test } from "./logic.js";
import type { OttlValue } from "./value.js";
import { isNothing, isText } from "./wire-value.js";

/**
 * One attribute is or is not a text or nil: answered by comparing bytes, with nothing decoded. Undefined for every
 * other comparison.
 */
export function attributeTest(
  { pick, key, encoded }: NonNullable<Access["attribute"]>,
  operator: Comparison,
  value: OttlValue,
): Test | undefined {
  if ((operator !== "==" && operator !== "!=") || (typeof value !== "string" && value !== null)) return undefined;
  const text = Buffer.from(value ?? "", "utf8");
  const wanted = operator === "==";
  return (scene) => {
    const level = pick(scene);
    if (level.edits !== undefined) return compare(level.attribute(key, encoded), value, operator);
    const { bytes } = level;
    const at = findAttribute(bytes, level.start, level.end, level.attributesTag, encoded);
    const start = at < 0 ? -1 : anyValueAt(bytes, at);
    if (start < 0) return (value === null) === wanted;
    return (value === null ? isNothing(bytes, start, anyEnd) : isText(bytes, start, anyEnd, value, text)) === wanted;
  };
}

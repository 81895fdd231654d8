import { TextError } from "../text-error.js";
import type { FieldName, LayoutPart } from "./time-layout.js";

/** The directives of strftime(3) that stand for one part of a time. */
const FIELDS: Readonly<Record<string, FieldName>> = {
  Y: "2006",
  y: "06",
  m: "01",
  B: "January",
  b: "Jan",
  h: "Jan",
  d: "02",
  e: "_2",
  j: "002",
  A: "Monday",
  a: "Mon",
  H: "15",
  I: "03",
  p: "PM",
  P: "pm",
  M: "04",
  S: "05",
  Z: "MST",
  z: "-0700",
};
/** The directives that stand for others. */
const FORMATS: Readonly<Record<string, string>> = {
  F: "%Y-%m-%d",
  T: "%H:%M:%S",
  R: "%H:%M",
  D: "%m/%d/%y",
};
const CHARACTERS: Readonly<Record<string, string>> = { "%": "%", n: "\n", t: "\t" };

/** The parts of a format such as `year=%Y/month=%m`, for `formatTime`. Throws a `TextError` for other directives. */
export function parseStrftime(format: string): LayoutPart[] {
  const whole = format.replace(/%(.?)/gsu, (found, directive: string) => FORMATS[directive] ?? found);
  const parts: LayoutPart[] = [];
  for (const [found, directive = "", text] of whole.matchAll(/%(.?)|([^%]+)/gsu)) {
    if (text !== undefined) parts.push({ kind: "text", text });
    else if (Object.hasOwn(FIELDS, directive)) parts.push({ kind: "field", field: FIELDS[directive]! });
    else if (Object.hasOwn(CHARACTERS, directive)) parts.push({ kind: "text", text: CHARACTERS[directive]! });
    else throw new TextError(`no such directive: ${found}`);
  }
  return parts;
}

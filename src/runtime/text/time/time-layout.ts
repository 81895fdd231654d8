import { TextError } from "../text-error.js";

/**
 * Time formats: Go's layouts (`2006-01-02T15:04:05Z07:00`) and the directives of strptime (`%Y-%m-%d`), which stand for
 * parts of them.
 */
export type LayoutPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "field"; readonly field: FieldName }
  /** The fraction of a second: exactly `digits` (0) or up to as many (9). */
  | { readonly kind: "fraction"; readonly separator: string; readonly digits: number; readonly exact: boolean };

export type FieldName = (typeof FIELDS)[number];

/** Go's notations for the parts of the reference time, longer ones first if one is a prefix of another. */
const FIELDS = [
  "January",
  "Jan",
  "Monday",
  "Mon",
  "MST",
  "-07:00:00",
  "-070000",
  "-07:00",
  "-0700",
  "-07",
  "Z07:00:00",
  "Z070000",
  "Z07:00",
  "Z0700",
  "Z07",
  "2006",
  /** Not in Go: a year of two or four digits, written with four. */
  "\ue000",
  /** Not in Go: the month padded with a space. */
  "\ue001",
  "002",
  "__2",
  "01",
  "02",
  "03",
  "04",
  "05",
  "06",
  "15",
  "_2",
  "PM",
  "pm",
  "1",
  "2",
  "3",
  "4",
  "5",
] as const;

const DIRECTIVES: Readonly<Record<string, string>> = {
  Y: "2006",
  y: "06",
  m: "01",
  o: "\ue001",
  q: "1",
  b: "Jan",
  h: "Jan",
  B: "January",
  d: "02",
  e: "_2",
  g: "2",
  a: "Mon",
  A: "Monday",
  H: "15",
  l: "3",
  I: "03",
  p: "PM",
  P: "pm",
  M: "04",
  S: "05",
  L: "999",
  f: "999999",
  s: "999999999",
  Z: "MST",
  z: "Z0700",
  w: "-070000",
  i: "-07",
  j: "-07:00",
  k: "-07:00:00",
  D: "01/02/\ue000",
  x: "01/02/\ue000",
  F: "2006-01-02",
  T: "15:04:05",
  X: "15:04:05",
  r: "03:04:05 pm",
  R: "15:04",
  n: "\n",
  t: "\t",
  "%": "%",
  c: "Mon Jan 02 15:04:05 2006",
};

/** Throws a `TextError` if the layout is not understood. */
export function parseLayout(format: string): LayoutPart[] {
  if (/(^|[^.,])%[Lfs]/.test(format)) throw new TextError("%L, %f and %s must follow a point or comma, as in %S.%L");
  if (/\d/.test(format)) throw new TextError("a format has directives such as %Y, and no digits");
  const layout = format.replace(/%(.?)/gs, (whole, directive: string) => {
    const meaning = directive === "" ? "%" : DIRECTIVES[directive];
    if (meaning === undefined) throw new TextError(`no such directive: ${whole}`);
    return meaning;
  });
  return parseGoLayout(layout);
}

/** The parts of a layout in Go's notation. */
export function parseGoLayout(layout: string): LayoutPart[] {
  const parts: LayoutPart[] = [];
  let text = "";
  const flush = () => {
    if (text !== "") parts.push({ kind: "text", text });
    text = "";
  };
  for (let p = 0; p < layout.length; ) {
    const fraction = /^([.,])(0+|9+)(?!\d)/.exec(layout.slice(p));
    // In Go, this is an underscore and a year, not a padded day.
    const isLiteral = fraction !== null || layout.startsWith("_2006", p);
    const field = isLiteral ? undefined : FIELDS.find((name) => layout.startsWith(name, p));
    if (fraction !== null) {
      flush();
      const [, separator = "", digits = ""] = fraction;
      parts.push({ kind: "fraction", separator, digits: digits.length, exact: digits[0] === "0" });
      p += fraction[0].length;
    } else if (field !== undefined) {
      flush();
      parts.push({ kind: "field", field });
      p += field.length;
    } else text += layout[p++];
  }
  flush();
  return parts;
}

export const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
export const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

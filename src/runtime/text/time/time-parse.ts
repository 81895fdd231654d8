import { TextError } from "../text-error.js";
import { DAYS, type FieldName, type LayoutPart, MONTHS } from "./time-layout.js";
import { nameAt, type TimeNames } from "./time-names.js";
import { type TimeZone, UTC, type ZonedTime, zoneAt } from "./time-zones.js";

const SECOND = 1_000_000_000n;

/** The parts read so far. */
interface ParsedTime {
  year: number | undefined;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  nanosecond: number;
  afternoon: boolean | undefined;
  /** Whether the hour is on a twelve-hour clock. */
  twelveHours: boolean;
  dayOfYear: boolean;
  /** A zone abbreviation, such as CET, that has a meaning only together with the location. */
  zoneName: string | undefined;
  zone: TimeZone | undefined;
}

/**
 * Parses a text as a time. If the layout has no zone, the time is in `location` (an IANA name). If it has no year, the
 * year is the one nearest to `now` without being more than a week ahead. `names` are those of another language.
 */
export function parseTime(
  parts: readonly LayoutPart[],
  text: string,
  location: string | undefined,
  now: bigint,
  names?: TimeNames,
): ZonedTime {
  const found: ParsedTime = {
    year: undefined,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    afternoon: undefined,
    twelveHours: false,
    dayOfYear: false,
    zoneName: undefined,
    zone: undefined,
  };
  let rest = text;
  for (let i = 0; i < parts.length; i++)
    rest =
      (names && readName(parts[i]!, rest, found, names)) ??
      readPart(parts[i]!, rest, found, text, parts[i + 1]?.kind === "fraction");
  if (rest !== "") throw formatMismatch(text, rest);
  if (found.twelveHours && found.hour > 12) throw outOfRange(text);
  if (found.afternoon !== undefined && found.hour <= 12) found.hour = (found.hour % 12) + (found.afternoon ? 12 : 0);
  checkRange(found, text);
  const time = toTime(found, found.year ?? new Date(Number(now / 1_000_000n)).getUTCFullYear(), location);
  const tooLate = found.year === undefined && time.nanos > now + 7n * 86_400n * SECOND;
  return tooLate ? toTime(found, new Date(Number(now / 1_000_000n)).getUTCFullYear() - 1, location) : time;
}

/** Reads a name of a month, day or half of a day in another language; undefined if the layout has none here. */
function readName(part: LayoutPart, rest: string, found: ParsedTime, names: TimeNames): string | undefined {
  const field = part.kind === "field" ? (part.field === "pm" ? "PM" : part.field) : "";
  if (!Object.hasOwn(names, field)) return undefined;
  const name = nameAt(names[field as keyof TimeNames], rest);
  if (name === undefined) throw formatMismatch(rest, rest);
  const [length, value] = name;
  if (field === "January" || field === "Jan") found.month = value + 1;
  else if (field === "PM") found.afternoon = value === 1;
  return rest.slice(length);
}

function toTime(found: ParsedTime, year: number, location: string | undefined): ZonedTime {
  const date = new Date(0);
  date.setUTCFullYear(year, found.month - 1, found.day);
  date.setUTCHours(found.hour, found.minute, found.second);
  const local = date.getTime();
  const zone =
    found.zone ??
    (found.zoneName === undefined ? undefined : namedZone(found.zoneName, location, local)) ??
    (location === undefined ? UTC : zoneAt(location, local));
  const nanos = (BigInt(local) - BigInt(zone.offsetSeconds) * 1000n) * 1_000_000n + BigInt(found.nanosecond);
  return { nanos, zone };
}

function readPart(part: LayoutPart, rest: string, found: ParsedTime, text: string, fractionFollows: boolean): string {
  if (part.kind === "text") return readText(part.text, rest, text);
  if (part.kind === "fraction") {
    const match = new RegExp(part.exact ? `^[.,]\\d{${part.digits}}` : "^[.,]\\d+").exec(rest);
    if (match === null) {
      if (part.exact) throw formatMismatch(text, rest);
      return rest;
    }
    found.nanosecond = nanoseconds(match[0]);
    return rest.slice(match[0].length);
  }
  const after = readField(part.field, rest, found, text);
  const seconds = part.field === "05" || part.field === "5";
  const fraction = seconds && !fractionFollows ? /^[.,]\d+/.exec(after) : null;
  if (fraction === null) return after;
  found.nanosecond = nanoseconds(fraction[0]); // Go reads a fraction after the seconds even if the layout has none
  return after.slice(fraction[0].length);
}

function nanoseconds(fraction: string): number {
  return Number(fraction.slice(1, 10).padEnd(9, "0"));
}

/** A space stands for any number of spaces, but for none only at the end of the text. */
function readText(expected: string, rest: string, text: string): string {
  let left = rest;
  for (const part of expected.split(/( +)/)) {
    const fits = part.startsWith(" ") ? left === "" || left.startsWith(" ") : left.startsWith(part);
    if (!fits) throw formatMismatch(text, left);
    left = part.startsWith(" ") ? left.replace(/^ +/, "") : left.slice(part.length);
  }
  return left;
}

/** Hours from UTC of zones with a universal name. */
const ZONES: Readonly<Record<string, number>> = {
  UTC: 0,
  GMT: 0,
  UCT: 0,
  WET: 0,
  CET: 1,
  MET: 1,
  EET: 2,
  EST: -5,
  MST: -7,
  HST: -10,
};

/** Zone names that count only if the location uses them at some time of the year. */
const LOCAL_ZONES: Readonly<Record<string, readonly number[]>> = {
  ...Object.fromEntries(Object.entries(ZONES).map(([name, hours]) => [name, [hours]])),
  EDT: [-4],
  CST: [-6, 8],
  CDT: [-5],
  MDT: [-6],
  PST: [-8, 8],
  PDT: [-7],
  AKST: [-9],
  AKDT: [-8],
  AST: [-4],
  ADT: [-3],
  NST: [-3.5],
  NDT: [-2.5],
  WEST: [1],
  BST: [1],
  IST: [5.5, 1, 2],
  IDT: [3],
  CEST: [2],
  EEST: [3],
  MSK: [3],
  SAST: [2],
  WAT: [1],
  CAT: [2],
  EAT: [3],
  PKT: [5],
  WIB: [7],
  HKT: [8],
  AWST: [8],
  JST: [9],
  KST: [9],
  ACST: [9.5],
  ACDT: [10.5],
  AEST: [10],
  AEDT: [11],
  NZST: [12],
  NZDT: [13],
};

/** Letters such as EST have a meaning in the location or everywhere; unknown letters are an error. */
function namedZone(name: string, location: string | undefined, localMs: number): TimeZone {
  const hours = location === undefined ? undefined : hoursIn(location, name, localMs);
  const known = hours ?? (Object.hasOwn(ZONES, name) ? ZONES[name] : undefined);
  if (known === undefined) throw new TextError(`no such time zone: ${name}`);
  return known === 0 ? { ...UTC, name } : { name, offsetSeconds: known * 3600 };
}

function hoursIn(location: string, name: string, localMs: number): number | undefined {
  const candidates = Object.hasOwn(LOCAL_ZONES, name) ? LOCAL_ZONES[name]! : [];
  const halfYear = 182 * 86_400_000;
  const seen = [localMs, localMs - halfYear].map((ms) => zoneAt(location, ms).offsetSeconds / 3600);
  return candidates.find((hours) => seen.includes(hours));
}

function readField(field: FieldName, rest: string, found: ParsedTime, text: string): string {
  const match = FIELD_PATTERNS[field].exec(rest);
  if (match === null) throw formatMismatch(text, rest);
  const [all] = match;
  setField(field, all.trim(), found, text);
  return rest.slice(all.length);
}

function setField(field: FieldName, value: string, found: ParsedTime, text: string): void {
  switch (field) {
    case "January":
    case "Jan":
      found.month = 1 + MONTHS.findIndex((name) => name.slice(0, 3).toLowerCase() === value.slice(0, 3).toLowerCase());
      return;
    case "Monday":
    case "Mon":
      return;
    case "MST":
      if (/^[+-]/.test(value)) found.zone = offsetZone(value, text);
      else found.zoneName = value;
      return;
    case "\ue000":
      return setField(value.length === 2 ? "06" : "2006", value, found, text);
    case "2006":
      found.year = value === "0000" ? undefined : Number(value);
      return;
    case "06":
      found.year = Number(value) + (Number(value) >= 69 ? 1900 : 2000);
      return;
    case "01":
    case "1":
    case "\ue001":
      found.month = Number(value);
      return;
    case "02":
    case "2":
    case "_2":
      found.day = Number(value);
      return;
    case "002":
    case "__2":
      found.month = 1;
      found.dayOfYear = true;
      found.day = Number(value);
      return;
    case "03":
    case "3":
      found.twelveHours = true;
      found.hour = Number(value);
      return;
    case "15":
      found.hour = Number(value);
      return;
    case "04":
    case "4":
      found.minute = Number(value);
      return;
    case "05":
    case "5":
      found.second = Number(value);
      return;
    case "PM":
    case "pm":
      found.afternoon = value.toLowerCase() === "pm";
      return;
    default:
      found.zone = offsetZone(value, text);
  }
}

function offsetZone(value: string, text: string): TimeZone {
  if (value === "Z") return UTC;
  const digits = value.replace(/\D/g, "");
  const [hours, minutes, seconds] = [0, 2, 4].map((at) => Number(digits.slice(at, at + 2) || 0)) as [
    number,
    number,
    number,
  ];
  if (hours > 24 || minutes > 59 || seconds > 59) throw formatMismatch(text, value);
  const offset = hours * 3600 + minutes * 60 + seconds;
  return offset === 0
    ? UTC
    : { name: value.replaceAll(":", ""), offsetSeconds: value.startsWith("-") ? -offset : offset };
}

function checkRange(found: ParsedTime, text: string): void {
  const fits =
    found.month >= 1 &&
    found.month <= 12 &&
    found.day >= 1 &&
    found.day <= daysIn(found) &&
    found.hour < 24 &&
    found.minute < 60 &&
    found.second < 60;
  if (!fits) throw outOfRange(text);
}

function outOfRange(text: string): TextError {
  return new TextError(`${JSON.stringify(text.slice(0, 60))} has a part that is out of range`);
}

/** The day of the year counts from January and may be up to 366. */
function daysIn({ year, month, dayOfYear }: ParsedTime): number {
  if (dayOfYear) return 366;
  const leap = year === undefined || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0));
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function formatMismatch(text: string, rest: string): TextError {
  const shown = JSON.stringify(text.slice(0, 60));
  return new TextError(`the time ${shown} does not fit its format at ${JSON.stringify(rest.slice(0, 20))}`);
}

const month = new RegExp(`^(?:${MONTHS.join("|")})`, "i");
const monthShort = new RegExp(`^(?:${MONTHS.map((name) => name.slice(0, 3)).join("|")})`, "i");
const day = new RegExp(`^(?:${DAYS.join("|")})`, "i");
const dayShort = new RegExp(`^(?:${DAYS.map((name) => name.slice(0, 3)).join("|")})`, "i");
const two = /^\d\d/;
const oneOrTwo = /^\d\d?/;
const spaced = /^ ?\d\d?/;
const numericZone = (separator: string, count: number, z: boolean) =>
  new RegExp(`^(?:[+-]\\d\\d${`${separator}\\d\\d`.repeat(count - 1)}${z ? "|Z" : ""})`);

const FIELD_PATTERNS: Readonly<Record<FieldName, RegExp>> = {
  January: month,
  Jan: monthShort,
  Monday: day,
  Mon: dayShort,
  MST: /^(?:[A-Z]{3,4}|[+-]\d\d(?:\d\d)?)/,
  "2006": /^\d{4}/,
  "\ue000": /^(?:\d{4}|\d{2})/,
  "06": two,
  "01": oneOrTwo,
  "1": oneOrTwo,
  "\ue001": spaced,
  "02": oneOrTwo,
  "2": oneOrTwo,
  _2: spaced,
  "002": /^\d{3}/,
  __2: /^ {0,2}\d{1,3}/,
  "15": oneOrTwo,
  "03": oneOrTwo,
  "3": oneOrTwo,
  "04": oneOrTwo,
  "4": oneOrTwo,
  "05": oneOrTwo,
  "5": oneOrTwo,
  PM: /^(?:AM|PM)/,
  pm: /^(?:am|pm)/,
  "-07:00:00": numericZone(":", 3, false),
  "-070000": numericZone("", 3, false),
  "-07:00": numericZone(":", 2, false),
  "-0700": numericZone("", 2, false),
  "-07": numericZone("", 1, false),
  "Z07:00:00": numericZone(":", 3, true),
  Z070000: numericZone("", 3, true),
  "Z07:00": numericZone(":", 2, true),
  Z0700: /^(?:[+-]\d\d(?::?\d\d)?|Z)/,
  Z07: numericZone("", 1, true),
};

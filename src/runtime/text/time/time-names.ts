import { TextError } from "../text-error.js";

/**
 * The names of months, days and halves of a day in a language, in lower case; entries at the end of a list are other
 * forms.
 */
export interface TimeNames {
  readonly January: ReadonlyMap<string, number>;
  readonly Jan: ReadonlyMap<string, number>;
  readonly Monday: ReadonlyMap<string, number>;
  readonly Mon: ReadonlyMap<string, number>;
  readonly PM: ReadonlyMap<string, number>;
}

/**
 * The names for a BCP 47 tag, such as `fr` or `pt-BR`, from the runtime. Throws if the runtime does not know the
 * language.
 */
export function timeNames(locale: string): TimeNames {
  if (!isKnown(locale)) throw new TextError(`no such language: ${locale}`);
  return {
    January: monthNames(locale, "long"),
    Jan: monthNames(locale, "short"),
    Monday: dayNames(locale, "long"),
    Mon: dayNames(locale, "short"),
    PM: halves(locale),
  };
}

function isKnown(locale: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0;
  } catch {
    return false;
  }
}

/** Many languages write a month differently next to a day: both forms are accepted. */
function monthNames(locale: string, style: "long" | "short"): Map<string, number> {
  const names = new Map<string, number>();
  for (let month = 0; month < 12; month++) {
    const date = new Date(Date.UTC(2024, month, 1));
    for (const beside of [{ day: "numeric" } as const, {}])
      addName(names, partOf(locale, date, { ...beside, month: style }, "month"), month);
  }
  return names;
}

function dayNames(locale: string, style: "long" | "short"): Map<string, number> {
  const names = new Map<string, number>();
  for (let day = 0; day < 7; day++)
    addName(names, partOf(locale, new Date(Date.UTC(2024, 8, 1 + day)), { weekday: style }, "weekday"), day);
  return names;
}

function halves(locale: string): Map<string, number> {
  const names = new Map<string, number>();
  for (const [half, hour] of [1, 13].entries()) {
    const date = new Date(Date.UTC(2024, 0, 1, hour));
    addName(names, partOf(locale, date, { hour: "numeric", hourCycle: "h12" }, "dayPeriod"), half);
    addName(names, ["am", "pm"][half]!, half);
    addName(names, ["a.m.", "p.m."][half]!, half);
  }
  return names;
}

/** Adds the name with and without the point that ends an abbreviation. */
function addName(names: Map<string, number>, name: string, value: number): void {
  const lower = name.toLowerCase().replaceAll("\u202f", " ").replaceAll("\u00a0", " ");
  for (const form of [lower, lower.replace(/\.$/, "")]) if (form !== "" && !names.has(form)) names.set(form, value);
}

function partOf(locale: string, date: Date, options: Intl.DateTimeFormatOptions, type: string): string {
  const parts = new Intl.DateTimeFormat(locale, { ...options, timeZone: "UTC" }).formatToParts(date);
  return parts.find((part) => part.type === type)?.value ?? "";
}

/** The longest name that the text starts with. */
export function nameAt(names: ReadonlyMap<string, number>, text: string): [length: number, value: number] | undefined {
  const lower = text.toLowerCase();
  let found: [number, number] | undefined;
  for (const [name, value] of names)
    if (lower.startsWith(name) && name.length > (found?.[0] ?? 0)) found = [name.length, value];
  return found;
}

export interface TimeZone {
  readonly name: string;
  readonly offsetSeconds: number;
}

export const UTC: TimeZone = { name: "UTC", offsetSeconds: 0 };

/** A point in time in nanoseconds since 1970, with the zone it was written in. */
export interface ZonedTime {
  readonly nanos: bigint;
  readonly zone: TimeZone;
}

/** The offset of a place at this local time: estimated from the same instant in UTC, then corrected once. */
export function zoneAt(location: string, localMs: number): TimeZone {
  const first = offsetAt(location, localMs);
  const offsetSeconds = offsetAt(location, localMs - first * 1000);
  return new PlaceZone(location, offsetSeconds, localMs - offsetSeconds * 1000);
}

/** The offset of a place at a point in time, in milliseconds since 1970. "" is the place of this machine. */
export function zoneAtInstant(location: string, ms: number): TimeZone {
  if (location === "") return { name: "Local", offsetSeconds: -new Date(ms).getTimezoneOffset() * 60 };
  return new PlaceZone(location, offsetAt(location, ms), ms);
}

/** Whether a name such as Europe/Berlin is that of a known place. */
export function isPlace(location: string): boolean {
  try {
    formatFor(location);
    return true;
  } catch {
    return false;
  }
}

/** The name of a place; for "" that of this machine's zone. */
export function placeName(location: string): string {
  return location === "" ? new Intl.DateTimeFormat().resolvedOptions().timeZone : location;
}

/** Its abbreviation, such as CET, is looked up only when it is written out. */
class PlaceZone implements TimeZone {
  readonly offsetSeconds: number;
  private readonly location: string;
  private readonly ms: number;

  constructor(location: string, offsetSeconds: number, ms: number) {
    this.location = location;
    this.offsetSeconds = offsetSeconds;
    this.ms = ms;
  }

  get name(): string {
    const key = `${this.location} ${this.offsetSeconds}`;
    let name = names.get(key);
    if (name === undefined) {
      name = abbreviation(this.location, this.ms) ?? (this.ms < FIRST_ZONE ? "LMT" : offsetName(this.offsetSeconds));
      names.set(key, name);
    }
    return name;
  }
}

/** Before Britain's railways agreed on one time, every place had its own time and no zone. */
const FIRST_ZONE = Date.UTC(1847, 11, 1);

/** By place and offset: a place has few offsets, and the places come from the configuration. */
const names = new Map<string, string>();

/** Each knows the zone abbreviations of the places where it is spoken. */
const ENGLISH = ["en-US", "en-GB", "en-AU", "en-IN", "en-ZA", "en-NZ", "en-CA"];

function abbreviation(location: string, ms: number): string | undefined {
  for (const language of ENGLISH) {
    const format = new Intl.DateTimeFormat(language, { timeZone: location, timeZoneName: "short" });
    const letters = format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "";
    if (/^[A-Z]{2,5}$/.test(letters)) return letters;
  }
  return undefined;
}

/** The name of a zone without letters: +03, -0330. */
function offsetName(seconds: number): string {
  const minutes = Math.trunc(Math.abs(seconds) / 60);
  const pad = (n: number) => String(n).padStart(2, "0");
  return `${seconds < 0 ? "-" : "+"}${pad(Math.trunc(minutes / 60))}${minutes % 60 === 0 ? "" : pad(minutes % 60)}`;
}

/** Creating a format takes far longer than using it; the locations come from the configuration. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(location: string): Intl.DateTimeFormat {
  let format = formats.get(location);
  if (format === undefined) {
    const numeric = "numeric" as const;
    const date = { era: "short" as const, year: numeric, month: numeric, day: numeric };
    const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: "h23" as const };
    format = new Intl.DateTimeFormat("en-US", { timeZone: location, ...date, ...time });
    formats.set(location, format);
  }
  return format;
}

function offsetAt(location: string, ms: number): number {
  const parts = formatFor(location).formatToParts(ms);
  const n = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]));
  const isBeforeChrist = parts.some(({ type, value }) => type === "era" && value.startsWith("B"));
  const local = new Date(0);
  local.setUTCFullYear(isBeforeChrist ? 1 - n["year"]! : n["year"]!, n["month"]! - 1, n["day"]);
  local.setUTCHours(n["hour"]!, n["minute"], n["second"]);
  return Math.round((local.getTime() - Math.floor(ms / 1000) * 1000) / 1000);
}

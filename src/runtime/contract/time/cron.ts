import { type CronValues, DAYS_OF_MONTH, FIELDS, NICKNAMES, parseField, quoted } from "./cron-fields.js";

/**
 * A schedule of five fields, as cron reads them: minute, hour, day of the month, month, day of the week. It matches
 * whole minutes by the clocks of its time zone. A minute that these clocks skip in spring does not match; one that they
 * repeat in autumn matches twice.
 */
export interface Cron {
  /** Whether the minute that contains this time matches. Times are milliseconds since the epoch. */
  matches(ms: number): boolean;
  /** The first matching minute after this time; always later than it. */
  next(ms: number): number;
}

/** Returns the schedule, or a sentence that names the field that is wrong. */
export function parseCron(text: string, timeZone = "UTC"): Cron | { readonly problem: string } {
  const expression = text.trim();
  const written = expression.startsWith("@") ? NICKNAMES[expression.toLowerCase()] : expression;
  if (written === undefined)
    return { problem: `${quoted(expression)} is not one of ${Object.keys(NICKNAMES).join(", ")}` };
  const texts = written.split(/\s+/);
  if (expression === "" || texts.length !== FIELDS.length)
    return { problem: `expected five fields (${FIELDS.map(({ name }) => name).join(", ")}) such as 30 2 * * *` };
  if (!isTimeZone(timeZone)) return { problem: `there is no time zone ${quoted(timeZone)}` };
  const fields: ReadonlySet<number>[] = [];
  for (const [i, field] of FIELDS.entries()) {
    const values = parseField(texts[i]!, field);
    if (typeof values === "string") return { problem: `${field.name}: ${values}` };
    fields.push(values);
  }
  const [minutes, hours, days, months, weekdays] = fields as [
    CronValues,
    CronValues,
    CronValues,
    CronValues,
    CronValues,
  ];
  const isEitherDay = !texts[2]!.startsWith("*") && !texts[4]!.startsWith("*");
  if (!isEitherDay && ![...months].some((month) => [...days].some((day) => day <= DAYS_OF_MONTH[month]!)))
    return { problem: `day of the month: ${quoted(texts[2]!)} does not exist in month ${quoted(texts[3]!)}` };
  return new FieldCron({ minutes, hours, days, months, weekdays, isEitherDay }, offsetIn(timeZone));
}

/** Whether the runtime knows a time zone by this IANA name, such as Europe/Berlin. */
export function isTimeZone(name: string): boolean {
  if (name === "UTC") return true; // the default: asking the runtime takes 10 ms of every start
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

interface CronFields {
  readonly minutes: CronValues;
  readonly hours: CronValues;
  readonly days: CronValues;
  readonly months: CronValues;
  readonly weekdays: CronValues;
  /** Days of the month and of the week are both given, so that either is enough, as in cron. */
  readonly isEitherDay: boolean;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

class FieldCron implements Cron {
  private readonly fields: CronFields;
  private readonly offsetAt: (ms: number) => number;

  constructor(fields: CronFields, offsetAt: (ms: number) => number) {
    this.fields = fields;
    this.offsetAt = offsetAt;
  }

  matches(ms: number): boolean {
    return this.step(ms + this.offsetAt(ms)) === 0;
  }

  next(ms: number): number {
    let at = (Math.floor(ms / MINUTE) + 1) * MINUTE;
    for (;;) {
      const offset = this.offsetAt(at);
      const step = this.step(at + offset);
      if (step === 0) return at;
      // The clocks change on the way to the end of the day or hour, so that it is not where it seems to be.
      at += this.offsetAt(at + step) === offset ? step : MINUTE;
    }
  }

  /** 0 if the local time matches, otherwise how long it takes until the next day, hour or minute begins. */
  private step(local: number): number {
    const { minutes, hours, months } = this.fields;
    const date = new Date(local);
    if (!months.has(date.getUTCMonth() + 1) || !this.isDay(date)) return DAY - modulo(local, DAY);
    if (!hours.has(date.getUTCHours())) return HOUR - modulo(local, HOUR);
    return minutes.has(date.getUTCMinutes()) ? 0 : MINUTE - modulo(local, MINUTE);
  }

  private isDay(date: Date): boolean {
    const { days, weekdays, isEitherDay } = this.fields;
    const isDate = days.has(date.getUTCDate());
    const isWeekday = weekdays.has(date.getUTCDay());
    return isEitherDay ? isDate || isWeekday : isDate && isWeekday;
  }
}

function modulo(a: number, b: number): number {
  return ((a % b) + b) % b;
}

/** Returns a function that says how far the clocks of a place are ahead of UTC at a time, in milliseconds. */
function offsetIn(timeZone: string): (ms: number) => number {
  if (timeZone === "UTC") return () => 0;
  const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  return (ms) => {
    const name = format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * HOUR + Number(minutes ?? 0) * MINUTE);
  };
}

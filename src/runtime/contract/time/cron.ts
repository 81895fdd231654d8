import { Cron as Schedule } from "croner";
import { type CronValues, FIELDS, NICKNAMES, parseField, quoted } from "./cron-fields.js";

/**
 * A schedule of five fields, as cron reads them: minute, hour, day of the month, month, day of the week. It matches
 * whole minutes by the clocks of its time zone: none that these clocks skip in spring, and twice those that they repeat
 * in autumn. A schedule with only one minute and one hour matches once on such days too, right after a skip.
 */
export interface Cron {
  /** The first matching minute after this time; always later than it. Times are milliseconds since the epoch. */
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
  const lists: string[] = [];
  for (const [i, field] of FIELDS.entries()) {
    const values = parseField(texts[i]!, field);
    if (typeof values === "string") return { problem: `${field.name}: ${values}` };
    lists.push(listOf(values, texts[i]!));
  }
  const [, , days = "", months = "", weekdays = ""] = texts;
  // If both days are given, either is enough, as in cron.
  const domAndDow = days.startsWith("*") || weekdays.startsWith("*");
  const schedule = new Schedule(lists.join(" "), { timezone: timeZone, mode: "5-part", domAndDow });
  if (nextOf(schedule, 0) === undefined)
    return { problem: `day of the month: ${quoted(days)} does not exist in month ${quoted(months)}` };
  return { next: (ms) => nextOf(schedule, ms) ?? Number.POSITIVE_INFINITY };
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

/** Croner knows some steps and ranges in another way, or not at all; it reads every list of values as we do. */
function listOf(values: CronValues, text: string): string {
  return text === "*" ? text : [...values].join(",");
}

function nextOf(schedule: Schedule, ms: number): number | undefined {
  return schedule.nextRun(new Date(ms))?.getTime();
}

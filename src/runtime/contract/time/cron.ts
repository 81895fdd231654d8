import { Cron as Schedule } from "croner";

/** The values of one field of a cron expression. */
type CronValues = ReadonlySet<number>;

/** Names of whole expressions. */
const NICKNAMES: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of values, from `min` upwards. */
  readonly names?: readonly string[];
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const SUNDAY = 7;

const FIELDS: readonly CronField[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of the week", min: 0, max: SUNDAY, names: WEEKDAYS },
];

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

/** Returns the values of a field, or what is wrong with it. */
function parseField(text: string, field: CronField): CronValues | string {
  const values = new Set<number>();
  for (const item of text.split(",")) {
    const problem = addItem(item, field, values);
    if (problem !== undefined) return problem;
  }
  return values;
}

/** Adds the values of one item of a list: `*`, `5`, `1-5`, each perhaps with a step such as `/2`. */
function addItem(item: string, field: CronField, values: Set<number>): string | undefined {
  const [range = "", step, ...rest] = item.split("/");
  const [first = "", last, ...more] = range.split("-");
  if (rest.length > 0 || more.length > 0) return `${quoted(item)} is not a number, a range or a step`;
  if (step !== undefined && !/^0*[1-9]\d{0,3}$/.test(step))
    return `the step in ${quoted(item)} is not a positive number`;
  const isOpen = range === "*" || (last === undefined && step !== undefined);
  const from = range === "*" ? field.min : numberOf(first, field);
  const to = isOpen ? field.max : numberOf(last ?? first, field);
  if (typeof from === "string") return from;
  if (typeof to === "string") return to;
  const isWeekday = field.max === SUNDAY;
  // Sunday is at both ends of the week: last in a range that ends with it, and only once in all days.
  const end = isWeekday && isOpen ? Math.max(from, SUNDAY - 1) : isWeekday && to === 0 && from > 0 ? SUNDAY : to;
  if (from > end) return `the range ${quoted(range)} ends before it begins`;
  for (let value = from; value <= end; value += Number(step ?? 1)) values.add(isWeekday ? value % SUNDAY : value);
  return undefined;
}

function numberOf(text: string, { min, max, names }: CronField): number | string {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return min + named;
  const expected = `${min} to ${max}${names === undefined ? "" : ` or ${names[0]} to ${names.at(-1)}`}`;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : `expected ${expected}, not ${quoted(text)}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

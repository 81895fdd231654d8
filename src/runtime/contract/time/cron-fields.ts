/** The values of one field of a cron expression. */
export type CronValues = ReadonlySet<number>;

/** Names of whole expressions. */
export const NICKNAMES: Readonly<Record<string, string>> = {
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

export const FIELDS: readonly CronField[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of the month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of the week", min: 0, max: SUNDAY, names: WEEKDAYS },
];

/** Returns the values of a field, or what is wrong with it. */
export function parseField(text: string, field: CronField): CronValues | string {
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

export function quoted(text: string): string {
  return JSON.stringify(text);
}

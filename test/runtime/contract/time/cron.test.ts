import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Cron, parseCron } from "../../../../src/runtime/contract/time/cron.js";
import { runs } from "../../../support/runs.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

function cronOf(text: string, zone?: string): Cron {
  const cron = parseCron(text, zone);
  if ("problem" in cron) throw new Error(cron.problem);
  return cron;
}

const next = (text: string, after: string, zone?: string) =>
  new Date(cronOf(text, zone).next(Date.parse(after))).toISOString().replace(":00.000Z", "Z");

describe("the next time of a cron expression", () => {
  it.each([
    ["* * * * *", "2026-11-17T07:20:30Z", "2026-11-17T07:21Z"],
    ["30 2 * * *", "2026-11-17T02:30:00Z", "2026-11-18T02:30Z"],
    ["*/15 9-17 * * MON-FRI", "2026-11-20T17:45:00Z", "2026-11-23T09:00Z"],
    ["0 0 1,15 * *", "2026-11-17T00:00:00Z", "2026-12-01T00:00Z"],
    ["0 12 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T12:00Z"],
    ["0 12 29 feb *", "2097-01-01T00:00:00Z", "2104-02-29T12:00Z"],
    ["5 4 13 * fri", "2026-11-17T00:00:00Z", "2026-11-20T04:05Z"],
    ["0 0 * * 7", "2026-11-17T00:00:00Z", "2026-11-22T00:00Z"],
    ["0 0 * * sat-sun", "2026-11-21T00:00:00Z", "2026-11-22T00:00Z"],
    ["10/20 * * * *", "2026-11-17T07:10:00Z", "2026-11-17T07:30Z"],
    ["@daily", "2026-11-17T07:20:00Z", "2026-11-18T00:00Z"],
    ["@Hourly", "2026-11-17T07:20:00Z", "2026-11-17T08:00Z"],
    ["@weekly", "2026-11-17T07:20:00Z", "2026-11-22T00:00Z"],
    ["@monthly", "2026-11-17T07:20:00Z", "2026-12-01T00:00Z"],
    ["@yearly", "2026-11-17T07:20:00Z", "2027-01-01T00:00Z"],
  ])("%s after %s is %s", (text, after, expected) => {
    expect(next(text, after)).toBe(expected);
  });

  it("follows the clocks of its time zone, which skip an hour and repeat one", () => {
    expect(next("30 2 * * *", "2026-11-17T00:00:00Z", "Europe/Berlin")).toBe("2026-11-17T01:30Z");
    expect(next("30 2 * * *", "2026-03-28T02:00:00Z", "Europe/Berlin")).toBe("2026-03-29T01:00Z");
    expect(next("30 2 * * *", "2026-03-29T01:00:00Z", "Europe/Berlin")).toBe("2026-03-30T00:30Z");
    expect(next("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin")).toBe("2026-10-25T00:30Z");
    expect(next("30 2 * * *", "2026-10-25T00:30:00Z", "Europe/Berlin")).toBe("2026-10-26T01:30Z");
    expect(next("30 * * * *", "2026-10-25T00:30:00Z", "Europe/Berlin")).toBe("2026-10-25T01:30Z");
  });
});

describe("a cron expression that is wrong", () => {
  it.each([
    ["60 * * * *", 'minute: expected 0 to 59, not "60"'],
    ["* 24 * * *", 'hour: expected 0 to 23, not "24"'],
    ["* * 0 * *", 'day of the month: expected 1 to 31, not "0"'],
    ["* * * 13 *", 'month: expected 1 to 12 or JAN to DEC, not "13"'],
    ["* * * * 8", 'day of the week: expected 0 to 7 or SUN to SAT, not "8"'],
    ["* * * * MOON", 'day of the week: expected 0 to 7 or SUN to SAT, not "MOON"'],
    ["1,,2 * * * *", 'minute: expected 0 to 59, not ""'],
    ["-5 * * * *", 'minute: expected 0 to 59, not ""'],
    ["5-1 * * * *", 'minute: the range "5-1" ends before it begins'],
    ["*/0 * * * *", 'minute: the step in "*/0" is not a positive number'],
    ["1/2/3 * * * *", 'minute: "1/2/3" is not a number, a range or a step'],
    ["0 0 30 2 *", 'day of the month: "30" does not exist in month "2"'],
    ["@reboot", '"@reboot" is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly'],
    ["0 2 * *", "expected five fields (minute, hour, day of the month, month, day of the week) such as 30 2 * * *"],
    ["0 0 2 * * *", "expected five fields (minute, hour, day of the month, month, day of the week) such as 30 2 * * *"],
  ])("%s names the field", (text, problem) => {
    expect(parseCron(text)).toEqual({ problem });
  });

  it("says so if the time zone is not known", () => {
    expect(parseCron("@daily", "Europe/Bonn")).toEqual({ problem: 'there is no time zone "Europe/Bonn"' });
  });
});

/** The values of a field beside its text, so that the test needs no parser of its own. */
interface ModelField {
  readonly text: string;
  readonly values: ReadonlySet<number>;
}

const range = (from: number, to: number, step = 1) => {
  const values: number[] = [];
  for (let value = from; value <= to; value += step) values.push(value);
  return values;
};

function field(min: number, max: number, names: readonly string[] = []): fc.Arbitrary<ModelField> {
  const value = fc.integer({ min, max });
  const nameOf = (n: number) => names[n - min] ?? String(n);
  const span = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const step = fc.integer({ min: 1, max: max + 3 });
  const item = fc.oneof(
    value.map((n) => ({ text: nameOf(n), values: [n] })),
    span.map(([a, b]) => ({ text: `${nameOf(a)}-${b}`, values: range(a, b) })),
    fc.tuple(span, step).map(([[a, b], n]) => ({ text: `${a}-${b}/${n}`, values: range(a, b, n) })),
    fc.tuple(value, step).map(([a, n]) => ({ text: `${a}/${n}`, values: range(a, max, n) })),
  );
  const list = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map(({ text }) => text).join(","),
    values: new Set(items.flatMap(({ values }) => values)),
  }));
  const star = fc.constant({ text: "*", values: new Set(range(min, max)) });
  const stepped = step.map((n) => ({ text: `*/${n}`, values: new Set(range(min, max, n)) }));
  return fc.oneof({ weight: 3, arbitrary: star }, { weight: 1, arbitrary: stepped }, { weight: 3, arbitrary: list });
}

const MONTHS = ["Jan", "feb", "MAR", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["Sun", "mon", "TUE", "wed", "thu", "fri", "sat"];
const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(0, 6, WEEKDAYS));

const zones = fc.constantFrom(
  ...["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"],
);
/** Hours before the clocks change in one of these places, or any time. */
const times = fc
  .tuple(
    fc.oneof(
      fc.constantFrom("2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-04", "2026-10-03", "2026-02-15"),
      fc.integer({ min: 0, max: 40_000 }).map((day) => new Date(day * DAY).toISOString().slice(0, 10)),
    ),
    fc.integer({ min: -DAY, max: DAY }),
  )
  .map(([day, ms]) => Date.parse(day) + ms);

const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Minute, hour, day, month and weekday as the clocks of the place show them. */
function shown(ms: number, zone: string): number[] {
  let format = FORMATS.get(zone);
  if (format === undefined) {
    const numeric = "numeric" as const;
    const keys = { minute: numeric, hour: numeric, day: numeric, month: numeric, weekday: "short" as const };
    format = new Intl.DateTimeFormat("en-US", { ...keys, hourCycle: "h23", timeZone: zone });
    FORMATS.set(zone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"].indexOf(parts["weekday"]!);
  return [...["minute", "hour", "day", "month"].map((name) => Number(parts[name])), weekday];
}

function isMatch(model: readonly ModelField[], ms: number, zone: string): boolean {
  const [minute, hour, day, month, weekday] = shown(ms, zone).map((value, i) => model[i]!.values.has(value));
  const isEither = [2, 4].every((i) => !model[i]!.text.startsWith("*"));
  return minute! && hour! && month! && (isEither ? day! || weekday! : day! && weekday!);
}

/** Whether the clocks of the place have skipped some time right before. */
function followsSkip(ms: number, zone: string): boolean {
  const [before, after] = [shown(ms - MINUTE, zone), shown(ms, zone)];
  return after[0] !== (before[0]! + 1) % 60 || (before[0] === 59 && after[1] !== (before[1]! + 1) % 24);
}

/** Whether the clocks of the place have shown this time before, and were set back since. */
function isRepeated(ms: number, zone: string): boolean {
  const now = shown(ms, zone).join();
  return [30, 60].some((minutes) => shown(ms - minutes * MINUTE, zone).join() === now);
}

describe("the next time of any cron expression", () => {
  it("is later, matches, and no minute between matches, but for those that the clocks skip or repeat", () => {
    fc.assert(
      fc.property(
        fields,
        zones,
        times,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (model, zone, after, dice) => {
          const cron = parseCron(model.map(({ text }) => text).join(" "), zone);
          if ("problem" in cron) {
            expect(cron.problem).toMatch(/^day of the month: .* does not exist in month/);
            return;
          }
          const found = cron.next(after);
          expect(found).toBeGreaterThan(after);
          expect(Math.abs(found % MINUTE)).toBe(0);
          expect(isMatch(model, found, zone) || followsSkip(found, zone)).toBe(true);
          const first = (Math.floor(after / MINUTE) + 1) * MINUTE;
          const minutes = (found - first) / MINUTE;
          // The first and the last minutes, and some of those between.
          const between = [...range(0, Math.min(minutes, 200) - 1), ...range(Math.max(0, minutes - 200), minutes - 1)];
          for (let i = 0; i < 50; i++) between.push(Math.floor(dice.next().value! * minutes));
          for (const i of between.filter((n) => n < minutes))
            if (isMatch(model, first + i * MINUTE, zone) && !isRepeated(first + i * MINUTE, zone))
              throw new Error(`${new Date(first + i * MINUTE).toISOString()}`);
        },
      ),
      runs(500),
    );
  });
});

import { type ClockRange, localRanges } from "./local-ranges.js";

/** How the Collector's exporter divides a bucket by default. */
export const MINUTE_PARTITIONS = "year=%Y/month=%m/day=%d/hour=%H/minute=%M";
export const HOUR_PARTITIONS = "year=%Y/month=%m/day=%d/hour=%H";

/** The directives of a partition format, from the longest time to the shortest. */
const UNITS = ["Y", "m", "d", "H", "M"] as const;
type Unit = (typeof UNITS)[number];

/** Objects in [from, to), which all have this prefix. Times are those of the zone's clocks, written as if they were UTC. */
interface PartitionRange extends ClockRange {
  readonly prefix: string;
}

/** A part of the path that stands for a whole time unit: a year, a month, a day, an hour or a minute. */
interface PartitionLevel {
  readonly format: string;
  readonly unit: Unit;
}

/** Returns a sentence about the problem if objects cannot be found by time with this format. */
export function partitionFormatProblem(format: string): string | undefined {
  const unknown = [...format.matchAll(/%(.?)/g)].find(([, name = ""]) => !(UNITS as readonly string[]).includes(name));
  if (unknown !== undefined) return `${unknown[0]} is not supported: use ${UNITS.map((unit) => `%${unit}`).join(", ")}`;
  const levels = levelsOf(format);
  const whole = levels.at(-1);
  if (whole?.format === format) return undefined;
  return "it must contain %Y, and every unit between %Y and the shortest one: %Y, %m, %d, %H, %M";
}

/**
 * Divides [since, until) into the fewest prefixes: whole years, months, days and hours where they fit, and the shortest
 * unit at both ends, so that no partition outside is listed, and none twice. In the order of time. The partitions are in
 * the time zone `timezone`; "" is that of the machine.
 */
export function* partitionRanges(
  format: string,
  since: number,
  until: number,
  base = "",
  timezone = "UTC",
): Generator<PartitionRange, void> {
  const levels = levelsOf(format);
  const shortest = levels.at(-1);
  if (shortest?.format !== format) throw new RangeError(partitionFormatProblem(format));
  const widened = ({ from, to }: ClockRange) => ({
    from: startOf(from, shortest.unit),
    to: startAfter(to - 1, shortest.unit),
  });
  for (const range of localRanges(timezone, { from: since, to: until }, widened))
    yield* rangesBetween(levels, shortest, range, base);
}

function* rangesBetween(
  levels: readonly PartitionLevel[],
  shortest: PartitionLevel,
  { from: since, to: until }: ClockRange,
  base: string,
): Generator<PartitionRange, void> {
  for (let from = startOf(since, shortest.unit); from < until; ) {
    const fits = ({ unit }: PartitionLevel) => startOf(from, unit) === from && startAfter(from, unit) <= until;
    const { unit, format: path } = levels.find(fits) ?? shortest;
    const to = startAfter(from, unit);
    yield { prefix: `${base}${formatPartition(path, from)}/`, from, to };
    from = to;
  }
}

/** Writes a time in UTC as the path of its partition. */
export function formatPartition(format: string, ms: number): string {
  const date = new Date(ms);
  const parts: Readonly<Record<Unit, string>> = {
    Y: String(date.getUTCFullYear()).padStart(4, "0"),
    m: twoDigits(date.getUTCMonth() + 1),
    d: twoDigits(date.getUTCDate()),
    H: twoDigits(date.getUTCHours()),
    M: twoDigits(date.getUTCMinutes()),
  };
  return format.replace(/%([YmdHM])/g, (_, unit: Unit) => parts[unit]);
}

/** Folders of the path that contain exactly one time unit, from the longest to the shortest. */
function levelsOf(format: string): PartitionLevel[] {
  const segments = format.split("/");
  return segments.flatMap((_, i) => {
    const path = segments.slice(0, i + 1).join("/");
    const used = UNITS.map((unit) => path.includes(`%${unit}`));
    const count = used.lastIndexOf(true) + 1;
    const isWhole = count > 0 && used.slice(0, count).every(Boolean);
    return isWhole ? [{ format: path, unit: UNITS[count - 1]! }] : [];
  });
}

function startOf(ms: number, unit: Unit): number {
  const [year, month, day, hour, minute] = fieldsOf(ms);
  const depth = UNITS.indexOf(unit);
  return Date.UTC(year, depth >= 1 ? month : 0, depth >= 2 ? day : 1, depth >= 3 ? hour : 0, depth >= 4 ? minute : 0);
}

/** The start of the next unit. */
function startAfter(ms: number, unit: Unit): number {
  const [year, month, day, hour, minute] = fieldsOf(startOf(ms, unit));
  const add = UNITS.map((each) => (each === unit ? 1 : 0));
  return Date.UTC(year + add[0]!, month + add[1]!, day + add[2]!, hour + add[3]!, minute + add[4]!);
}

function fieldsOf(ms: number): [number, number, number, number, number] {
  const date = new Date(ms);
  return [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes()];
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

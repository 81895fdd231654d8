import { zoneAtInstant } from "#text";

/** Milliseconds since the epoch; or a wall-clock time, written as if it were UTC. */
export interface ClockRange {
  readonly from: number;
  readonly to: number;
}

const WEEK = 7 * 24 * 60 * 60 * 1000;
/** No telemetry was archived before 1970, and the rules of time zones after 2100 are unknown. */
const FIRST_CHANGE = Date.UTC(1970);
const LAST_CHANGE = Date.UTC(2100);

/**
 * The wall-clock times of a zone during [since, until), as one range or, if clocks were set back, as ranges in the order
 * of time. `widened` says which times are read as a whole: ranges that have such times in common are joined, so that
 * nothing is read twice. Hours that clocks skip are included, because they contain nothing.
 */
export function localRanges(
  timezone: string,
  { from: since, to: until }: ClockRange,
  widened: (range: ClockRange) => ClockRange,
): readonly ClockRange[] {
  if (timezone === "UTC") return [{ from: since, to: until }];
  const ranges: ClockRange[] = [];
  for (const next of wallClockTimes(timezone, since, until)) {
    const last = ranges.at(-1);
    if (last === undefined || widened(next).to <= widened(last).from) ranges.push(next);
    else ranges[ranges.length - 1] = { from: Math.min(last.from, next.from), to: Math.max(last.to, next.to) };
  }
  return ranges;
}

/** One range for each time during which the clocks were not changed. */
function* wallClockTimes(timezone: string, since: number, until: number): Generator<ClockRange> {
  let from = since;
  let offset = offsetAt(timezone, since);
  const last = Math.min(until, LAST_CHANGE);
  for (let at = Math.max(since, FIRST_CHANGE); at < last; ) {
    const next = Math.min(at + WEEK, last);
    if (offsetAt(timezone, next) === offset) {
      at = next;
      continue;
    }
    at = changeBetween(timezone, at, next, offset);
    yield { from: from + offset, to: at + offset };
    from = at;
    offset = offsetAt(timezone, at);
  }
  if (from < until) yield { from: from + offset, to: until + offset };
}

/** The first time after `before` with another offset, which `after` has too. */
function changeBetween(timezone: string, before: number, after: number, offset: number): number {
  let low = before;
  let high = after;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(timezone, middle) === offset) low = middle;
    else high = middle;
  }
  return high;
}

function offsetAt(timezone: string, ms: number): number {
  return zoneAtInstant(timezone, ms).offsetSeconds * 1000;
}

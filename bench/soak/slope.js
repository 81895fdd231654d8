import { median } from "../lib/statistics.js";

/**
 * How fast something grows: the Theil-Sen estimator, which is the median of the slopes between all pairs of points,
 * with Sen's confidence interval. Up to a quarter of the points may be arbitrarily wrong without changing the estimate
 * much, so a sample taken during an outage does no harm.
 *
 * @typedef {{ at: number, value: number }} Point seconds, and what was measured then
 * @typedef {{ perHour: number, low: number, high: number }} Slope units per hour, and the bounds of the interval
 * @typedef {"flat" | "grows" | "undecided"} Verdict
 */
const SECONDS_PER_HOUR = 3600;
/** For a two-sided interval of 99 %. */
const Z = 2.576;
/** With fewer points the interval is infinite. */
export const MIN_POINTS = 7;

/**
 * Needs at least two points; with few of them the interval is infinite.
 * @param {readonly Point[]} points @returns {Slope}
 */
export function slopeOf(points) {
  const slopes = [];
  for (let i = 0; i < points.length; i++)
    for (let j = i + 1; j < points.length; j++) {
      const seconds = points[j].at - points[i].at;
      if (seconds > 0) slopes.push(((points[j].value - points[i].value) / seconds) * SECONDS_PER_HOUR);
    }
  slopes.sort((a, b) => a - b);
  const n = points.length;
  const halfWidth = (Z * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)) / 2;
  const middle = slopes.length / 2;
  return {
    perHour: median(slopes),
    low: slopes[Math.floor(middle - halfWidth)] ?? Number.NEGATIVE_INFINITY,
    high: slopes[Math.ceil(middle + halfWidth)] ?? Number.POSITIVE_INFINITY,
  };
}

/**
 * `flat`: the whole interval is within the limit. `grows`: the whole interval is above it. Otherwise the points are
 * inconclusive, and the run must be longer.
 *
 * @param {Slope} slope @param {number} maxPerHour @returns {Verdict}
 */
export function verdictOf({ low, high }, maxPerHour) {
  if (high <= maxPerHour) return "flat";
  return low > maxPerHour ? "grows" : "undecided";
}

/**
 * One point per cycle of outages: the minimum of live bytes, which remains when the backlog is gone. A leak raises it,
 * while waiting entries do not.
 *
 * @param {readonly Point[]} samples in order @param {number} cycleSeconds @returns {Point[]}
 */
export function leastOfEachCycle(samples, cycleSeconds) {
  /** @type {Map<number, Point>} */
  const least = new Map();
  for (const sample of samples) {
    const cycle = Math.floor(sample.at / cycleSeconds);
    const known = least.get(cycle);
    if (known === undefined || sample.value < known.value) least.set(cycle, sample);
  }
  return [...least.values()];
}

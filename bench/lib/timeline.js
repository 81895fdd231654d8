/** Figures from counts in buckets of equal length. */

/** The highest rate per second in any window. @param {number[]} buckets @param {number} bucketMs */
export function peakRate(buckets, bucketMs, windowMs = 1000, from = 0) {
  const width = Math.round(windowMs / bucketMs);
  let most = 0;
  for (let i = from; i < buckets.length; i++) most = Math.max(most, sum(buckets, i, i + width));
  return (most / windowMs) * 1000;
}

/**
 * The rate per second between two buckets.
 * @param {number[]} buckets @param {number} bucketMs @param {number} from @param {number} to
 */
export function rateBetween(buckets, bucketMs, from, to) {
  return (sum(buckets, from, to) / ((to - from) * bucketMs)) * 1000;
}

/** The first bucket by which this amount was reached. @param {number[]} buckets @param {number} amount */
export function bucketOf(buckets, amount) {
  let total = 0;
  for (let i = 0; i < buckets.length; i++) {
    total += buckets[i] ?? 0;
    if (total >= amount) return i;
  }
  return buckets.length;
}

function sum(/** @type {number[]} */ buckets, /** @type {number} */ from, /** @type {number} */ to) {
  let total = 0;
  for (let i = from; i < Math.min(to, buckets.length); i++) total += buckets[i] ?? 0;
  return total;
}

/** The value below which this share of the values is. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
}

/** Median and 99th percentile in milliseconds, for the page. */
export function spreadOf(values) {
  const [half, most] = [percentile(values, 0.5), percentile(values, 0.99)];
  return `p99 ${most.toFixed(1)} ms, median ${half.toFixed(1)} ms, of ${values.length}`;
}

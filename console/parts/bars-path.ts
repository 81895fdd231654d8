export const CHART_WIDTH = 120;
export const CHART_HEIGHT = 28;

/**
 * A bar per bucket, the oldest at the left, scaled to the highest; empty buckets get a line. One path instead of an
 * element per bar, because a page has hundreds of them.
 */
export function barsPath(values: readonly number[]): string {
  const max = Math.max(...values, 1);
  const width = CHART_WIDTH / Math.max(values.length, 1);
  const bars = values.map((value, i) => {
    const height = value === 0 ? 1 : Math.max((value / max) * CHART_HEIGHT, 2);
    const [left, top] = [i * width + 0.5, CHART_HEIGHT - height];
    return `M${left.toFixed(1)} ${CHART_HEIGHT}V${top.toFixed(1)}h${Math.max(width - 1, 0.5).toFixed(1)}V${CHART_HEIGHT}z`;
  });
  return bars.join("");
}

import { barsPath, CHART_HEIGHT as HEIGHT, CHART_WIDTH as WIDTH } from "./bars-path.js";

/** A small line chart, newest value at the right; missing values are gaps. */
export function Sparkline({ values, label }: { values: readonly (number | null)[]; label: string }) {
  const numbers = values.map((value) => value ?? 0);
  const max = Math.max(...numbers, 0);
  const step = WIDTH / Math.max(values.length - 1, 1);
  const y = (value: number) => HEIGHT - 2 - (max === 0 ? 0 : (value / max) * (HEIGHT - 4));
  const points = numbers.map((value, i) => `${(i * step).toFixed(1)},${y(value).toFixed(1)}`);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <polygon points={`0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`} />
      <polyline points={points.join(" ")} />
    </svg>
  );
}

/** A bar per bucket, for example the number of failures. */
export function Bars({ values, label }: { values: readonly number[]; label: string }) {
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={barsPath(values)} />
    </svg>
  );
}

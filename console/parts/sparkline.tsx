const WIDTH = 120;
const HEIGHT = 28;

/** A small line of values over time, the newest at the right; what is missing is a gap. */
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

/** A bar per bucket, as for how often something failed. */
export function Bars({ values, label }: { values: readonly number[]; label: string }) {
  const max = Math.max(...values, 1);
  const width = WIDTH / Math.max(values.length, 1);
  // One path, not an element for each bar: there are hundreds of these on a page.
  const bars = values.map((value, i) => {
    const height = value === 0 ? 1 : Math.max((value / max) * HEIGHT, 2);
    const [left, top] = [i * width + 0.5, HEIGHT - height];
    return `M${left.toFixed(1)} ${HEIGHT}V${top.toFixed(1)}h${Math.max(width - 1, 0.5).toFixed(1)}V${HEIGHT}z`;
  });
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={bars.join("")} />
    </svg>
  );
}

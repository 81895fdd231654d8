const UNITS: readonly (readonly [string, number])[] = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
  ["us", 1e-3],
  ["ns", 1e-6],
];

/** Milliseconds as people write them: 90000 is `1m30s`, 1500 is `1.5s`, 0 is `0s`. */
export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  for (const [unit, size] of UNITS) {
    const amount = ms / size;
    if (amount >= 1 && Number.isInteger(round(amount * 10))) return `${round(amount)}${unit}`;
    if (amount >= 1 && unit !== "ns" && Number.isInteger(round(ms / 1000)) && unit === "m") {
      return `${Math.floor(amount)}m${round((ms % 60_000) / 1000)}s`;
    }
  }
  return `${round(ms * 1e6)}ns`;
}

/** Bytes as people write them: 67108864 is `64MiB`. */
export function byteSizeText(bytes: number): string {
  for (const [unit, size] of [
    ["GiB", 1024 ** 3],
    ["MiB", 1024 ** 2],
    ["KiB", 1024],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Parses and prints durations and sizes, as people write them in config. */

/** Milliseconds of each unit that the Collector knows too, from the longest to the shortest. */
const DURATION_UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  ns: 1e-6,
};

/** Days and weeks are parsed but never printed, because the Collector would not accept them. */
const UNIT_MS: Readonly<Record<string, number>> = { ...DURATION_UNITS, µs: 1e-3, d: 86_400_000, w: 604_800_000 };

/** Longer units first, because `5ms` is not five minutes. */
const UNITS = Object.keys(UNIT_MS).sort((a, b) => b.length - a.length);
const AMOUNT = `(\\d+(?:\\.\\d+)?)(${UNITS.join("|")})`;
/** A duration with units, as the source of a regular expression. */
export const DURATION_PATTERN = `(?:${AMOUNT})+`;
const DURATION = new RegExp(`^${DURATION_PATTERN}$`);

/** Returns milliseconds, or undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text) / 1e6;
  if (!DURATION.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of text.matchAll(new RegExp(AMOUNT, "g"))) total += Number(amount) * UNIT_MS[unit]!;
  return total;
}

/** Formats milliseconds as in config: 90000 is `1m30s`, 1500 is `1.5s`, 0 is `0s`. */
export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  for (const [unit, size] of Object.entries(DURATION_UNITS)) {
    const amount = ms / size;
    if (amount >= 1 && Number.isInteger(round(amount * 10))) return `${round(amount)}${unit}`;
    if (amount >= 1 && unit === "m" && Number.isInteger(round(ms / 1000))) {
      return `${Math.floor(amount)}m${round((ms % 60_000) / 1000)}s`;
    }
  }
  return `${round(ms * 1e6)}ns`;
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

/** Returns the bytes of a text such as `64MiB`; undefined if it is not a size. */
export function parseByteSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = UNIT_BYTES[match?.[2]?.toLowerCase() ?? "?"];
  return match && unit !== undefined ? Math.floor(Number(match[1]) * unit) : undefined;
}

/** Formats bytes as in config: 67108864 is `64MiB`. */
export function byteSizeText(bytes: number): string {
  for (const unit of ["GiB", "MiB", "KiB"]) {
    const size = UNIT_BYTES[unit.toLowerCase()]!;
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}

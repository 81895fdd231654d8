/** Returns nanoseconds as milliseconds with a fraction, as text: the format epoch_millis reads this without loss. */
export function epochMillis(nanos: unknown): string {
  const time = typeof nanos === "bigint" ? nanos : 0n;
  return `${time / 1_000_000n}.${String(time % 1_000_000n).padStart(6, "0")}`;
}

/** Returns an ISO 8601 time: 2026-01-02T03:04:05.000000006Z. */
export function isoTime(nanos: unknown): string {
  const time = typeof nanos === "bigint" ? nanos : 0n;
  const millis = Number(time / 1_000_000n);
  const whole = Math.abs(millis) <= MAX_DATE_MS ? new Date(millis).toISOString() : new Date(0).toISOString();
  return `${whole.slice(0, 19)}.${String(time % 1_000_000_000n).padStart(9, "0")}Z`;
}

const MAX_DATE_MS = 8.64e15;

const PARTS: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getUTCFullYear()),
  y: (date) => two(date.getUTCFullYear() % 100),
  m: (date) => two(date.getUTCMonth() + 1),
  d: (date) => two(date.getUTCDate()),
  H: (date) => two(date.getUTCHours()),
  M: (date) => two(date.getUTCMinutes()),
  S: (date) => two(date.getUTCSeconds()),
};

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** Formats a date with a strftime format: %Y, %y, %m, %d, %H, %M, %S. */
export function strftime(format: string, now: number): string {
  const date = new Date(now);
  return format.replace(/%([A-Za-z%])/g, (whole, letter: string) =>
    letter === "%" ? "%" : (PARTS[letter]?.(date) ?? whole),
  );
}

const TOKENS: readonly (readonly [RegExp, string])[] = [
  [/yyyy/g, "%Y"],
  [/yy/g, "%y"],
  [/MM/g, "%m"],
  [/dd/g, "%d"],
  [/HH/g, "%H"],
  [/mm/g, "%M"],
  [/ss/g, "%S"],
];

/** Formats a date with a format such as yyyy.MM.dd. */
export function formatDate(format: string, now: number): string {
  return strftime(
    TOKENS.reduce((text, [token, letter]) => text.replace(token, letter), format.replaceAll("%", "%%")),
    now,
  );
}

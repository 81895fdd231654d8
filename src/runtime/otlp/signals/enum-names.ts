/** Names of OTLP's enums by number, in lower case; in OTLP they are in upper case with a prefix. */

/** The six severities of log records. Each has four numbers: info is 9 to 12. */
export const SEVERITIES = ["trace", "debug", "info", "warn", "error", "fatal"] as const;

export type Severity = (typeof SEVERITIES)[number];

/** The first number of each severity. */
export const SEVERITY_NUMBERS = Object.fromEntries(SEVERITIES.map((name, i) => [name, 4 * i + 1])) as Readonly<
  Record<Severity, number>
>;

export const MAX_SEVERITY_NUMBER = 4 * SEVERITIES.length;

/** All 25 names of severity numbers: unspecified, trace, trace2, trace3, trace4, debug ... */
export const SEVERITY_NUMBER_NAMES: readonly string[] = [
  "unspecified",
  ...SEVERITIES.flatMap((name) => [name, `${name}2`, `${name}3`, `${name}4`]),
];

export const SPAN_KINDS: readonly string[] = ["unspecified", "internal", "server", "client", "producer", "consumer"];

/** The codes of a span's status. */
export const STATUS_CODES: readonly string[] = ["unset", "ok", "error"];

export const TEMPORALITIES: readonly string[] = ["unspecified", "delta", "cumulative"];

/** The names as OTLP/JSON and OTTL write them: SPAN_KIND_SERVER. */
export function symbolsOf(names: readonly string[], prefix: string): readonly string[] {
  return names.map((name) => `${prefix}_${name.toUpperCase()}`);
}

export const SPAN_KIND_SYMBOLS = symbolsOf(SPAN_KINDS, "SPAN_KIND");

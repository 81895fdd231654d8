import { z } from "zod";
import { compilePattern } from "#text/patterns";

/** Schema building blocks for Prometheus's config. */

const UNIT_MS: Readonly<Record<string, number>> = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};

/** Parses a Prometheus duration such as `1m30s` or `1d` into milliseconds. Returns undefined if it is invalid. */
export function parsePrometheusDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(y|w|d|h|ms|m|s))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(y|w|d|h|ms|m|s)/gy))
    total += Number(amount) * UNIT_MS[unit]!;
  return total;
}

/** Gives milliseconds. A bare integer means nanoseconds, as elsewhere in a config. */
export function prometheusDuration() {
  return z
    .union([z.string(), z.number().int()], { error: "expected a duration such as 15s, 1m or 1d" })
    .transform((value, context) => {
      const ms = typeof value === "number" ? value / 1e6 : parsePrometheusDuration(value);
      if (ms !== undefined && ms > 0) return ms;
      context.addIssue({ code: "custom", message: "expected a duration such as 15s, 1m or 1d" });
      return z.NEVER;
    })
    .meta({ format: "duration" });
}

/** A text that YAML may parse as a number or a boolean, such as `regex: true`. */
export function text() {
  return z.union([z.string(), z.number(), z.boolean()]).transform(String);
}

/** A map of texts, such as labels. */
export function textMap() {
  return z
    .record(z.string(), text().nullable())
    .nullish()
    .transform((written) =>
      Object.fromEntries(Object.entries(written ?? {}).map(([name, value]) => [name, value ?? ""])),
    );
}

/** A list that may be left empty: a key without a value is null in YAML. */
export function list<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => value ?? [], z.array(schema)).default([]);
}

/** A pattern in RE2 syntax that must match the whole text. */
export function wholePattern(source: string) {
  return compilePattern(`^(?s:${source})$`);
}

export function patternText() {
  return text().superRefine((source, context) => {
    try {
      wholePattern(source);
    } catch (error) {
      context.addIssue({ code: "custom", message: (error as Error).message });
    }
  });
}

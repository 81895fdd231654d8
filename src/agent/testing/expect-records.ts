import { AssertionError } from "node:assert";
import { inspect, isDeepStrictEqual } from "node:util";
import type { Batch } from "#otlp";
import type { Value } from "#otlp/bytes";
import { type PlainRecord, plainRecords } from "./plain-records.js";

/** The expected parts of a record; fields left out are not checked. An attribute that is undefined must be absent. */
export interface ExpectedRecord {
  readonly name?: string;
  readonly body?: Value;
  readonly attributes?: Readonly<Record<string, Value | undefined>>;
  readonly resource?: Readonly<Record<string, Value | undefined>>;
}

/** Batches, records, or an object with records, such as a pipeline. */
export type RecordSource = Batch | readonly (Batch | PlainRecord)[] | { records(): readonly PlainRecord[] };

/** Assertions about records; a failed one throws an error that shows the records. */
export interface RecordExpectations {
  /** The records have these parts, in this order, and there are no others. */
  toMatch(expected: readonly ExpectedRecord[]): void;
  /** At least one record has all of this. */
  toInclude(expected: ExpectedRecord): void;
  /** No record has all of this. */
  toExclude(expected: ExpectedRecord): void;
  /** Every record has all of this, and there is at least one. */
  toAllMatch(expected: ExpectedRecord): void;
  /** There are exactly this many records. */
  toHaveCount(count: number): void;
}

/** Assertions about records, for any test runner. A failure shows the records and their differences. */
export function expectRecords(source: RecordSource): RecordExpectations {
  const records = recordsOf(source);
  const fail = (message: string, stackStartFn: (...args: never[]) => void): never => {
    throw new AssertionError({ message: `${message}\n${recordsText(records)}`, stackStartFn });
  };
  const expectations: RecordExpectations = {
    toHaveCount(count) {
      if (records.length !== count) fail(`expected ${count} records, got ${records.length}`, this.toHaveCount);
    },
    toMatch(expected) {
      if (records.length !== expected.length)
        fail(`expected ${expected.length} records, got ${records.length}`, this.toMatch);
      const words = records.flatMap((record, i) =>
        differences(record, expected[i]!).map((text) => `record ${i}: ${text}`),
      );
      if (words.length > 0) fail(words.join("\n"), this.toMatch);
    },
    toInclude(expected) {
      const isThere = records.some((record) => differences(record, expected).length === 0);
      if (!isThere) fail(`expected a record with ${inspect(expected)}`, this.toInclude);
    },
    toExclude(expected) {
      const at = records.findIndex((record) => differences(record, expected).length === 0);
      if (at >= 0) fail(`expected no record with ${inspect(expected)}, but record ${at} is one`, this.toExclude);
    },
    toAllMatch(expected) {
      if (records.length === 0) fail("expected records, got none", this.toAllMatch);
      const words = records.flatMap((record, i) => differences(record, expected).map((text) => `record ${i}: ${text}`));
      if (words.length > 0) fail(words.join("\n"), this.toAllMatch);
    },
  };
  return expectations;
}

function recordsOf(source: RecordSource): readonly PlainRecord[] {
  if ("records" in source) return source.records();
  const sources = "chunks" in source ? [source] : source;
  return sources.flatMap((part) => ("chunks" in part ? plainRecords(part) : part));
}

function differences(record: PlainRecord, expected: ExpectedRecord): string[] {
  const found: string[] = [];
  const compare = (what: string, actual: unknown, wanted: unknown) => {
    if (!isDeepStrictEqual(actual, wanted))
      found.push(`${what}: expected ${valueText(wanted)}, got ${valueText(actual)}`);
  };
  if (expected.name !== undefined) compare("name", record.name, expected.name);
  if (expected.body !== undefined) compare("body", record.body, expected.body);
  for (const part of ["attributes", "resource"] as const) {
    for (const [key, value] of Object.entries(expected[part] ?? {}))
      compare(`${part}[${valueText(key)}]`, record[part][key], value);
  }
  return found;
}

function valueText(value: unknown): string {
  return value === undefined ? "nothing" : inspect(value);
}

/** More records would hide the difference. */
const MAX_SHOWN = 10;

function recordsText(records: readonly PlainRecord[]): string {
  const lines = records
    .slice(0, MAX_SHOWN)
    .map((record, i) => `  record ${i}: ${inspect(record, { breakLength: 200 })}`);
  const left = records.length - lines.length;
  return [
    "the records:",
    ...lines,
    ...(left > 0 ? [`  and ${left} more`] : []),
    ...(records.length === 0 ? ["  none"] : []),
  ].join("\n");
}

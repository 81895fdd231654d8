import { parse, YAMLParseError } from "yaml";
import { z } from "zod";
import { duration } from "#contract/schema";
import type { Batch } from "#otlp";
import { batchFromJson } from "#otlp/json";
import { SIGNALS, type Signal } from "#otlp/signals";
import { logs, type TestLogInput } from "../../testing/plain-records.js";

const value: z.ZodType<unknown> = z.any();
const fields = z.record(z.string(), value);

const logRecord = z.union([
  z.string(),
  z.strictObject({
    name: z.string().optional(),
    body: value.optional(),
    severity_number: z.number().int().min(0).max(24).optional(),
    attributes: fields.optional(),
  }),
]);

const input = z
  .strictObject({
    receiver: z.string().optional(),
    logs: z.array(logRecord).optional(),
    otlp: fields.optional(),
    wait: duration().default(0),
  })
  .refine(({ logs, otlp }) => (logs === undefined) !== (otlp === undefined), "expected either logs or otlp");

/** A field with the value null must be absent from the record. */
const expectedRecord = z.strictObject({
  name: z.string().optional(),
  body: value.optional(),
  attributes: fields.optional(),
  resource: fields.optional(),
});

const expectedRecords = z.union([z.number().int().nonnegative(), z.array(expectedRecord)]);

const test = z
  .strictObject({
    name: z.string().min(1),
    input: input.optional(),
    inputs: z.array(input).optional(),
    expect: z.strictObject({
      outcome: z.enum(["accepted", "refused"]).default("accepted"),
      exporters: z.record(z.string(), expectedRecords).default({}),
      dead_letters: expectedRecords.optional(),
    }),
  })
  .refine(({ input, inputs }) => (input === undefined) !== (inputs === undefined), "expected either input or inputs");

const testFile = z.strictObject({ tests: z.array(test).min(1) });

export type ExpectedRecords = z.infer<typeof expectedRecords>;

/** One test of a config: its inputs, and the expected result. */
export interface ConfigTest {
  readonly name: string;
  readonly inputs: readonly TestInput[];
  readonly expect: z.infer<typeof test>["expect"];
}

export interface TestInput {
  /** The receiver that takes the input; undefined means the first one with a pipeline for the signal. */
  readonly receiver: string | undefined;
  readonly batch: Batch;
  /** How far the clock advances after the input, in milliseconds. */
  readonly waitMs: number;
}

/** A test file cannot be read or is invalid. */
export class TestFileError extends Error {
  override readonly name = "TestFileError";
}

/** Reads a test file. Throws a `TestFileError` with all of its problems. */
export function readTestFile(text: string, file: string): ConfigTest[] {
  const found = testFile.safeParse(parsedYaml(text, file));
  if (!found.success) {
    const problems = found.error.issues.map(
      ({ path, message }) => `${file}: ${path.join(".") || "the file"}: ${message}`,
    );
    throw new TestFileError(problems.join("\n"));
  }
  return found.data.tests.map(({ name, input: one, inputs = [], expect }, at) => ({
    name,
    expect,
    inputs: (one === undefined ? inputs : [one]).map((each) => readInput(each, `${file}: tests.${at}`)),
  }));
}

function parsedYaml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof YAMLParseError) throw new TestFileError(`${file}: ${error.message}`);
    throw error;
  }
}

function readInput({ receiver, logs: records, otlp, wait }: z.infer<typeof input>, where: string): TestInput {
  return {
    receiver,
    waitMs: wait,
    batch: records === undefined ? otlpBatch(otlp!, where) : logs(...records.map(logInput)),
  };
}

function logInput(record: z.infer<typeof logRecord>): TestLogInput {
  if (typeof record === "string") return record;
  const { severity_number: severityNumber, ...others } = record;
  return { ...others, ...(severityNumber !== undefined && { severityNumber }) } as TestLogInput;
}

const ROOTS: Readonly<Record<Signal, string>> = {
  logs: "resourceLogs",
  traces: "resourceSpans",
  metrics: "resourceMetrics",
};

function otlpBatch(otlp: Readonly<Record<string, unknown>>, where: string): Batch {
  const signal = SIGNALS.find((each) => ROOTS[each] in otlp);
  if (signal === undefined)
    throw new TestFileError(`${where}: expected one of ${Object.values(ROOTS).join(", ")} under otlp`);
  try {
    return batchFromJson(signal, JSON.stringify(otlp));
  } catch (error) {
    throw new TestFileError(`${where}: this is no OTLP/JSON: ${(error as Error).message}`);
  }
}

import { z } from "zod";
import { createExporterSettingsSchema } from "../../contract/schema/exporter-settings.js";
import { parseRecordPattern, type RecordPattern } from "../../contract/schema/record-pattern.js";
import type { Batch } from "../../telemetry/batch.js";
import { SIGNALS, type Signal } from "../../telemetry/bytes/signal.js";
import { readRecords } from "../../telemetry/edit/edit-records.js";
import type { ContextName } from "../paths/context.js";
import { isOttlSyntaxError, OttlSyntaxError } from "../values/error.js";
import type { Condition } from "./compile.js";
import { compileIn, ottlIssue } from "./infer-context.js";
import { anyMatches } from "./run.js";

/** Is there a record in the batch for which the condition holds? Throws when that cannot be decided. */
export type RecordCondition = (batch: Batch) => boolean;

/** What a path without a context in front of it may be about. Resource and scope are written in front. */
const CONDITION_CONTEXTS: Readonly<Record<Signal, readonly ContextName[]>> = {
  logs: ["log"],
  traces: ["span", "spanevent"],
  metrics: ["datapoint", "metric"],
};

/**
 * A condition on records of any signal: OTTL, or a pattern (see `parseRecordPattern`). Each signal has its own reading
 * of an OTTL text: its paths are those of a log record, a span (or span event), a data point (or metric). It holds for
 * every batch of a signal in which it means nothing.
 */
export function parseRecordCondition(text: string): RecordCondition | OttlSyntaxError {
  const compiled = compileForSignals(text);
  if (!isOttlSyntaxError(compiled)) {
    return (batch) => {
      const condition = compiled[batch.signal];
      return condition === undefined || anyMatches(batch, [condition]);
    };
  }
  if (LOOKS_LIKE_OTTL.test(text)) return compiled;
  const pattern = parseRecordPattern(text);
  return typeof pattern === "function"
    ? (batch) => anyRecordMatches(batch, pattern)
    : combinedSyntaxError(compiled, pattern.problem);
}

function combinedSyntaxError(
  { message, offset, length, suggestion }: OttlSyntaxError,
  problem: string,
): OttlSyntaxError {
  return new OttlSyntaxError(`${message}; as a pattern: ${problem}`, offset, length, suggestion);
}

/** Calls, keys in brackets and quoted texts are no part of a pattern: what has them is OTTL with a mistake in it. */
const LOOKS_LIKE_OTTL = /^[^=<>!]*["()[\]]/;

/** Of texts that compile for no signal the mistake that is the farthest behind: the others stumble over the context. */
function compileForSignals(text: string): Partial<Record<Signal, Condition>> | OttlSyntaxError {
  const compiled: Partial<Record<Signal, Condition>> = {};
  let mistake: OttlSyntaxError | undefined;
  for (const signal of SIGNALS) {
    for (const context of CONDITION_CONTEXTS[signal]) {
      const group = compileIn(context, [], [text]);
      if ("context" in group) compiled[signal] ??= group.conditions[0]!;
      else if (isOttlSyntaxError(group.error) && group.error.offset > (mistake?.offset ?? -1)) mistake = group.error;
    }
  }
  return mistake !== undefined && Object.keys(compiled).length === 0 ? mistake : compiled;
}

function anyRecordMatches(batch: Batch, pattern: RecordPattern): boolean {
  let found = false;
  readRecords(batch, (record) => {
    found ||= pattern(record);
  });
  return found;
}

/** A text that `parseRecordCondition` takes. Stays text. Empty: no condition. */
function recordCondition() {
  return z
    .string()
    .superRefine((text, context) => {
      const mistake = text === "" ? undefined : parseRecordCondition(text);
      if (isOttlSyntaxError(mistake)) context.addIssue(ottlIssue(mistake, []));
    })
    .meta({ format: "condition" });
}

/** The keys every exporter has, with their conditions checked. */
export const exporterSettingsSchema = createExporterSettingsSchema(recordCondition());

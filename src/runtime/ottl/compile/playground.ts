import type { OttlTrialResult } from "#contract/api";
import type { Batch } from "#otlp";
import {
  batchFromJson,
  batchToJson,
  type JsonObject,
  type PlacedRecord,
  placedRecords,
  requestOf,
  signalOfRequest,
} from "#otlp/json";
import { SIGNALS, type Signal } from "#otlp/signals";
import { turns } from "#work";
import { CONTEXT_SIGNALS, type ContextName } from "../paths/context.js";
import { isOttlSyntaxError, OttlError, toOttlError } from "../values/error.js";
import { type CompiledGroup, compileIn, compileInferred, type GroupFailure } from "./infer-context.js";
import { anyMatches, transformBatch } from "./run.js";

/** Statements or a condition, and the record to try them on. */
export interface OttlTrial {
  /** If absent, inferred as in the config of `transform`. */
  readonly context?: ContextName | undefined;
  /** If absent, taken from the context or the request. */
  readonly signal?: Signal | undefined;
  readonly statements?: readonly string[] | undefined;
  readonly condition?: string | undefined;
  /** A log record, span or metric as OTLP/JSON, or a whole request of them. */
  readonly record: JsonObject;
  readonly resource?: JsonObject | undefined;
  readonly scope?: JsonObject | undefined;
}

/** Limits for a trial, which anybody may ask an agent for. */
const MAX_TRIAL_RECORD = 512 * 1024;
const MAX_TRIAL_RESULTS = 4 * 1024 * 1024;
const MAX_TRIAL_MS = 2000;

/**
 * Tries each text by itself, with turns for other work in between. Throws a `MalformedError` if the record is not OTLP,
 * and an `OttlError` if its signal is unknown, or the trial takes too long or gets too large.
 */
export async function tryOttl(trial: OttlTrial): Promise<OttlTrialResult[]> {
  const isRequest = signalOfRequest(trial.record) !== undefined;
  const signal = signalOf(trial);
  const { record, resource = {}, scope = {} } = trial;
  const request = isRequest ? record : requestOf(signal, { record, resource, scope });
  let batch = batchFromJson(signal, JSON.stringify(request));
  const shown = () => (isRequest ? { record: requestIn(batch) } : placedIn(batch, trial));
  if (trial.condition !== undefined) {
    const outcome = tryCondition(trial, signal, trial.condition, batch);
    return [{ statement: trial.condition, changed: false, ...outcome, ...shown() }];
  }
  const results: OttlTrialResult[] = [];
  let bytes = 0;
  let spentMs = 0;
  for (const statement of trial.statements ?? []) {
    if (!turns.hasTime) await turns.next();
    spentMs += turns.run(() => {
      const { result, ...outcome } = tryStatement(trial, signal, statement, batch);
      batch = result;
      bytes += batch.byteLength;
      results.push({ statement, ...outcome, ...shown() });
    });
    if (spentMs > MAX_TRIAL_MS) throw new OttlError(`the trial takes too long: more than ${MAX_TRIAL_MS} ms`);
    if (bytes > MAX_TRIAL_RESULTS)
      throw new OttlError(`the results are too large: more than ${MAX_TRIAL_RESULTS} bytes`);
  }
  return results;
}

function signalOf({ signal, context, record }: OttlTrial): Signal {
  const found = signal ?? signalOfRequest(record) ?? (context && onlySignalOf(context));
  if (found !== undefined) return found;
  throw new OttlError(`say which signal the record is of: ${SIGNALS.join(", ")}`);
}

function onlySignalOf(context: ContextName): Signal | undefined {
  const signals = CONTEXT_SIGNALS[context];
  return signals.length === 1 ? signals[0] : undefined;
}

function tryStatement({ context }: OttlTrial, signal: Signal, statement: string, batch: Batch) {
  const compiled = compileOne(signal, context, [statement], []);
  if (!("context" in compiled)) return { changed: false, ...failureOf(compiled.error), result: batch };
  try {
    const result = transformBatch(batch, compiled.statements, [], undefined, { maxRecordSize: MAX_TRIAL_RECORD });
    const changed = result !== batch && Buffer.compare(result.bytes, batch.bytes) !== 0;
    return { context: compiled.context, changed, result };
  } catch (error) {
    return { context: compiled.context, changed: false, ...failureOf(error), result: batch };
  }
}

function tryCondition({ context }: OttlTrial, signal: Signal, condition: string, batch: Batch) {
  const compiled = compileOne(signal, context, [], [condition]);
  if (!("context" in compiled)) return failureOf(compiled.error);
  try {
    return { context: compiled.context, matched: anyMatches(batch, compiled.conditions) };
  } catch (error) {
    return { context: compiled.context, ...failureOf(error) };
  }
}

function compileOne(
  signal: Signal,
  context: ContextName | undefined,
  statements: readonly string[],
  conditions: readonly string[],
): CompiledGroup | GroupFailure {
  if (context === undefined) return compileInferred(signal, statements, conditions);
  if (CONTEXT_SIGNALS[context].includes(signal)) return compileIn(context, statements, conditions);
  throw new OttlError(`there is no ${context} in ${signal}`);
}

function failureOf(error: unknown): { error: string; offset?: number } {
  if (isOttlSyntaxError(error)) {
    const advice = error.suggestion === undefined ? "" : ` (${error.suggestion})`;
    return { error: `${error.reason}${advice}`, offset: error.offset };
  }
  return { error: toOttlError(error).message };
}

function requestIn(batch: Batch): JsonObject {
  return JSON.parse(batchToJson(batch)) as JsonObject;
}

/** The record, and resource and scope if they were given or have been created. */
function placedIn(batch: Batch, { resource, scope }: OttlTrial): Partial<PlacedRecord> & { record: JsonObject } {
  const request = requestIn(batch);
  const [first = { record: {}, resource: {}, scope: {} }] = placedRecords(batch.signal, request);
  return {
    record: first.record,
    ...((resource !== undefined || hasKeys(first.resource)) && { resource: first.resource }),
    ...((scope !== undefined || hasKeys(first.scope)) && { scope: first.scope }),
  };
}

function hasKeys(json: JsonObject): boolean {
  return Object.keys(json).length > 0;
}

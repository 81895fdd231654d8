import { type BatchFacts, DEAD_LETTER_FACTS, type RecordCondition } from "#contract/operations";
import { parseRecordPattern, type RecordPattern } from "#contract/schema";
import { Batch } from "#otlp";
import { SIGNALS, type Signal } from "#otlp/signals";
import { editRecords, readRecords } from "#otlp/views";
import { type ContextName, RECORD_CONTEXTS } from "../paths/context.js";
import { type PathTable, pathWithoutKeys } from "../paths/path-table.js";
import { isOttlSyntaxError, OttlError, OttlSyntaxError } from "../values/error.js";
import { type Condition, compileCondition } from "./compile.js";
import { type OttlIssue, ottlIssue } from "./config-texts.js";
import { anyMatches, keepWhere } from "./run.js";

/** The contexts of a path without one in front. Resource and scope must be written in front. */
const CONDITION_CONTEXTS: Readonly<Record<Signal, readonly ContextName[]>> = {
  logs: ["log"],
  traces: ["span", "spanevent"],
  metrics: ["datapoint", "metric"],
};

/**
 * A condition on records of any signal: OTTL, or a pattern (see `parseRecordPattern`). An OTTL text is compiled for
 * each signal: its paths are those of a log record, a span (or span event), a data point (or metric), and `factPaths`,
 * whose values come with each batch. For a signal in which the text has no meaning, it holds for every batch.
 */
export function parseRecordCondition(
  text: string,
  factPaths: readonly string[] = [],
): RecordCondition | OttlSyntaxError {
  const facts = new CurrentFacts(factPaths);
  const compiled = compileForSignals(text, facts.paths);
  if (!isOttlSyntaxError(compiled)) return ottlCondition(compiled, facts);
  if (LOOKS_LIKE_OTTL.test(text)) return compiled;
  const pattern = parseRecordPattern(text);
  return typeof pattern === "function" ? patternCondition(pattern) : combinedSyntaxError(compiled, pattern.problem);
}

function ottlCondition(compiled: Partial<Record<Signal, Condition>>, current: CurrentFacts): RecordCondition {
  return {
    signals: SIGNALS.filter((signal) => compiled[signal] !== undefined),
    holds(batch, facts = {}) {
      const condition = compiled[batch.signal];
      current.values = facts;
      return condition === undefined || anyMatches(batch, [condition]);
    },
    matching(batch, facts = {}) {
      const condition = compiled[batch.signal];
      current.values = facts;
      if (condition === undefined) return batch;
      if (condition.context === RECORD_CONTEXTS[batch.signal]) return keepWhere(batch, [condition]);
      return anyMatches(batch, [condition]) ? batch : Batch.empty(batch.signal);
    },
  };
}

function patternCondition(pattern: RecordPattern): RecordCondition {
  return {
    holds: (batch) => anyRecordMatches(batch, pattern),
    matching: (batch) => editRecords(batch, (record) => (pattern(record) ? undefined : "drop")),
  };
}

/** Paths whose values belong to the batch being evaluated, which happens synchronously. */
class CurrentFacts {
  values: BatchFacts = {};
  readonly paths: PathTable;

  constructor(names: readonly string[]) {
    const specOf = (name: string) =>
      pathWithoutKeys("any", { get: () => this.values[name] ?? null, set: () => refuseToSet(name) });
    this.paths = Object.fromEntries(names.map((name) => [name, specOf(name)]));
  }
}

function refuseToSet(name: string): never {
  throw new OttlError(`${name} cannot be set`);
}

function combinedSyntaxError(
  { message, offset, length, suggestion }: OttlSyntaxError,
  problem: string,
): OttlSyntaxError {
  return new OttlSyntaxError(`${message}; as a pattern: ${problem}`, offset, length, suggestion);
}

/** Calls, keys in brackets and quoted texts are not part of a pattern: a text with them is OTTL with a mistake. */
const LOOKS_LIKE_OTTL = /^[^=<>!]*["()[\]]/;

/**
 * If a text compiles for no signal, returns the error with the largest offset: the others fail earlier, at the context.
 */
function compileForSignals(text: string, paths: PathTable): Partial<Record<Signal, Condition>> | OttlSyntaxError {
  const compiled: Partial<Record<Signal, Condition>> = {};
  let mistake: OttlSyntaxError | undefined;
  for (const signal of SIGNALS) {
    for (const context of CONDITION_CONTEXTS[signal]) {
      const condition = compileOrMistake(text, context, paths);
      if (!isOttlSyntaxError(condition)) compiled[signal] ??= condition;
      else if (condition.offset > (mistake?.offset ?? -1)) mistake = condition;
    }
  }
  return mistake !== undefined && Object.keys(compiled).length === 0 ? mistake : compiled;
}

function compileOrMistake(text: string, context: ContextName, paths: PathTable): Condition | OttlSyntaxError {
  try {
    return compileCondition(text, context, paths);
  } catch (error) {
    if (isOttlSyntaxError(error)) return error;
    throw error;
  }
}

function anyRecordMatches(batch: Batch, pattern: RecordPattern): boolean {
  let found = false;
  readRecords(batch, (record) => {
    found ||= pattern(record);
  });
  return found;
}

/** The issue for a text that `parseRecordCondition` does not accept for dead letters; undefined if it does. */
export function deadLetterConditionIssue(text: string): OttlIssue | undefined {
  const mistake = parseRecordCondition(text, DEAD_LETTER_FACTS);
  return isOttlSyntaxError(mistake) ? ottlIssue(mistake, []) : undefined;
}

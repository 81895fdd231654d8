import { AdminError, DEAD_LETTER_FACTS, type DeadLetterLanguage, type Transform } from "#contract/operations";
import type { Batch } from "#otlp";
import { SIGNALS, type Signal } from "#otlp/signals";
import { isOttlError, isOttlSyntaxError } from "../values/error.js";
import { type CompiledGroup, compileInferred } from "./infer-context.js";
import { parseRecordCondition } from "./record-condition.js";
import { transformBatch } from "./run.js";

/**
 * OTTL, and patterns of records, as the language in which dead letters are found and corrected. A correction may make a
 * record as large as `maxRecordSize`.
 */
export function createDeadLetterLanguage(maxRecordSize?: number): DeadLetterLanguage {
  return {
    parseCondition: (text) => parseRecordCondition(text, DEAD_LETTER_FACTS),
    compileTransform: (statements, wanted) => compileTransform(statements, wanted, maxRecordSize),
  };
}

export const deadLetterLanguage = createDeadLetterLanguage();

type Compiled = readonly CompiledGroup[] | { readonly error: unknown; readonly statement: string };

/**
 * Compiles statements like those of the `transform` processor, for a replay. Throws if they fit none of the signals. If
 * a statement fails on one record, its entry is not changed at all, because half a correction is worse than none.
 */
function compileTransform(
  statements: readonly string[],
  wanted: readonly Signal[] = SIGNALS,
  maxRecordSize: number | undefined,
): Transform {
  const bySignal = new Map(SIGNALS.map((signal) => [signal, compile(signal, statements)]));
  const candidates = wanted.map((signal) => bySignal.get(signal)!);
  if (candidates.every((each) => "error" in each)) throw refusal(likeliestError(statements, wanted, bySignal));
  return (batch) => {
    const groups = bySignal.get(batch.signal)!;
    if ("error" in groups) return { problem: `no statement for ${batch.signal}: ${problemOf(groups.error)}` };
    try {
      const apply = (current: Batch, group: CompiledGroup) =>
        transformBatch(current, group.statements, [], undefined, { maxRecordSize });
      return { batch: groups.reduce(apply, batch) };
    } catch (error) {
      return { problem: problemOf(error) };
    }
  };
}

/** Uses one context for all statements if one fits, otherwise one for each statement, in order. */
function compile(signal: Signal, statements: readonly string[]): Compiled {
  const together = compileInferred(signal, statements, []);
  if ("context" in together) return [together];
  const groups: CompiledGroup[] = [];
  for (const statement of statements) {
    const alone = compileInferred(signal, [statement], [], statements);
    if (!("context" in alone)) return { error: alone.error, statement };
    groups.push(alone);
  }
  return groups;
}

const HINTS: Readonly<Record<Signal, RegExp>> = {
  logs: /\blog\./,
  traces: /\b(?:span|spanevent)\./,
  metrics: /\b(?:metric|datapoint)\./,
};

/** The error of the signal that the statements seem to be written for. */
function likeliestError(
  statements: readonly string[],
  wanted: readonly Signal[],
  bySignal: ReadonlyMap<Signal, Compiled>,
): { readonly error: unknown; readonly statement: string } {
  const text = statements.join("\n");
  const signal = wanted.find((each) => HINTS[each].test(text)) ?? wanted[0]!;
  return bySignal.get(signal) as { error: unknown; statement: string };
}

function refusal({ error, statement }: { readonly error: unknown; readonly statement: string }): AdminError {
  return new AdminError("bad_request", `transform: ${JSON.stringify(statement)}: ${problemOf(error)}`);
}

function problemOf(error: unknown): string {
  if (isOttlSyntaxError(error))
    return `${error.reason}${error.suggestion === undefined ? "" : ` (${error.suggestion})`}`;
  return isOttlError(error) ? error.message : String((error as Error).message ?? error);
}

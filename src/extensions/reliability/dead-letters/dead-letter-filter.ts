import { type AnyRecordView, type Batch, editRecords, readRecords } from "../../../plugin.js";
import {
  type CompleteSettings,
  isOttlSyntaxError,
  parseRecordCondition,
  parseRecordPattern,
  type RecordCondition,
} from "../../../runtime/kit.js";

type FilterSettings = CompleteSettings["dead_letter"]["filter"];

export interface DeadLetterFilter {
  /** Whether the batch is kept. */
  decide(batch: Batch): "save" | "discard";
  /** Those of its records that are kept also when they were dropped on purpose; undefined when there are none. */
  alwaysSaved(batch: Batch): Batch | undefined;
}

type RecordPredicate = (record: AnyRecordView) => boolean;

/**
 * Decides whether a batch that could not be delivered is kept as a dead letter. Each record is judged by the first rule
 * that speaks of it: `never_save`, `always_save`, `save_if`, else it is worth keeping. A batch is discarded only if none of
 * its records is worth keeping, so a discard never takes along what should have been saved. What cannot be judged is not
 * ours to throw away: it is saved.
 */
export function createDeadLetterFilter(settings: FilterSettings): DeadLetterFilter {
  const never = matchesAny(settings.never_save);
  const always = matchesAny(settings.always_save);
  const condition = parseCondition(settings.save_if);
  const isAlwaysSaved: RecordPredicate = (record) => !never?.(record) && always?.(record) === true;

  function isWorthKeeping(batch: Batch): boolean {
    const rest = never === undefined ? batch : withoutMatching(batch, never);
    if (rest.count === 0) return batch.count === 0;
    return condition === undefined || (always !== undefined && hasMatch(rest, always)) || condition(rest);
  }

  return {
    decide: (batch) => {
      try {
        return isWorthKeeping(batch) ? "save" : "discard";
      } catch {
        return "save";
      }
    },
    alwaysSaved: (batch) => {
      if (always === undefined) return undefined;
      const saved = withoutMatching(batch, (record) => !isAlwaysSaved(record));
      return saved.count === 0 ? undefined : saved;
    },
  };
}

function parseCondition(text: string): RecordCondition | undefined {
  if (text === "") return undefined;
  const condition = parseRecordCondition(text);
  if (isOttlSyntaxError(condition)) throw condition;
  return condition;
}

function matchesAny(patterns: readonly string[]): RecordPredicate | undefined {
  if (patterns.length === 0) return undefined;
  const tests = patterns.map(parsePredicate);
  return (record) => tests.some((test) => test(record));
}

function parsePredicate(text: string): RecordPredicate {
  const pattern = parseRecordPattern(text);
  if (typeof pattern === "object") throw new RangeError(pattern.problem);
  return pattern;
}

function withoutMatching(batch: Batch, predicate: RecordPredicate): Batch {
  return editRecords(batch, (record) => (predicate(record) ? "drop" : undefined));
}

function hasMatch(batch: Batch, predicate: RecordPredicate): boolean {
  let found = false;
  readRecords(batch, (record) => {
    found ||= predicate(record);
  });
  return found;
}

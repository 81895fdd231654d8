import {
  type AnyRecordView,
  type Batch,
  type CompleteSettings,
  editRecords,
  parseRecordPattern,
  readRecords,
} from "../../plugin.js";

type FilterSettings = CompleteSettings["dead_letter"]["filter"];

export interface DeadLetterFilter {
  /** Whether the batch is kept. */
  judge(batch: Batch): "save" | "discard";
  /** Those of its records that are kept also when they were dropped on purpose; undefined when there are none. */
  alwaysSaved(batch: Batch): Batch | undefined;
}

type Test = (record: AnyRecordView) => boolean;

/**
 * Decides whether a batch that could not be delivered is kept as a dead letter. Each record is judged by the first rule
 * that speaks of it: `never_save`, `always_save`, `save_if`, else it is worth keeping. A batch is discarded only if none of
 * its records is worth keeping, so a discard never takes along what should have been saved.
 *
 * `save_if` is one pattern for now; a condition language plugs in at `conditionOf`.
 */
export function createDeadLetterFilter(settings: FilterSettings): DeadLetterFilter {
  const never = anyOf(settings.never_save);
  const always = anyOf(settings.always_save);
  const condition = conditionOf(settings.save_if);
  const keepsAll = never === undefined && condition === undefined;
  const isWorthKeeping: Test = (record) => {
    if (never?.(record)) return false;
    return always?.(record) || (condition?.(record) ?? true);
  };
  const isAlwaysSaved: Test = (record) => !never?.(record) && always?.(record) === true;
  return {
    judge: (batch) => (keepsAll || hasOne(batch, isWorthKeeping) ? "save" : "discard"),
    alwaysSaved: (batch) => {
      if (always === undefined) return undefined;
      const saved = editRecords(batch, (record) => (isAlwaysSaved(record) ? undefined : "drop"));
      return saved.count === 0 ? undefined : saved;
    },
  };
}

function conditionOf(text: string): Test | undefined {
  return text === "" ? undefined : testOf(text);
}

function anyOf(patterns: readonly string[]): Test | undefined {
  if (patterns.length === 0) return undefined;
  const tests = patterns.map(testOf);
  return (record) => tests.some((test) => test(record));
}

function testOf(text: string): Test {
  const pattern = parseRecordPattern(text);
  if (typeof pattern === "object") throw new RangeError(pattern.problem);
  return pattern;
}

/** An empty batch has nothing to discard, and what cannot be read is not ours to throw away: both are saved. */
function hasOne(batch: Batch, test: Test): boolean {
  let found = batch.count === 0;
  try {
    readRecords(batch, (record) => {
      found ||= test(record);
    });
  } catch {
    return true;
  }
  return found;
}

import type { BatchFacts, DEAD_LETTER_FACTS, DeadLetterLanguage, RecordCondition } from "#contract/operations";
import { type CompleteSettings, parseRecordPattern } from "#contract/schema";
import { Batch } from "#otlp";
import { type AnyRecordView, editRecords, readRecords } from "#otlp/views";
import type { DeadLetterCause } from "../entry/queue-item.js";

type FilterSettings = CompleteSettings["dead_letter"]["filter"];

export interface DeadLetterFilter {
  /** Decides whether the batch is kept. */
  decide(batch: Batch, about: DeadLetterFacts): "save" | "discard";
  /** Returns the records that a rule saves although they were dropped on purpose; undefined if there are none. */
  savedByRule(batch: Batch, about: DeadLetterFacts): Batch | undefined;
}

type RecordPredicate = (record: AnyRecordView) => boolean;

/**
 * Decides whether an undeliverable batch is kept as a dead letter. The first rule that matches a record decides:
 * `never_save`, `always_save`, `save_if`; without a match it is kept. A batch is discarded only if none of its records
 * is to be kept, so nothing is discarded that should have been saved. If evaluation fails, the batch is saved.
 */
export function createDeadLetterFilter(settings: FilterSettings, language: DeadLetterLanguage): DeadLetterFilter {
  const never = matchesAny(settings.never_save);
  const always = matchesAny(settings.always_save);
  const condition = parseCondition(settings.save_if, language);

  function isWorthKeeping(batch: Batch, facts: BatchFacts): boolean {
    const rest = never === undefined ? batch : withoutMatching(batch, never);
    if (rest.count === 0) return batch.count === 0;
    return condition === undefined || (always !== undefined && hasMatch(rest, always)) || condition.holds(rest, facts);
  }

  function savedByRule(batch: Batch, facts: BatchFacts): Batch[] {
    const rest = never === undefined ? batch : withoutMatching(batch, never);
    const saved = always === undefined ? [] : [withoutMatching(rest, (record) => !always(record))];
    const others = always === undefined ? rest : withoutMatching(rest, always);
    return condition === undefined ? saved : [...saved, condition.matching(others, facts)];
  }

  return {
    decide: (batch, about) => {
      try {
        return isWorthKeeping(batch, conditionFacts(about)) ? "save" : "discard";
      } catch {
        return "save";
      }
    },
    savedByRule: (batch, about) => {
      try {
        const saved = savedByRule(batch, conditionFacts(about)).filter(({ count }) => count > 0);
        return saved.length === 0 ? undefined : Batch.merge(saved);
      } catch {
        return batch;
      }
    },
  };
}

function parseCondition(text: string, language: DeadLetterLanguage): RecordCondition | undefined {
  if (text === "") return undefined;
  const condition = language.parseCondition(text);
  if (condition instanceof Error) throw condition;
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

/** Facts about a failure that filters may use in addition to the records. */
export interface DeadLetterFacts {
  readonly exporter: string;
  readonly cause: Pick<DeadLetterCause, "reason" | "category"> & {
    readonly error: Pick<DeadLetterCause["error"], "class">;
  };
  readonly attempts: number;
}

/** Returns the facts in the form used by conditions. */
export function conditionFacts({ exporter, cause, attempts }: DeadLetterFacts): BatchFacts {
  const facts: Record<(typeof DEAD_LETTER_FACTS)[number], string | bigint> = {
    "dead_letter.exporter": exporter,
    "dead_letter.reason": cause.reason,
    "dead_letter.category": cause.category,
    "dead_letter.error_class": cause.error.class,
    "dead_letter.attempts": BigInt(attempts),
  };
  return facts;
}

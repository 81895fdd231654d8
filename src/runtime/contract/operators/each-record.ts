import { Batch, splitBatch } from "#otlp";
import { type AnyRecordView, type Attributes, editRecords, editRecordsAsync, type RecordVerdict } from "#otlp/views";
import type { Processor } from "../component.js";
import { type DeadLetter, deadLetter, type Setback } from "../dead-letter.js";
import type { FailureHandler } from "../debt.js";
import { validateSetback } from "../delivery.js";
import { type BatchResult, type EachBatchOptions, eachCancellableBatch } from "./each-batch.js";

/** Takes the record out of the pipeline, unchanged. Every exporter keeps it as a dead letter with this message. */
export interface RecordSetback {
  readonly deadLetter: string | (Partial<Setback> & Pick<Setback, "message">);
}

/**
 * The result of the function given to `eachRecord`: nothing (or "keep"), "drop", or why the record is a dead letter.
 * The return value of an edit, as in `(record) => record.attributes.set("a", 1)`, counts as nothing.
 */
export type RecordResult = RecordVerdict | RecordSetback | Attributes | boolean;

/** Options for `eachRecord`. */
export interface EachRecordOptions extends EachBatchOptions {
  /** How many records of a batch may be processed concurrently, for asynchronous functions. Default: 1. */
  readonly concurrency?: number;
}

/**
 * Creates a processor from a function of one record: read it, change it, `split` it, return "drop", or return `{
 * deadLetter: "why" }`. It may be asynchronous. If no record was changed, the batch is passed on unchanged. A throw or
 * rejection refuses the whole batch, or, in a pipeline with `error_mode: dead_letter`, dead-letters only that record. A
 * batch that takes longer than `timeoutMs` in total is refused, and its remaining records are skipped.
 *
 * In a processor with `signals: ["logs"]` the record is a `LogRecordView`, and so on. A function for one signal may
 * also declare its record type: `eachRecord((record: LogRecordView) => ...)`.
 *
 * @example
 * const tidy = eachRecord((record) => {
 *   if (record.name === "noise") return "drop";
 *   if (!record.attributes.has("user.id")) return { deadLetter: "user.id is missing" };
 *   record.attributes.set("user.known", true).delete("password");
 * });
 */
export function eachRecord<View extends AnyRecordView = AnyRecordView>(
  edit: (record: View) => RecordResult | Promise<RecordResult>,
  { concurrency = 1, ...options }: EachRecordOptions = {},
): Processor<View> {
  return eachCancellableBatch((batch, { isWanted, onFailure }) => {
    const setbacks = new RecordSetbacks();
    const keep = (index: number, error: unknown) => setbacks.addFailure(index, error, onFailure);
    const edited = editRecordsAsync(
      batch,
      (record, index) => {
        try {
          const answer = edit(record as View);
          if (answer === undefined || typeof answer === "string") return answer;
          if (!isPromise(answer)) return setbacks.add(index, answer);
          return answer.then(
            (later) => setbacks.add(index, later),
            (error: unknown) => keep(index, error),
          );
        } catch (error) {
          return keep(index, error);
        }
      },
      concurrency,
      isWanted,
    );
    return edited instanceof Promise
      ? edited.then((later) => setbacks.toBatchResult(batch, later))
      : setbacks.toBatchResult(batch, edited);
  }, options);
}

/** The records of one batch that are to become dead letters. */
class RecordSetbacks {
  private byIndex: Map<number, Setback> | undefined;

  add(index: number, answer: RecordResult): RecordVerdict {
    if (!isRecordSetback(answer)) return answer === "drop" ? "drop" : "keep";
    this.byIndex ??= new Map();
    this.byIndex.set(index, validateSetback(answer.deadLetter));
    return "drop";
  }

  /** Takes out a record that failed, if such records are kept; otherwise the whole batch fails. */
  addFailure(index: number, error: unknown, onFailure: FailureHandler | undefined): RecordVerdict {
    const setback = onFailure?.(error);
    if (setback === undefined) throw error;
    return this.add(index, { deadLetter: setback });
  }

  /** Returns the batch to hand on, and the dead letters. */
  toBatchResult(batch: Batch, edited: Batch): BatchResult {
    const kept = edited.count === 0 && batch.count > 0 ? null : edited;
    if (this.byIndex === undefined) return kept;
    const letters = deadLettersOf(batch, this.byIndex);
    return kept === null ? letters : [kept, ...letters];
  }
}

function isRecordSetback(answer: RecordResult): answer is RecordSetback {
  return typeof answer === "object" && answer !== null && "deadLetter" in answer;
}

/** Creates one dead letter for all records with the same setback. */
function deadLettersOf(batch: Batch, byIndex: ReadonlyMap<number, Setback>): DeadLetter[] {
  let index = 0;
  const all = editRecords(batch, () => (byIndex.has(index++) ? "keep" : "drop"));
  const inOrder = [...byIndex].toSorted(([a], [b]) => a - b).map(([, setback]) => setback);
  const groups = new Map<string, { readonly setback: Setback; readonly at: number[] }>();
  for (const [at, setback] of inOrder.entries()) {
    const key = JSON.stringify(setback);
    const group = groups.get(key) ?? { setback, at: [] };
    groups.set(key, group);
    group.at.push(at);
  }
  if (groups.size === 1) return [deadLetter(all, inOrder[0]!)];
  const pieces = splitBatch(all, { records: 1 });
  return [...groups.values()].map(({ setback, at }) => deadLetter(Batch.merge(at.map((i) => pieces[i]!)), setback));
}

function isPromise(answer: RecordResult | PromiseLike<RecordResult>): answer is Promise<RecordResult> {
  return typeof (answer as { then?: unknown } | null)?.then === "function";
}

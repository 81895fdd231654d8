import { Batch, splitBatch } from "#otlp";
import { type AnyRecordView, type Attributes, editRecords, editRecordsAsync, type RecordVerdict } from "#otlp/views";
import { validateSetback } from "../border/read-answers.js";
import type { Processor } from "../component.js";
import { type DeadLetter, deadLetter, type Setback } from "../dead-letter.js";
import type { FailureHandler } from "../debt.js";
import { type BatchResult, type EachBatchOptions, eachCancellableBatch } from "./each-batch.js";

/** Takes the record out of the pipeline, as it came in; every exporter keeps it as a dead letter with this message. */
export interface RecordSetback {
  readonly deadLetter: string | (Partial<Setback> & Pick<Setback, "message">);
}

/**
 * What the function of `eachRecord` may answer: nothing (or "keep"), "drop", or why the record is a dead letter. What
 * an edit gives back, as in `(record) => record.attributes.set("a", 1)`, counts as nothing.
 */
export type RecordResult = RecordVerdict | RecordSetback | Attributes | boolean;

/** How long, and how many at a time, a function of a record may take. */
export interface EachRecordOptions extends EachBatchOptions {
  /** For functions that answer later: how many records of a batch they may be busy with at a time. 1 unless told. */
  readonly concurrency?: number;
}

/**
 * A processor from a function of one record: read it, change it, `split` it, return "drop", or return
 * `{ deadLetter: "why" }`. It may answer later. The batch goes on as it was if no record was changed; a throw or a
 * rejection refuses the whole batch, or in a pipeline with `error_mode: dead_letter` makes a dead letter of that record alone;
 * a batch that takes longer than `timeoutMs` altogether is refused, and the rest of its records is not shown.
 *
 * In a processor that says `signals: ["logs"]` the record is a `LogRecordView`, and so on. A function for one signal may
 * also name its kind of record: `eachRecord((record: LogRecordView) => ...)`.
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

  /** Takes out a record that was failed on, where such records are kept; else the failure is that of the batch. */
  addFailure(index: number, error: unknown, onFailure: FailureHandler | undefined): RecordVerdict {
    const setback = onFailure?.(error);
    if (setback === undefined) throw error;
    return this.add(index, { deadLetter: setback });
  }

  /** What goes on, and what does not. */
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

/** One dead letter for all records with the same words. */
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

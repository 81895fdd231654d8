import type { Clock, Outcome } from "#contract";
import { ERROR_CODES, Refusal, toRefusal } from "#contract/errors";
import { WireWriter } from "#otlp/bytes";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import { type AppIntake, partlyRejected } from "./app-intake.js";
import { type FailOnError, withoutUnhandledRejection } from "./fail-on-error.js";
import { LogBatchBuilder } from "./log-batch-builder.js";
import { type LogInput, writeLogRecord } from "./log-record.js";

/** How one emit behaves. */
export interface EmitOptions {
  /** Overrides what the scope and the instance say. */
  readonly failOnError?: boolean;
}

interface LogEmitterSettings {
  readonly intake: AppIntake;
  readonly clock: Clock;
  readonly failOnError: FailOnError;
  /** Attributes of the resource that all records belong to. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A batch of about this many bytes is complete. */
const TARGET_BATCH_BYTES = 256 * 1024;
/** While others are being settled, records wait for company, at most so long. */
const BATCH_DELAY_MS = 5;
/** A writer that grew beyond this for a large record is not kept. */
const MAX_REUSED_BYTES = 1024 * 1024;

/**
 * Turns what a program logs into batches.
 *
 * Invariants:
 * - `emit` never throws and holds nobody up: the record is written to bytes at once, so that later changes to it have
 *   no effect, and handed in when the current turn of the event loop ends. While earlier batches are not yet settled,
 *   records gather for a few milliseconds.
 * - The bytes that gather are reserved at the intake, so they count towards the intake's limit.
 * - What `flush` finds is handed in before it returns its promise.
 * - Writing a record runs code of the program (getters, `toJSON`), which may emit in turn: nothing of the emitter is
 *   under way meanwhile, and each record has a writer of its own.
 */
export class LogEmitter {
  private readonly intake: AppIntake;
  private readonly clock: Clock;
  private readonly failOnError: FailOnError;
  private readonly batchBuilder: LogBatchBuilder;
  /** A writer that no record is being written with, kept for the next one. */
  private spareWriter: WireWriter | undefined;
  private records = new WireWriter(16 * 1024);
  private pending: PendingBatch | undefined;
  /** Batches that are complete and are handed in with the next turn of the event loop. */
  private complete: (() => void)[] = [];
  private unsettled = 0;
  private immediate: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor({ intake, clock, failOnError, resource }: LogEmitterSettings) {
    this.intake = intake;
    this.clock = clock;
    this.failOnError = failOnError;
    this.batchBuilder = new LogBatchBuilder(resource);
  }

  /**
   * Takes one record or several. The promise is settled when the records are: on disk, or with the queue off sent. With
   * `failOnError` it rejects with the `Refusal` if any of them was not taken, and a rejection that nobody looks at is no
   * unhandled one; without, failures are counted and logged.
   */
  emit(records: LogInput | readonly LogInput[], options?: EmitOptions): Promise<void> {
    const failOnError = options?.failOnError ?? this.failOnError.current;
    const results = this.addAll(records, !failOnError);
    return failOnError ? withoutUnhandledRejection(throwIfRefused(results)) : whenSettled(results);
  }

  /** Hands in what has gathered; resolves when everything emitted until now is settled. Never rejects. */
  flush(): Promise<void> {
    this.handIn();
    return this.intake.settled();
  }

  /** Gives where the records are now, or why they were refused. Never throws, whatever is given as a list. */
  private addAll(records: LogInput | readonly LogInput[], isSilent: boolean): EmitResult[] {
    const results: EmitResult[] = [];
    try {
      if (isList(records)) for (const record of records) results.push(this.add(record, isSilent));
      else results.push(this.add(records, isSilent));
    } catch (error) {
      results.push(this.refuse(badRecord(error), isSilent));
    }
    return results;
  }

  private add(record: LogInput, isSilent: boolean): EmitResult {
    const early = this.intake.refusalOf("logs");
    if (early !== undefined) return this.refuse(early, isSilent);
    const writer = this.spareWriter ?? new WireWriter(1024);
    this.spareWriter = undefined;
    const bad = this.write(writer, record);
    if (bad !== undefined) return this.refuse(bad, isSilent);
    if (writer.bytes.length <= MAX_REUSED_BYTES) this.spareWriter = writer;
    if (this.pending !== undefined && this.pending.isSilent !== isSilent) this.seal();
    const refusal = this.reserve(writer.length, isSilent);
    if (refusal !== undefined) return this.refuse(refusal, isSilent);
    const pending = this.pending!;
    pending.count += 1;
    this.records.byte(SCOPE_ITEM_TAG);
    this.records.lengthDelimited(writer.written());
    if (this.records.length >= TARGET_BATCH_BYTES) this.seal();
    this.schedule();
    return pending;
  }

  private refuse(refusal: Refusal, isSilent: boolean): Refusal {
    if (isSilent) this.intake.countSilent(1, refusal);
    this.intake.refuse("logs", 1, refusal);
    return refusal;
  }

  private write(writer: WireWriter, record: LogInput): Refusal | undefined {
    writer.length = 0;
    try {
      writeLogRecord(writer, record, this.clock.now());
      return undefined;
    } catch (error) {
      return badRecord(error);
    }
  }

  /** Room for the record, and for the batch around it when it is the first. */
  private reserve(length: number, isSilent: boolean): Refusal | undefined {
    const bytes = length + TAG_AND_LENGTH + (this.pending === undefined ? this.batchBuilder.overhead : 0);
    const refusal = this.intake.reserve("logs", bytes);
    if (refusal !== undefined) return refusal;
    this.pending ??= new PendingBatch(isSilent);
    this.pending.reserved += bytes;
    return undefined;
  }

  /** Ends the batch that gathers. */
  private seal(): void {
    const { pending } = this;
    if (pending === undefined) return;
    this.pending = undefined;
    const batch = this.batchBuilder.build(this.records.written(), pending.count);
    this.records.length = 0;
    if (this.records.bytes.length > MAX_REUSED_BYTES) this.records = new WireWriter(16 * 1024);
    this.complete.push(() => {
      this.intake.release("logs", pending.reserved);
      this.unsettled += 1;
      void this.intake.accept(batch, pending.isSilent).then((outcome) => {
        pending.settle(outcome);
        this.countSilent(pending, outcome);
        this.unsettled -= 1;
        if (this.pending !== undefined) this.schedule();
      });
    });
  }

  private countSilent({ isSilent, count }: PendingBatch, outcome: Outcome): void {
    const refusal = isSilent ? refusalFrom(outcome) : undefined;
    if (refusal !== undefined) this.intake.countSilent(outcome.ok ? outcome.rejected : count, refusal);
  }

  private schedule(): void {
    if (this.immediate !== undefined) return;
    if (this.unsettled === 0 || this.complete.length > 0) {
      this.immediate = setImmediate(this.handIn);
    } else this.timer ??= setTimeout(this.handIn, BATCH_DELAY_MS);
  }

  private readonly handIn = (): void => {
    clearImmediate(this.immediate);
    clearTimeout(this.timer);
    this.immediate = undefined;
    this.timer = undefined;
    this.seal();
    for (const handIn of this.complete.splice(0)) handIn();
  };
}

/** Records on their way into one batch. The promises are made when somebody asks, once for all records. */
class PendingBatch {
  /** Nobody hears of a failure: such records share no batch with others, for what is refused of them is kept. */
  readonly isSilent: boolean;
  count = 0;
  reserved = 0;
  private outcome: Promise<Outcome> | undefined;
  private end: Promise<void> | undefined;
  private resolve: ((outcome: Outcome) => void) | undefined;

  constructor(isSilent: boolean) {
    this.isSilent = isSilent;
  }

  get settled(): Promise<Outcome> {
    this.outcome ??= new Promise((resolve) => {
      this.resolve = resolve;
    });
    return this.outcome;
  }

  /** Resolves when it is settled, well or not. */
  get ended(): Promise<void> {
    this.end ??= this.settled.then(() => {});
    return this.end;
  }

  settle(outcome: Outcome): void {
    this.resolve?.(outcome);
  }
}

/** The batch that a record is in, or why it is in none. */
type EmitResult = PendingBatch | Refusal;

/** The promise of a single record is that of its batch: who emits without waiting pays for no other. */
function whenSettled(results: readonly EmitResult[]): Promise<void> {
  const [first] = results;
  if (results.length === 1) return first instanceof PendingBatch ? first.ended : RESOLVED;
  return Promise.all([...batchesOf(results)].map((each) => each.ended)).then(() => {});
}

async function throwIfRefused(results: readonly EmitResult[]): Promise<void> {
  const outcomes = await Promise.all([...batchesOf(results)].map((each) => each.settled));
  const refusal = results.find((each) => each instanceof Refusal) ?? outcomes.map(refusalFrom).find(Boolean);
  if (refusal !== undefined) throw refusal;
}

function batchesOf(results: readonly EmitResult[]): Set<PendingBatch> {
  return new Set(results.filter((each) => each instanceof PendingBatch));
}

const TAG_AND_LENGTH = 6;
const RESOLVED = Promise.resolve();

function badRecord(error: unknown): Refusal {
  const { message } = toRefusal(error);
  const text = `the log record cannot be written: ${message}`;
  return new Refusal("permanent", text, { code: ERROR_CODES.SLUICE_BAD_RECORD, category: "schema", cause: error });
}

function isList(records: LogInput | readonly LogInput[]): records is readonly LogInput[] {
  return Array.isArray(records);
}

function refusalFrom(outcome: Outcome): Refusal | undefined {
  if (!outcome.ok) return outcome.refusal;
  return outcome.rejected > 0 ? partlyRejected(outcome) : undefined;
}

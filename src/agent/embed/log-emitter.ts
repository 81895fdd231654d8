import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock, Outcome } from "#contract";
import { ERROR_CODES, Refusal, toRefusal } from "#contract/errors";
import { WireWriter } from "#otlp/bytes";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import { type AppIntake, partlyRejected } from "./app-intake.js";
import { LogBatchBuilder } from "./log-batch-builder.js";
import { type LogInput, writeLogRecord } from "./log-record.js";

/** Options of one call of `emit`. */
export interface EmitOptions {
  /** Takes precedence over the scope and the instance. */
  readonly failOnError?: boolean;
}

interface LogEmitterSettings {
  readonly intake: AppIntake;
  readonly clock: Clock;
  readonly failOnError: FailOnError;
  /** Resource attributes of all records. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A batch is handed in when it reaches about this size. */
const TARGET_BATCH_BYTES = 256 * 1024;
/** While earlier batches are unsettled, records are collected for at most this long. */
const BATCH_DELAY_MS = 5;
/** A writer that grew beyond this size for a large record is discarded. */
const MAX_REUSED_BYTES = 1024 * 1024;

/**
 * Collects the log records of a program into batches.
 *
 * Invariants:
 * - `emit` never throws or blocks. The record is encoded at once, so later changes to it have no effect, and handed in
 *   at the end of the current turn of the event loop. While earlier batches are unsettled, records are collected for a
 *   few milliseconds.
 * - Collected bytes are reserved at the intake, so they count towards the intake's limit.
 * - `flush` hands in all collected records before it returns its promise.
 * - Encoding a record runs code of the program (getters, `toJSON`), which may call `emit` again. The emitter's state is
 *   therefore consistent at that point, and each record is encoded with its own writer.
 */
export class LogEmitter {
  private readonly intake: AppIntake;
  private readonly clock: Clock;
  private readonly failOnError: FailOnError;
  private readonly batchBuilder: LogBatchBuilder;
  /** An idle writer, kept for the next record. */
  private spareWriter: WireWriter | undefined;
  private records = new WireWriter(16 * 1024);
  private pending: PendingBatch | undefined;
  /** Complete batches, which are handed in in the next turn of the event loop. */
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
   * Accepts one record or several. The promise settles when the records are on disk, or sent if the queue is off. With
   * `failOnError` it rejects with the `Refusal` if a record was not accepted; such a rejection never becomes an
   * unhandled one. Without `failOnError`, failures are counted and logged.
   */
  emit(records: LogInput | readonly LogInput[], options?: EmitOptions): Promise<void> {
    const failOnError = options?.failOnError ?? this.failOnError.current;
    const results = this.addAll(records, !failOnError);
    return failOnError ? withoutUnhandledRejection(throwIfRefused(results)) : whenSettled(results);
  }

  /** Hands in all collected records; resolves when everything emitted so far is settled. Never rejects. */
  flush(): Promise<void> {
    this.handIn();
    return this.intake.settled();
  }

  /** Returns for each record the batch that holds it, or its refusal. Never throws, whatever the argument is. */
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

  /** Reserves bytes for the record, and for the batch around it if the record is its first. */
  private reserve(length: number, isSilent: boolean): Refusal | undefined {
    const bytes = length + TAG_AND_LENGTH + (this.pending === undefined ? this.batchBuilder.overhead : 0);
    const refusal = this.intake.reserve("logs", bytes);
    if (refusal !== undefined) return refusal;
    this.pending ??= new PendingBatch(isSilent);
    this.pending.reserved += bytes;
    return undefined;
  }

  /** Completes the batch that is being collected. */
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

/** Records that will form one batch. Its promises are created only on demand, once for all records. */
class PendingBatch {
  /**
   * True when the program does not see failures. Such records share no batch with others: if the pipeline refuses them,
   * Sluice keeps and retries them itself.
   */
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

  /** Resolves when the batch is settled, whatever the outcome. */
  get ended(): Promise<void> {
    this.end ??= this.settled.then(() => {});
    return this.end;
  }

  settle(outcome: Outcome): void {
    this.resolve?.(outcome);
  }
}

/** The batch that holds a record, or the reason why none does. */
type EmitResult = PendingBatch | Refusal;

/** A single record shares the promise of its batch, so `emit` without await creates no other promise. */
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

/**
 * Decides whether the program sees a failure: the option of the call comes first, then the scope, then the instance.
 */
export class FailOnError {
  private readonly byDefault: boolean;
  /** Created on first use: in older Node.js versions it slows down every promise of the process. */
  private scopes: AsyncLocalStorage<boolean> | undefined;

  constructor(always: boolean) {
    this.byDefault = always;
  }

  runWith<T>(failOnError: boolean, run: () => T): T {
    this.scopes ??= new AsyncLocalStorage();
    return this.scopes.run(failOnError, run);
  }

  get current(): boolean {
    return this.scopes?.getStore() ?? this.byDefault;
  }
}

/** A caller that awaits the promise sees the rejection. Otherwise no unhandled rejection is raised. */
export function withoutUnhandledRejection<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

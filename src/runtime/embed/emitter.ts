import type { Clock } from "../contract/clock.js";
import type { Outcome } from "../contract/delivery.js";
import { Refusal, toRefusal } from "../contract/refusal.js";
import { WireWriter } from "../telemetry/writer.js";
import { type AppDoor, partlyRejected } from "./door.js";
import { type FailOnError, handled } from "./fail-on-error.js";
import { LogFrame } from "./log-frame.js";
import { type LogInput, writeLogRecord } from "./log-record.js";

/** How one emit behaves. */
export interface EmitOptions {
  /** Overrides what the scope and the instance say. */
  readonly failOnError?: boolean;
}

export interface LogEmitterSettings {
  readonly door: AppDoor;
  readonly clock: Clock;
  readonly failOnError: FailOnError;
  /** Attributes of the resource that all records belong to. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A batch of about this many bytes is complete. */
const ENOUGH_BYTES = 256 * 1024;
/** While others are being settled, records wait for company, at most so long. */
const GATHER_MS = 5;
/** A writer that grew beyond this for a large record is not kept. */
const KEPT_BYTES = 1024 * 1024;

/**
 * Turns what a program logs into batches.
 *
 * Invariants:
 * - `emit` never throws and waits for nothing: the record is written to bytes at once, so that later changes to it have
 *   no effect, and handed in when the current turn of the event loop ends. While earlier batches are not yet settled,
 *   records gather for a few milliseconds.
 * - The bytes that gather are reserved at the door, so they count towards the intake's limit.
 * - What `flush` finds is handed in before it returns its promise.
 * - Writing a record runs code of the program (getters, `toJSON`), which may emit in turn: nothing of the emitter is
 *   under way meanwhile, and each record has a writer of its own.
 */
export class LogEmitter {
  private readonly door: AppDoor;
  private readonly clock: Clock;
  private readonly failOnError: FailOnError;
  private readonly frame: LogFrame;
  /** Not in use. */
  private writer: WireWriter | undefined;
  private records = new WireWriter(16 * 1024);
  private gathering: Gathering | undefined;
  /** Complete, to be handed in with the next turn. */
  private complete: (() => void)[] = [];
  private unsettled = 0;
  private immediate: NodeJS.Immediate | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor({ door, clock, failOnError, resource }: LogEmitterSettings) {
    this.door = door;
    this.clock = clock;
    this.failOnError = failOnError;
    this.frame = new LogFrame(resource);
  }

  /**
   * Takes one record or several. Without `failOnError` the promise is resolved at once and failures are counted and
   * logged; with it, it is settled when the records are: it rejects with the `Refusal` if any of them was not taken.
   * A rejection that nobody looks at is no unhandled one.
   */
  emit(records: LogInput | readonly LogInput[], options?: EmitOptions): Promise<void> {
    const failOnError = options?.failOnError ?? this.failOnError.current;
    if (failOnError) return handled(this.emitTold(records));
    this.addAll(records);
    return NOTHING;
  }

  /** Hands in what has gathered; resolves when everything emitted until now is settled. Never rejects. */
  flush(): Promise<void> {
    this.handIn();
    return this.door.settled();
  }

  private async emitTold(records: LogInput | readonly LogInput[]): Promise<void> {
    const added: (Gathering | Refusal)[] = [];
    this.addAll(records, added);
    const gatherings = new Set(added.filter((each) => each instanceof Gathering));
    const outcomes = await Promise.all([...gatherings].map((each) => each.settled));
    const refusal = added.find((each) => each instanceof Refusal) ?? outcomes.map(refusalIn).find(Boolean);
    if (refusal !== undefined) throw refusal;
  }

  /** Notes where the records are now, or why they were refused. Never throws, whatever is given as a list. */
  private addAll(records: LogInput | readonly LogInput[], added?: (Gathering | Refusal)[]): void {
    try {
      if (isList(records)) for (const record of records) this.add(record, added);
      else this.add(records, added);
    } catch (error) {
      this.refuse(badRecord(error), added);
    }
  }

  private add(record: LogInput, added: (Gathering | Refusal)[] | undefined): void {
    const early = this.door.refusalOf("logs");
    if (early !== undefined) return this.refuse(early, added);
    const writer = this.writer ?? new WireWriter(1024);
    this.writer = undefined;
    const bad = this.write(writer, record);
    if (bad !== undefined) return this.refuse(bad, added);
    if (writer.bytes.length <= KEPT_BYTES) this.writer = writer;
    const refusal = this.reserve(writer.length);
    if (refusal !== undefined) return this.refuse(refusal, added);
    const gathering = this.gathering!;
    gathering.count += 1;
    added?.push(gathering);
    this.records.byte(LOG_RECORD);
    this.records.lengthDelimited(writer.written());
    if (this.records.length >= ENOUGH_BYTES) this.seal();
    this.schedule();
  }

  private refuse(refusal: Refusal, added: (Gathering | Refusal)[] | undefined): void {
    added?.push(refusal);
    this.door.refuse("logs", 1, refusal);
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
  private reserve(length: number): Refusal | undefined {
    const bytes = length + TAG_AND_LENGTH + (this.gathering === undefined ? this.frame.overhead : 0);
    const refusal = this.door.reserve("logs", bytes);
    if (refusal !== undefined) return refusal;
    this.gathering ??= new Gathering();
    this.gathering.reserved += bytes;
    return undefined;
  }

  /** Ends the batch that gathers. */
  private seal(): void {
    const { gathering } = this;
    if (gathering === undefined) return;
    this.gathering = undefined;
    const batch = this.frame.around(this.records.written(), gathering.count);
    this.records.length = 0;
    if (this.records.bytes.length > KEPT_BYTES) this.records = new WireWriter(16 * 1024);
    this.complete.push(() => {
      this.door.release("logs", gathering.reserved);
      this.unsettled += 1;
      void this.door.accept(batch).then((outcome) => {
        gathering.settle(outcome);
        this.unsettled -= 1;
        if (this.gathering !== undefined) this.schedule();
      });
    });
  }

  private schedule(): void {
    if (this.immediate !== undefined) return;
    if (this.unsettled === 0 || this.complete.length > 0) {
      this.immediate = setImmediate(this.handIn);
    } else this.timer ??= setTimeout(this.handIn, GATHER_MS);
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

/** Records on their way into one batch. */
class Gathering {
  count = 0;
  reserved = 0;
  private outcome: Promise<Outcome> | undefined;
  private resolve: ((outcome: Outcome) => void) | undefined;

  get settled(): Promise<Outcome> {
    this.outcome ??= new Promise((resolve) => {
      this.resolve = resolve;
    });
    return this.outcome;
  }

  settle(outcome: Outcome): void {
    this.resolve?.(outcome);
  }
}

const LOG_RECORD = 18;
const TAG_AND_LENGTH = 6;
const NOTHING = Promise.resolve();

function badRecord(error: unknown): Refusal {
  const { message } = toRefusal(error);
  const words = `the log record cannot be written: ${message}`;
  return new Refusal("permanent", words, { code: "SLUICE_BAD_RECORD", category: "schema", cause: error });
}

function isList(records: LogInput | readonly LogInput[]): records is readonly LogInput[] {
  return Array.isArray(records);
}

function refusalIn(outcome: Outcome): Refusal | undefined {
  if (!outcome.ok) return outcome.refusal;
  return outcome.rejected > 0 ? partlyRejected(outcome) : undefined;
}

import { Debt } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { JournalExchange } from "#contract/operators";
import {
  Batch,
  type ComponentContext,
  Delivery,
  type DeliveryOutput,
  limitedLog,
  type Origin,
  type Outcome,
  type Processor,
  Refusal,
  statefulProcessor,
} from "../../plugin.js";

/** What is made of batches, and handed on from time to time. Times are milliseconds of the wall clock. */
export interface MetricAggregation {
  /** Takes a batch in, or throws with nothing taken in. */
  add(batch: Batch, now: number): void;
  /** What there is to hand on, cut into batches: all that was added, but for what `state` keeps. Nothing is added until the last was asked for. */
  pieces(now: number): Iterable<Batch>;
  /** Something was added that `pieces` has not given yet. */
  readonly isChanged: boolean;
  /** All pieces are safe. */
  flushed(now: number): void;
  /** What was added and is in no piece yet, for one that keeps such: what `restore` makes it again from. Asked for behind the last piece. */
  state?(): Uint8Array;
  restore?(state: Uint8Array): void;
}

export interface AggregatingSettings {
  /** 0: after every batch. */
  readonly flushIntervalMs: number;
  readonly context: ComponentContext & { readonly journal?: JournalExchange | undefined };
}

/** So much of a journal may be owed before what was counted is handed on, whatever the interval says. */
const MAX_OWED_BYTES = 128 * 1024 * 1024;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

/**
 * A connector that turns many batches into few others.
 *
 * What comes from a journal is owed until what was made of it takes its place there, in one write; that is then owed until
 * everyone behind has taken it. So a crash at any moment counts each batch once: what is in the journal is either the batch
 * or what it was counted in.
 * What comes from none is settled when it was taken in: it is then in memory only, and lost if the process is killed before
 * the next flush. What the pipelines behind refuse for now is handed to them again; meanwhile nothing else is, and what comes
 * is taken in. Every run begins with nothing but the state of the last exchange.
 */
export function aggregatingProcessor(create: () => MetricAggregation, settings: AggregatingSettings): Processor {
  return statefulProcessor((out) => {
    const flushing = new Flushing(create(), settings, out);
    return {
      next: (delivery) => flushing.take(delivery),
      drain: () => flushing.drain(),
      abort: () => flushing.stop(),
    };
  });
}

class Flushing {
  private readonly aggregation: MetricAggregation;
  private readonly settings: AggregatingSettings;
  private readonly out: DeliveryOutput;
  /** Deliveries of a journal that were taken in, without their bytes. */
  private owed: Delivery[] = [];
  private owedBytes = 0;
  /** Deliveries that came while pieces were made, which are of one moment. */
  private late: Delivery[] | undefined;
  /** Deliveries of metrics that were made and that not everyone downstream has taken yet. */
  private readonly made = new Set<Delivery>();
  private handing: Promise<void> = Promise.resolve();
  private current: Promise<void> | undefined;
  private isStopped = false;
  private cancelTimer: (() => void) | undefined;
  private cancelRetry = () => {};
  private readonly logRefusal: (refusal: Refusal) => void;

  constructor(aggregation: MetricAggregation, settings: AggregatingSettings, out: DeliveryOutput) {
    this.aggregation = aggregation;
    this.settings = settings;
    this.out = out;
    const { clock, logger, journal } = settings.context;
    this.logRefusal = limitedLog(clock, ({ kind, message }, suppressed) => {
      const next = kind === "permanent" ? "they are not tried again" : "they are handed on again";
      logger.warn({ message, suppressed }, `the metrics were refused; ${next}`);
    });
    journal?.onOpened((state) => this.restore(state));
  }

  take(delivery: Delivery): void {
    if (delivery.batch.signal === "metrics") return void this.handOnMade(delivery);
    if (this.late !== undefined) return void this.late.push(delivery);
    const { batch, origin } = delivery;
    this.aggregation.add(batch, this.settings.context.clock.now());
    if (origin.position === undefined || this.settings.context.journal === undefined) {
      delivery.accept();
    } else {
      this.owed.push(delivery.with(NOTHING));
      this.owedBytes += batch.byteLength;
    }
    if (this.owedBytes >= MAX_OWED_BYTES) void this.flush();
    else this.setTimer();
  }

  async drain(): Promise<void> {
    this.cancelTimer?.();
    await this.current;
    if (this.aggregation.isChanged || this.owed.length > 0) await this.flush();
    await this.handing;
    this.stop();
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
    this.cancelRetry();
    for (const delivery of this.made) delivery.refuse(STOPPED);
    this.made.clear();
  }

  /** Restored data is handed on at the next flush, even if nothing more comes in. */
  private restore(state: Uint8Array | undefined): void {
    if (state === undefined || this.isStopped) return;
    this.aggregation.restore?.(state);
    this.setTimer();
  }

  private setTimer(): void {
    if (this.cancelTimer !== undefined || this.isStopped) return;
    const { flushIntervalMs, context } = this.settings;
    this.cancelTimer = context.clock.after(flushIntervalMs, () => {
      this.cancelTimer = undefined;
      if (flushIntervalMs > 0) this.setTimer();
      void this.flush();
    });
  }

  /** One at a time: who asks for another meanwhile waits for this one. */
  private flush(): Promise<void> {
    this.current ??= this.flushNow()
      .catch((error: unknown) => {
        if (!this.isStopped) this.out.error(error);
      })
      .finally(() => {
        this.current = undefined;
      });
    return this.current;
  }

  private async flushNow(): Promise<void> {
    const { clock, journal } = this.settings.context;
    const now = clock.now();
    if (journal === undefined) {
      for (const piece of this.aggregation.pieces(now)) {
        await this.handOn(piece, this.ownOrigin());
        if (this.isStopped) return;
      }
      return this.aggregation.flushed(now);
    }
    const pieces = await this.piecesOfOneMoment(now);
    if (this.isStopped) return; // what is owed stays with the runtime, which refuses it
    const { owed } = this;
    this.owed = [];
    this.owedBytes = 0;
    const state = this.aggregation.state?.();
    this.takeLate();
    if (pieces.length === 0 && owed.length === 0) return this.aggregation.flushed(now);
    const positions = owed.map(({ origin }) => origin.position!);
    const made = await journal.exchange({ positions, made: pieces, state });
    this.aggregation.flushed(now);
    for (const delivery of owed) delivery.accept();
    await Promise.all(made.map((delivery) => this.handOnMade(delivery)));
  }

  /** Others have a turn between two pieces; what they bring is not in these. */
  private async piecesOfOneMoment(now: number): Promise<Batch[]> {
    this.late = [];
    const pieces: Batch[] = [];
    for (const piece of this.aggregation.pieces(now)) {
      if (pieces.length > 0) await new Promise(setImmediate);
      if (this.isStopped) break;
      pieces.push(piece);
    }
    return pieces;
  }

  private takeLate(): void {
    const late = this.late ?? [];
    this.late = undefined;
    for (const delivery of late) {
      try {
        this.take(delivery);
      } catch (error) {
        delivery.refuse(error);
      }
    }
  }

  /** In the order they were made, one after the other. */
  private handOnMade(delivery: Delivery): Promise<void> {
    const { position: _, ...identity } = delivery.origin;
    if (this.isStopped) delivery.refuse(STOPPED);
    else this.made.add(delivery);
    this.handing = this.handing.then(async () => {
      if (!this.made.has(delivery)) return;
      const refusal = await this.handOn(delivery.batch, { ...identity, ...this.ownOrigin() });
      if (!this.made.delete(delivery)) return;
      if (refusal === undefined) delivery.accept();
      else delivery.refuse(refusal);
    });
    return this.handing;
  }

  private ownOrigin(): Origin {
    return { receiver: this.settings.context.id, transport: "internal" };
  }

  /** Ends when everyone behind has taken the batch; gives the refusal when they never will. */
  private async handOn(batch: Batch, origin: Origin): Promise<Refusal | undefined> {
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      const outcome = await this.outcomeOf(batch, origin);
      if (outcome.ok || this.isStopped) return undefined;
      this.logRefusal(outcome.refusal);
      if (outcome.refusal.kind === "permanent") return outcome.refusal;
      await this.wait(outcome.refusal.retryAfterMs ?? delayMs);
      if (this.isStopped) return undefined;
    }
  }

  private outcomeOf(batch: Batch, origin: Origin): Promise<Outcome> {
    return new Promise((resolve) => this.out.next(new Delivery(batch, origin, new Debt(resolve))));
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.settings.context.clock.after(ms, resolve);
      this.cancelRetry = () => {
        cancel();
        resolve();
      };
    });
  }
}

const NOTHING = Batch.empty("traces");

const STOPPED = new Refusal("transient", "the connector was stopped before the metrics were taken", {
  code: ERROR_CODES.SLUICE_SHUTTING_DOWN,
});

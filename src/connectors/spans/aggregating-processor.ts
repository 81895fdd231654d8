import { Debt } from "#contract";
import { ERROR_CODES } from "#contract/errors";
import type { JournalExchange } from "#contract/operators";
import { backoff, pause } from "#resilience";
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

/** Aggregates batches into metrics that are passed on from time to time. Times are milliseconds of the wall clock. */
export interface MetricAggregation {
  /** Takes a batch in, or throws without having taken in any of it. */
  add(batch: Batch, now: number): void;
  /**
   * Returns everything that was added, cut into batches, except what `state` keeps. Nothing is added until the last
   * piece has been read.
   */
  pieces(now: number): Iterable<Batch>;
  /** Whether something was added that `pieces` has not returned yet. */
  readonly isChanged: boolean;
  /**
   * For cumulative counts, which begin with 0: what the last pieces left out of series that are new. Called after the
   * last piece.
   */
  takeStarts?(): SeriesStarts;
  /** Called when all pieces are safe. */
  flushed(now: number): void;
  /**
   * For aggregations that hold something back: returns what was added but is in no piece yet, from which `restore`
   * rebuilds it. Called after the last piece.
   */
  state?(): Uint8Array;
  restore?(state: Uint8Array): void;
}

/**
 * The first points of new series. A scraper sees a rate only if the series existed with 0 before it had its
 * first count, so the zeros are passed on at once, and the counts at the next flush.
 */
export interface SeriesStarts {
  readonly zeros: readonly Batch[];
  readonly counts: readonly Batch[];
}

interface AggregatingSettings {
  /** 0 to flush after every batch. */
  readonly flushIntervalMs: number;
  readonly context: ComponentContext & { readonly journal?: JournalExchange | undefined };
}

/** When this many bytes of a journal are owed, the metrics are flushed, whatever the interval. */
const MAX_OWED_BYTES = 128 * 1024 * 1024;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

/**
 * A connector that turns many batches into few others.
 *
 * A batch from a journal is owed until the metrics made of it replace it there, in one write. The metrics are then owed
 * until everyone downstream has accepted them. So a crash at any moment counts each batch once: the journal holds
 * either the batch or the metrics that include it.
 *
 * A batch without a journal is settled when it has been taken in. From then on it is only in memory, and is lost if the
 * process is killed before the next flush.
 *
 * Metrics that downstream refuses for now are passed on again; in the meantime no others are, but batches are still
 * taken in. Every run starts with nothing but the state of the last exchange.
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
  /** Journal deliveries that were taken in, without their bytes. */
  private owed: Delivery[] = [];
  private owedBytes = 0;
  /** Deliveries that arrived while pieces were made; they must not be part of these pieces. */
  private late: Delivery[] | undefined;
  /** Deliveries of metrics that not everyone downstream has accepted yet. */
  private readonly made = new Set<Delivery>();
  /** Metrics that wait for the next flush; those of a journal are in `made` as well. */
  private held: (Batch | Delivery)[] = [];
  private passing: Promise<void> = Promise.resolve();
  private current: Promise<void> | undefined;
  private readonly stopping = new AbortController();
  private cancelTimer: (() => void) | undefined;
  private readonly logRefusal: (refusal: Refusal) => void;

  constructor(aggregation: MetricAggregation, settings: AggregatingSettings, out: DeliveryOutput) {
    this.aggregation = aggregation;
    this.settings = settings;
    this.out = out;
    const { clock, logger, journal } = settings.context;
    this.logRefusal = limitedLog(clock, ({ kind, message }, suppressed) => {
      const next = kind === "permanent" ? "they will not be sent again" : "they will be sent again";
      logger.warn({ message, suppressed }, `the metrics were refused; ${next}`);
    });
    journal?.onOpened((state) => this.restore(state));
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  take(delivery: Delivery): void {
    if (delivery.batch.signal === "metrics") return void this.passOnMetrics(delivery);
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
    await this.passOnHeld();
    await this.passing;
    this.stop();
  }

  stop(): void {
    this.stopping.abort();
    this.cancelTimer?.();
    for (const delivery of this.made) delivery.refuse(STOPPED);
    this.made.clear();
  }

  /** Restored data is passed on at the next flush, even if nothing more arrives. */
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

  /** Flushes once at a time: a call during a flush waits for that flush. */
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
    if (journal === undefined) return this.flushWithoutJournal(now);
    const pieces = await this.piecesOfOneMoment(now);
    if (this.isStopped) return; // the runtime refuses what is owed
    const { zeros, counts } = this.aggregation.takeStarts?.() ?? NO_STARTS;
    const { owed } = this;
    this.owed = [];
    this.owedBytes = 0;
    const state = this.aggregation.state?.();
    this.takeLate();
    void this.passOnHeld();
    if (pieces.length + counts.length + owed.length === 0) return this.aggregation.flushed(now);
    const positions = owed.map(({ origin }) => origin.position!);
    const made = await journal.exchange({ positions, made: [...pieces, ...counts], state });
    this.aggregation.flushed(now);
    for (const delivery of owed) delivery.accept();
    for (const batch of zeros) this.passOnZeros(batch);
    for (const delivery of made.slice(pieces.length)) this.hold(delivery);
    await Promise.all(made.slice(0, pieces.length).map((delivery) => this.passOnMetrics(delivery)));
  }

  private async flushWithoutJournal(now: number): Promise<void> {
    await this.passOnHeld();
    for (const piece of this.aggregation.pieces(now)) {
      await this.passOn(piece, this.ownOrigin());
      if (this.isStopped) return;
    }
    const { zeros, counts } = this.aggregation.takeStarts?.() ?? NO_STARTS;
    this.held.push(...counts);
    for (const batch of zeros) await this.passOn(batch, this.ownOrigin());
    this.aggregation.flushed(now);
  }

  private hold(delivery: Delivery): void {
    if (this.isStopped) return delivery.refuse(STOPPED);
    this.made.add(delivery);
    this.held.push(delivery);
  }

  private async passOnHeld(): Promise<void> {
    for (const one of this.held.splice(0)) {
      if (one instanceof Delivery) void this.passOnMetrics(one);
      else await this.passOn(one, this.ownOrigin());
    }
  }

  /** Zeros are in no journal: without them a rate misses its beginning, and no span goes uncounted. */
  private passOnZeros(batch: Batch): void {
    this.passing = this.passing.then(async () => {
      if (!this.isStopped) await this.passOn(batch, this.ownOrigin());
    });
  }

  /**
   * Makes all pieces as of one moment. Other work runs between two pieces, but batches that arrive are not part of
   * them.
   */
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

  /** Passes deliveries on one after the other, in the order they were made. */
  private passOnMetrics(delivery: Delivery): Promise<void> {
    const { position: _, ...identity } = delivery.origin;
    if (this.isStopped) delivery.refuse(STOPPED);
    else this.made.add(delivery);
    this.passing = this.passing.then(async () => {
      if (!this.made.has(delivery)) return;
      const refusal = await this.passOn(delivery.batch, { ...identity, ...this.ownOrigin() });
      if (!this.made.delete(delivery)) return;
      if (refusal === undefined) delivery.accept();
      else delivery.refuse(refusal);
    });
    return this.passing;
  }

  private ownOrigin(): Origin {
    return { receiver: this.settings.context.id, transport: "internal" };
  }

  /** Resolves when everyone downstream has accepted the batch, or with the refusal if it is permanent. */
  private async passOn(batch: Batch, origin: Origin): Promise<Refusal | undefined> {
    const { context } = this.settings;
    const delays = backoff({ first: FIRST_RETRY_MS, max: MAX_RETRY_MS }, context);
    for (let failures = 1; ; failures++) {
      const outcome = await this.outcomeOf(batch, origin);
      if (outcome.ok || this.isStopped) return undefined;
      this.logRefusal(outcome.refusal);
      if (outcome.refusal.kind === "permanent") return outcome.refusal;
      await pause(outcome.refusal.retryAfterMs ?? delays(failures), context.clock, this.stopping.signal);
      if (this.isStopped) return undefined;
    }
  }

  private outcomeOf(batch: Batch, origin: Origin): Promise<Outcome> {
    return new Promise((resolve) => this.out.next(new Delivery(batch, origin, new Debt(resolve))));
  }
}

const NOTHING = Batch.empty("traces");
const NO_STARTS: SeriesStarts = { zeros: [], counts: [] };

const STOPPED = new Refusal("transient", "the connector was stopped before the metrics were accepted", {
  code: ERROR_CODES.SLUICE_SHUTTING_DOWN,
});

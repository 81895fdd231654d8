import {
  Batch,
  type ComponentContext,
  Delivery,
  type DeliveryOutput,
  limitedLog,
  type Outcome,
  type Processor,
  type Refusal,
  statefulProcessor,
} from "../../plugin.js";
import { Debt } from "../../runtime/kit.js";

/** What is made of batches, and handed on from time to time. Times are milliseconds of the wall clock. */
export interface MetricAggregation {
  /** Takes a batch in, or throws with nothing taken in. Each has a higher number than those before. */
  add(batch: Batch, now: number, number: number): void;
  /** What is in this batch and those behind it may be in no pieces yet; left out: all that was added is in the next ones. */
  readonly firstPending?: number;
  /**
   * What there is to hand on, cut into batches. Each is asked for when the one before was taken; batches may be added in
   * between. All that was added before the first is asked for is in these, or in those of an earlier call, but for what is
   * pending.
   */
  pieces(now: number): Iterable<Batch>;
  /** Something was added that `pieces` has not given yet. */
  readonly isChanged: boolean;
  /** All pieces were handed on. */
  flushed(now: number): void;
}

export interface AggregatingSettings {
  /** 0: after every batch. */
  readonly flushIntervalMs: number;
  readonly context: ComponentContext;
}

/** So much of a journal may be owed before what was counted is handed on, whatever the interval says. */
const MAX_OWED_BYTES = 128 * 1024 * 1024;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;

/**
 * A connector that turns many batches into few others.
 *
 * What comes from a journal is owed until what was made of it is taken by everyone behind: after a crash it comes again.
 * What does not is settled when it was taken in: it is then in memory only, and lost if the process is killed before the
 * next flush. What the pipelines behind refuse for now is handed to them again; meanwhile nothing else is, and what comes
 * is taken in. Every run begins with nothing.
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
  /** Deliveries of a journal, without their bytes. */
  private owed: { readonly delivery: Delivery; readonly number: number }[] = [];
  private taken = 0;
  private owedBytes = 0;
  private current: Promise<void> | undefined;
  private isStopped = false;
  private cancelTimer: (() => void) | undefined;
  private cancelRetry = () => {};
  private readonly logRefusal: (refusal: Refusal) => void;

  constructor(aggregation: MetricAggregation, settings: AggregatingSettings, out: DeliveryOutput) {
    this.aggregation = aggregation;
    this.settings = settings;
    this.out = out;
    const { clock, logger } = settings.context;
    this.logRefusal = limitedLog(clock, ({ kind, message }, suppressed) => {
      const next = kind === "permanent" ? "they are not tried again" : "they are handed on again";
      logger.warn({ message, suppressed }, `the metrics were refused; ${next}`);
    });
  }

  take(delivery: Delivery): void {
    const { batch, origin } = delivery;
    const number = ++this.taken;
    this.aggregation.add(batch, this.settings.context.clock.now(), number);
    if (origin.position === undefined) {
      delivery.accept();
    } else {
      this.owed.push({ delivery: delivery.with(NOTHING), number });
      this.owedBytes += batch.byteLength;
    }
    if (this.owedBytes >= MAX_OWED_BYTES) void this.flush();
    else this.setTimer();
  }

  async drain(): Promise<void> {
    this.cancelTimer?.();
    await this.current;
    if (this.aggregation.isChanged || this.owed.length > 0) await this.flush();
    this.stop();
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
    this.cancelRetry();
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
    this.current ??= this.handOnAll()
      .catch((error: unknown) => this.out.error(error))
      .finally(() => {
        this.current = undefined;
      });
    return this.current;
  }

  private async handOnAll(): Promise<void> {
    const { clock } = this.settings.context;
    const now = clock.now();
    const pieces = this.aggregation.pieces(now)[Symbol.iterator]();
    let piece = pieces.next(); // what waits no longer is not pending from here on
    const firstPending = this.aggregation.firstPending ?? Number.POSITIVE_INFINITY;
    const owed = this.owed.filter(({ number }) => number < firstPending);
    this.owed = this.owed.filter(({ number }) => number >= firstPending);
    this.owedBytes = 0;
    let refusal: Refusal | undefined;
    for (; piece.done !== true; piece = pieces.next()) {
      refusal = (await this.handOn(piece.value)) ?? refusal;
      if (this.isStopped) return; // what is owed stays with the runtime, which refuses it
    }
    this.aggregation.flushed(now);
    for (const { delivery } of owed) {
      if (refusal === undefined) delivery.accept();
      else delivery.refuse(refusal);
    }
  }

  /** Ends when everyone behind has taken the batch; gives the refusal when they never will. */
  private async handOn(batch: Batch): Promise<Refusal | undefined> {
    for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
      const outcome = await this.outcomeOf(batch);
      if (outcome.ok || this.isStopped) return undefined;
      this.logRefusal(outcome.refusal);
      if (outcome.refusal.kind === "permanent") return outcome.refusal;
      await this.wait(outcome.refusal.retryAfterMs ?? delayMs);
      if (this.isStopped) return undefined;
    }
  }

  private outcomeOf(batch: Batch): Promise<Outcome> {
    const origin = { receiver: this.settings.context.id, transport: "internal" };
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

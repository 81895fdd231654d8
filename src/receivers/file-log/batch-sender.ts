import { BatchIntake } from "#receiving";
import { pause } from "#resilience";
import { type Batch, limitedLog, type ReceiverContext, SIGNALS, type Signal } from "../../plugin.js";
import type { OffsetStore } from "./offset-store.js";
import type { FileSegment, TrackedFile } from "./tracked-file.js";

/** Records that wait to be handed in. `finish` returns them and begins anew. */
interface WaitingRecords {
  readonly count: number;
  finish(): Batch;
}

/**
 * Hands in batches and moves the marks of the files once their records are safe. A few batches may be in flight at
 * once; the reader waits when there are too many.
 */
export class BatchSender {
  private readonly context: ReceiverContext;
  private readonly store: OffsetStore;
  /** By signal that a pipeline takes. */
  private readonly intakes = new Map<Signal, BatchIntake>();
  private readonly logRejected: (event: { readonly message: string; readonly paths: readonly string[] }) => void;
  private segments = new Map<TrackedFile, FileSegment>();
  private inFlight = 0;
  private readonly stopping = new AbortController();
  private onRoom = () => {};

  constructor(context: ReceiverContext, store: OffsetStore) {
    this.context = context;
    this.store = store;
    for (const signal of SIGNALS) {
      if (context.intakes[signal] === undefined) continue;
      this.intakes.set(signal, new BatchIntake({ signal, transport: "file" }, context));
    }
    this.logRejected = limitedLog(context.clock, ({ message, paths }, suppressed) =>
      context.logger.error(
        { reason: message, paths: paths.slice(0, 5), suppressed },
        "records are permanently refused and cannot be kept as dead letters; they stay in their files and are retried",
      ),
    );
  }

  /** Whether a pipeline takes records of this signal. */
  takes(signal: Signal): boolean {
    return this.intakes.has(signal);
  }

  /** Counts records that cannot be read; without a signal, for the first one that is taken. */
  refuse(signal: Signal | undefined, count: number): void {
    const [first] = this.intakes.values();
    (signal === undefined ? first : this.intakes.get(signal))?.refuse(count);
  }

  /** Records added to the next batch from now on may come from this file. */
  note(file: TrackedFile): void {
    if (!this.segments.has(file)) this.segments.set(file, file.beginSegment());
  }

  /** Hands in the writers' records. They cover all files noted so far. */
  async send(writers: Iterable<WaitingRecords>): Promise<void> {
    const batches = [...writers].filter(({ count }) => count > 0).map((writer) => writer.finish());
    const segments = [...this.segments.values()];
    this.segments = new Map();
    if (batches.length === 0) return this.settle(segments);
    this.inFlight++;
    void Promise.all(batches.map((batch) => this.deliver(batch, segments))).then((taken) => {
      this.inFlight--;
      if (taken.every((each) => each)) this.settle(segments);
      this.onRoom();
    });
    while (this.inFlight >= MAX_IN_FLIGHT && !this.stopping.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.onRoom = resolve;
      });
    }
  }

  /** Resolves when everything handed in has an outcome. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.onRoom();
    await Promise.all([...this.intakes.values()].map((intake) => intake.stop()));
    await Promise.resolve();
  }

  private async deliver(batch: Batch, segments: readonly FileSegment[]): Promise<boolean> {
    while (true) {
      const outcome = await this.intakes.get(batch.signal)!.accept(batch, { transport: "file" });
      if (outcome.kind === "taken") return true;
      if (outcome.kind === "returned" || this.stopping.signal.aborted) return false;
      this.logRejected({ message: outcome.refusal.message, paths: segments.map(({ file }) => file.path) });
      await pause(REJECTED_PAUSE_MS, this.context.clock, this.stopping.signal);
    }
  }

  private settle(segments: readonly FileSegment[]): void {
    for (const segment of segments) {
      segment.file.settle(segment);
      this.store.markMoved(segment.file);
    }
  }
}

/** The number of batches, of about a megabyte each, that may be without an outcome. */
const MAX_IN_FLIGHT = 8;
const REJECTED_PAUSE_MS = 5000;

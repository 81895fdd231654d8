import type { LogBatchWriter } from "#logs/entries";
import { BatchIntake } from "#receiving";
import { limitedLog, type ReceiverContext } from "../../plugin.js";
import type { OffsetStore } from "./offset-store.js";
import type { FileSegment, TrackedFile } from "./tracked-file.js";

/**
 * Hands in batches and moves the marks of the files once their records are safe. A few batches may be in flight at
 * once; the reader waits when there are too many.
 */
export class BatchSender {
  private readonly context: ReceiverContext;
  private readonly store: OffsetStore;
  private readonly intake: BatchIntake;
  private readonly logRejected: (event: { readonly message: string; readonly paths: readonly string[] }) => void;
  private segments = new Map<TrackedFile, FileSegment>();
  private inFlight = 0;
  private isStopping = false;
  private onRoom = () => {};
  private readonly endPauses = new Set<() => void>();

  constructor(context: ReceiverContext, store: OffsetStore) {
    this.context = context;
    this.store = store;
    this.intake = new BatchIntake({ signal: "logs", transport: "file" }, context);
    this.logRejected = limitedLog(context.clock, ({ message, paths }, suppressed) =>
      context.logger.error(
        { reason: message, paths: paths.slice(0, 5), suppressed },
        "records are permanently refused and cannot be kept as dead letters; they stay in their files and are retried",
      ),
    );
  }

  /** Records added to the next batch from now on may come from this file. */
  note(file: TrackedFile): void {
    if (!this.segments.has(file)) this.segments.set(file, file.beginSegment());
  }

  /** Hands in the writers' records. They cover all files noted so far. */
  async send(writers: Iterable<LogBatchWriter>): Promise<void> {
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
    while (this.inFlight >= MAX_IN_FLIGHT && !this.isStopping) {
      await new Promise<void>((resolve) => {
        this.onRoom = resolve;
      });
    }
  }

  /** Resolves when everything handed in has an outcome. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.onRoom();
    for (const end of this.endPauses) end();
    await this.intake.stop();
    await Promise.resolve();
  }

  private async deliver(
    batch: Parameters<BatchIntake["accept"]>[0],
    segments: readonly FileSegment[],
  ): Promise<boolean> {
    while (true) {
      const outcome = await this.intake.accept(batch, { transport: "file" });
      if (outcome.kind === "taken") return true;
      if (outcome.kind === "returned" || this.isStopping) return false;
      this.logRejected({ message: outcome.refusal.message, paths: segments.map(({ file }) => file.path) });
      await this.pause(REJECTED_PAUSE_MS);
    }
  }

  private settle(segments: readonly FileSegment[]): void {
    for (const segment of segments) {
      segment.file.settle(segment);
      this.store.markMoved(segment.file);
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.endPauses.delete(end);
        resolve();
      };
      const cancel = this.context.clock.after(ms, end);
      this.endPauses.add(end);
    });
  }
}

/** The number of batches, of about a megabyte each, that may be without an outcome. */
const MAX_IN_FLIGHT = 8;
const REJECTED_PAUSE_MS = 5000;

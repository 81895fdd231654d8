import {
  type AttemptError,
  type Batch,
  type Exporter,
  type PartialRejection,
  type Refusal,
  rejectionOf,
} from "../../plugin.js";
import type { Classify } from "./classify.js";
import type { Item } from "./item.js";
import type { Prepare } from "./preparation.js";
import type { QueueStore } from "./store/store.js";
import type { CallTimeout } from "./timeout.js";

/** What came of an attempt to send an entry. `batch` is what is stored; `sent` is what the other side took. */
export type CallOutcome =
  | { readonly kind: "taken"; readonly sent: Batch; readonly partial: PartialRejection | undefined }
  | { readonly kind: "failed"; readonly batch: Batch; readonly error: AttemptError }
  /** Its pipeline's replay steps refuse it; the other side has no part in it. */
  | { readonly kind: "unfit"; readonly batch: Batch; readonly error: AttemptError }
  | { readonly kind: "unreadable"; readonly cause: unknown };

export interface CallerParts {
  readonly exporter: Exporter;
  readonly store: QueueStore;
  readonly prepare: Prepare;
  readonly classify: Classify;
  readonly calls: CallTimeout;
}

/** Makes one attempt: reads the payload if it is not in memory, prepares it if it was replayed, sends it within its time. */
export class Caller {
  private readonly parts: CallerParts;
  /** Why nothing is sent any more. */
  private aborted: Refusal | undefined;

  constructor(parts: CallerParts) {
    this.parts = parts;
  }

  /** `done` is called exactly once. */
  call(item: Item, done: (outcome: CallOutcome) => void): void {
    if (item.batch !== undefined) return this.send(item, item.batch, done);
    this.parts.store.payload(item.ref).then(
      (batch) => this.send(item, batch, done),
      (cause: unknown) => done({ kind: "unreadable", cause }),
    );
  }

  /** Tells every call to give up, now; one whose payload is still being read is not made. */
  abort(refusal: Refusal): void {
    this.aborted = refusal;
    this.parts.calls.abortAll(refusal);
  }

  stop(): void {
    this.parts.calls.stop();
  }

  /** Asks the exporter how it is. */
  check(done: (isWell: boolean) => void): void {
    this.parts.calls.run(
      async (abort) => this.parts.exporter.check?.(abort),
      () => done(true),
      () => done(false),
    );
  }

  private send(item: Item, batch: Batch, done: (outcome: CallOutcome) => void): void {
    const { exporter, prepare, classify, calls } = this.parts;
    if (this.aborted !== undefined) return done({ kind: "failed", batch, error: classify(this.aborted) });
    const prepared = item.entry.replays === 0 ? { batch } : prepare(item.entry, batch);
    if (prepared.batch === undefined) return done({ kind: "unfit", batch, error: prepared.error });
    const { batch: sent } = prepared;
    calls.run(
      (abort) => exporter.send(sent, abort, { idempotencyKey: item.entry.id }),
      (said) => done({ kind: "taken", sent, partial: rejectionOf(said, sent.count) }),
      (cause) => done({ kind: "failed", batch, error: classify(cause) }),
    );
  }
}

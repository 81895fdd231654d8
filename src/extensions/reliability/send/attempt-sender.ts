import type { Batch, Exporter, PartialRejection, Refusal } from "../../../plugin.js";
import { type AttemptError, validateRejection } from "../../../runtime/kit.js";
import type { QueueItem } from "../entry/queue-item.js";
import type { QueueStore } from "../store/store.js";
import type { CallTimeout } from "./call-timeout.js";
import type { Classify } from "./classify.js";
import type { PrepareReplayed } from "./replay-preparation.js";

/** What came of an attempt to send an entry. `batch` is what is stored; `sent` is what the other side took. */
export type AttemptResult =
  | { readonly kind: "delivered"; readonly sent: Batch; readonly partial: PartialRejection | undefined }
  | { readonly kind: "failed"; readonly batch: Batch; readonly error: AttemptError }
  /** Its pipeline's replay steps refuse it; the other side has no part in it. */
  | { readonly kind: "unfit"; readonly batch: Batch; readonly error: AttemptError }
  | { readonly kind: "unreadable"; readonly cause: unknown }
  /** It was broken off from here, or not made because of that. */
  | { readonly kind: "cancelled" };

const CANCELLED: AttemptResult = { kind: "cancelled" };

export interface AttemptSenderServices {
  readonly exporter: Exporter;
  readonly store: QueueStore;
  readonly prepare: PrepareReplayed;
  readonly classify: Classify;
  readonly timeout: CallTimeout;
}

/** Makes one attempt: reads the payload if it is not in memory, prepares it if it was replayed, sends it within its time. */
export class AttemptSender {
  private readonly services: AttemptSenderServices;
  private hasAborted = false;

  constructor(services: AttemptSenderServices) {
    this.services = services;
  }

  /** True when nothing is sent any more. */
  get isAborted(): boolean {
    return this.hasAborted;
  }

  /** `done` is called exactly once. */
  attempt(item: QueueItem, done: (result: AttemptResult) => void): void {
    if (item.batch !== undefined) return this.send(item, item.batch, done);
    this.services.store.payload(item.ref).then(
      (batch) => this.send(item, batch, done),
      (cause: unknown) => done({ kind: "unreadable", cause }),
    );
  }

  /** Tells every call to give up, now; one whose payload is still being read is not made. */
  abort(refusal: Refusal): void {
    this.hasAborted = true;
    this.services.timeout.abortAll(refusal);
  }

  stop(): void {
    this.services.timeout.stop();
  }

  /** Asks the exporter how it is. */
  checkHealth(done: (isHealthy: boolean) => void): void {
    this.services.timeout.run(
      async (abort) => this.services.exporter.check?.(abort),
      () => done(true),
      () => done(false),
    );
  }

  private send(item: QueueItem, batch: Batch, done: (result: AttemptResult) => void): void {
    const { exporter, prepare, classify, timeout } = this.services;
    if (this.hasAborted) return done(CANCELLED);
    const prepared = item.entry.replays === 0 ? { batch } : prepare(item.entry, batch);
    if (prepared.batch === undefined) return done({ kind: "unfit", batch, error: prepared.error });
    const { batch: sent } = prepared;
    timeout.run(
      (abort) => exporter.send(sent, abort, { idempotencyKey: item.entry.id }),
      (answer) => done({ kind: "delivered", sent, partial: validateRejection(answer, sent.count) }),
      (cause) => done(this.hasAborted ? CANCELLED : { kind: "failed", batch, error: classify(cause) }),
    );
  }
}

import type { Clock, Exporter, PartialRejection, SendOptions } from "#contract";
import { validateRejection } from "#contract/border";
import { ERROR_CODES, isRefusal, Refusal, type Undelivered } from "#contract/errors";
import type { AttemptError } from "#contract/operations";
import { Batch } from "#otlp";
import type { PreparedBatch, PrepareReplayed } from "../dead-letters/exporter-control.js";
import { namedEntry } from "../entry/numbering.js";
import { idempotencyKeyOf, type QueueItem, type SendGroup } from "../entry/queue-item.js";
import type { QueueStore } from "../store/store.js";
import type { Classify } from "./classify.js";

/**
 * The result of an attempt to send entries as one request. `batches` has the stored batch of each entry; `sent` has the
 * batch that the backend took of each.
 */
export type AttemptResult =
  | { readonly kind: "delivered"; readonly sent: readonly Batch[]; readonly partial: PartialRejection | undefined }
  | {
      readonly kind: "failed";
      readonly batches: readonly Batch[];
      readonly error: AttemptError;
      /** Set if one of several servers did not take its share. The marks cover all records of `batches`, in order. */
      readonly undelivered?: Undelivered | undefined;
    }
  /** Nothing was sent, because an earlier refusal of these entries is known to be their own fault. */
  | { readonly kind: "refused_before"; readonly batches: readonly Batch[]; readonly error: AttemptError }
  /** The replay steps of the pipeline refused the only entry. The backend was not called. */
  | { readonly kind: "unfit"; readonly batch: Batch; readonly error: AttemptError }
  /** Nothing was sent. `causes` has the read error of each entry, or undefined if it could be read. */
  | { readonly kind: "unreadable"; readonly causes: readonly unknown[] }
  /** The agent aborted the call, or did not make it because it was aborting. */
  | { readonly kind: "cancelled" };

const CANCELLED: AttemptResult = { kind: "cancelled" };

interface AttemptSenderServices {
  readonly exporter: Exporter;
  readonly store: QueueStore;
  readonly prepare: PrepareReplayed;
  readonly classify: Classify;
  readonly timeout: CallTimeout;
}

/**
 * Makes one attempt: reads payloads that are not in memory, prepares replayed entries, and sends the request within its
 * timeout.
 */
export class AttemptSender {
  private readonly services: AttemptSenderServices;
  private hasAborted = false;

  constructor(services: AttemptSenderServices) {
    this.services = services;
  }

  /** Whether `abort` was called. Nothing is sent afterwards. */
  get isAborted(): boolean {
    return this.hasAborted;
  }

  /** Calls `done` exactly once. */
  attempt({ items, refusal }: SendGroup, done: (result: AttemptResult) => void): void {
    const send = (batches: readonly Batch[]) =>
      refusal === undefined
        ? this.send(items, batches, done)
        : done({ kind: "refused_before", batches, error: refusal });
    const batches = batchesInMemory(items);
    if (batches !== undefined) return send(batches);
    void Promise.all(items.map((item) => readPayload(this.services.store, item))).then((read) => {
      const causes = read.map(({ cause }) => cause);
      if (causes.some((cause) => cause !== undefined)) return done({ kind: "unreadable", causes });
      send(read.map(({ batch }) => batch!));
    });
  }

  /** Aborts all calls now. A call whose payload is still being read is not made. */
  abort(refusal: Refusal): void {
    this.hasAborted = true;
    this.services.timeout.abortAll(refusal);
  }

  /** Calls the exporter's health check. `done` gets no error if the exporter is healthy. */
  checkHealth(done: (error: AttemptError | undefined) => void): void {
    this.services.timeout.run(
      async (abort) => this.services.exporter.check?.(abort),
      () => done(undefined),
      (cause) => done(this.services.classify(cause)),
    );
  }

  private send(items: readonly QueueItem[], batches: readonly Batch[], done: (result: AttemptResult) => void): void {
    const { exporter, timeout } = this.services;
    if (this.hasAborted) return done(CANCELLED);
    const prepared = this.prepare(items, batches);
    if (prepared.batch === undefined) return done({ kind: "unfit", batch: batches[0]!, error: prepared.error });
    const { batch } = prepared;
    const sent = items.length === 1 ? [batch] : batches;
    timeout.run(
      (abort) => exporter.send(batch, abort, sendOptionsOf(items, timeout.nextDeadlineAt)),
      (answer) => done({ kind: "delivered", sent, partial: validateRejection(answer, batch.count) }),
      (cause) =>
        done(this.hasAborted ? CANCELLED : { kind: "failed", batches, ...this.failureOf(cause, batch, batches) }),
    );
  }

  /**
   * If replay steps changed the entry's batch, the marks do not fit the stored records. Then all of them count as
   * undelivered.
   */
  private failureOf(cause: unknown, sent: Batch, batches: readonly Batch[]) {
    const error = this.services.classify(cause);
    const undelivered = isRefusal(cause) ? cause.undelivered : undefined;
    if (undelivered === undefined || batches.length > 1 || batches[0] === sent) return { error, undelivered };
    const marks = new Uint16Array(batches[0]!.count).fill(1);
    return { error, undelivered: { ...undelivered, marks } };
  }

  /** A replayed entry is always sent alone. */
  private prepare(items: readonly QueueItem[], batches: readonly Batch[]): PreparedBatch {
    const [{ entry }] = items as [QueueItem];
    if (items.length > 1) return { batch: Batch.merge(batches) };
    return entry.replays === 0 ? { batch: batches[0]! } : this.services.prepare(entry, batches[0]!);
  }
}

/**
 * A replayed entry is sent alone, and entries sent together share the same metadata. So the first entry's options are
 * valid for the whole request.
 */
function sendOptionsOf(items: readonly QueueItem[], deadlineAt: number | undefined): SendOptions {
  const { id, replays, metadata, calls, enqueuedAt, source } = items[0]!.entry;
  const idempotencyKey = idempotencyKeyOf(items);
  const { receiver } = source;
  const facts = { attempt: calls + 1, firstSeenAt: enqueuedAt, receiver };
  const delivery = deadlineAt === undefined ? facts : { ...facts, deadlineAt };
  const isRenumbered = items.some(({ entry }) => entry.numbering !== undefined);
  if (replays === 0 && metadata === undefined && !isRenumbered) return { idempotencyKey, delivery };
  return {
    idempotencyKey,
    delivery,
    ...(isRenumbered && { entries: items.map(({ entry }) => namedEntry(entry)) }),
    ...(replays > 0 && { replayed: { id, attempt: replays } }),
    ...(metadata && { metadata: new Map(Object.entries(metadata)) }),
  };
}

/** Returns the payload of an item, or why it cannot be read. Never rejects. */
export async function readPayload(
  store: QueueStore,
  { batch, ref }: QueueItem,
): Promise<{ readonly batch?: Batch; readonly cause?: unknown }> {
  try {
    return { batch: batch ?? (await store.payload(ref)) };
  } catch (error) {
    return { cause: error ?? new Error("unreadable") };
  }
}

/** Returns the payloads if all of them are in memory. */
function batchesInMemory(items: readonly QueueItem[]): readonly Batch[] | undefined {
  const batches: Batch[] = [];
  for (const { batch } of items) {
    if (batch === undefined) return undefined;
    batches.push(batch);
  }
  return batches;
}

/** A call to an exporter that has not ended. */
interface TimedCall {
  readonly controller: AbortController;
  /** How many calls the controller has served, this one included. */
  readonly uses: number;
  /** Called if the exporter has still not ended the call some time after the abort. */
  readonly abandon: (refusal: Refusal) => void;
}

/**
 * Making an AbortController costs more than everything else done for a call, so one that was not aborted is reused. The
 * number of uses is limited, in case an exporter leaves its listeners on the signal.
 */
const MAX_USES = 64;

/** How long an exporter may take to end an aborted call before the call is abandoned. */
const ABANDON_AFTER_MS = 1000;

/**
 * Aborts calls that take too long. All calls have the same timeout, so they expire in the order in which they began,
 * and one timer serves them all.
 */
export class CallTimeout {
  private readonly id: string;
  private readonly ms: number;
  private readonly clock: Clock;
  /** Calls under way, oldest first, with the monotonic time of each deadline. */
  private readonly calls = new Map<TimedCall, number>();
  private readonly reusable: TimedCall[] = [];
  private cancelTimer: (() => void) | undefined;

  constructor(id: string, ms: number, clock: Clock) {
    this.id = id;
    this.ms = ms;
    this.clock = clock;
  }

  /** When a call that begins now times out, in milliseconds since the epoch; undefined if it never does. */
  get nextDeadlineAt(): number | undefined {
    return this.ms > 0 ? this.clock.now() + this.ms : undefined;
  }

  /**
   * Makes a call. Calls either `done` or `failed`, exactly once: with the result, with the error or abort reason, or,
   * if the exporter ignores the abort, with the abort reason a little later.
   */
  run<T>(work: (abort: AbortSignal) => Promise<T>, done: (result: T) => void, failed: (error: unknown) => void): void {
    let isOver = false;
    const call = this.begin((refusal) => {
      if (isOver) return;
      isOver = true;
      failed(refusal);
    });
    const { signal } = call.controller;
    let working: Promise<T>;
    try {
      // A plugin may return a plain value in spite of the declared type.
      working = Promise.resolve(work(signal));
    } catch (error) {
      working = Promise.reject(error);
    }
    working.then(
      (result) => {
        if (isOver) return;
        isOver = true;
        this.end(call);
        done(result);
      },
      (error: unknown) => {
        if (isOver) return;
        isOver = true;
        this.end(call);
        failed(signal.aborted && !hasUndelivered(error) ? signal.reason : error);
      },
    );
  }

  begin(abandon: (refusal: Refusal) => void): TimedCall {
    const last = this.reusable.pop();
    const controller = last?.controller ?? new AbortController();
    const call = { controller, uses: (last?.uses ?? 0) + 1, abandon };
    this.calls.set(call, this.clock.monotonic() + this.ms);
    if (this.ms > 0) this.cancelTimer ??= this.clock.after(this.ms, () => this.abortOverdue());
    return call;
  }

  /** To be called when the exporter has ended the call. */
  end(call: TimedCall): void {
    this.calls.delete(call);
    if (call.uses < MAX_USES && !call.controller.signal.aborted) this.reusable.push(call);
  }

  /** Aborts all calls now. */
  abortAll(refusal: Refusal): void {
    for (const call of [...this.calls.keys()]) call.controller.abort(refusal);
    this.stop();
  }

  stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
  }

  private abortOverdue(): void {
    this.cancelTimer = undefined;
    const now = this.clock.monotonic();
    for (const [call, deadline] of this.calls) {
      if (deadline > now) {
        this.cancelTimer = this.clock.after(deadline - now, () => this.abortOverdue());
        return;
      }
      this.calls.delete(call);
      this.abortLate(call);
    }
  }

  private abortLate(call: TimedCall): void {
    const message = `exporter ${this.id} did not finish within ${this.ms} ms`;
    const refusal = new Refusal("transient", message, { code: ERROR_CODES.SLUICE_TIMEOUT });
    call.controller.abort(refusal);
    this.clock.after(ABANDON_AFTER_MS, () => call.abandon(refusal));
  }
}

/** Some records were delivered. This must not be forgotten because the rest was aborted. */
function hasUndelivered(error: unknown): boolean {
  return isRefusal(error) && error.undelivered !== undefined;
}

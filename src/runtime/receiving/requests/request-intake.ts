import { ACCEPTED, type Counter, type Intake, type Origin, type Outcome, type ReceiverContext } from "#contract";
import { chooseRefusal } from "#contract/errors";
import type { Batch } from "#otlp";
import { SIGNALS, type Signal } from "#otlp/signals";
import { receiverCounters } from "../receiver-counters.js";
import type { RequestFormat } from "./request-format.js";

export type Transport = "http" | "grpc";

/** Recognises requests that were taken before. */
export interface RequestDedup {
  /** Hands in what is new of the batch. `client` tells who sent it, if that was authenticated. */
  accept(key: string, batch: Batch, handIn: (fresh: Batch) => Promise<Outcome>, client: string): Promise<Outcome>;
}

/** Facts about the sender of a request. */
export interface RequestClient {
  readonly address: string | undefined;
  readonly metadata: Origin["metadata"] | undefined;
}

/** Hands in and counts the requests of one signal and one transport. */
export class RequestIntake {
  readonly signal: Signal;
  readonly format: RequestFormat;
  readonly intake: Intake;
  private readonly origin: Origin;
  private readonly accepted: Counter;
  private readonly refused: Counter;
  private readonly dedup: RequestDedup | undefined;
  /** The intakes of all signals that arrive in the same requests. */
  private readonly siblings: RequestIntakes;

  constructor(
    signal: Signal,
    intake: Intake,
    context: ReceiverContext,
    transport: Transport,
    format: RequestFormat,
    dedup?: RequestDedup,
    siblings: RequestIntakes = {},
  ) {
    this.signal = signal;
    this.siblings = siblings;
    this.format = format;
    this.intake = intake;
    this.origin = { receiver: context.id, transport };
    const { accepted, refused } = receiverCounters(context.metrics, signal, { receiver: context.id, transport });
    this.accepted = accepted;
    this.refused = refused;
    this.dedup = dedup;
  }

  /**
   * Hands in a batch and counts its outcome. Never rejects. An empty batch succeeds at once, and so does a batch whose
   * key was taken before.
   */
  accept(batch: Batch, { address, metadata }: RequestClient, key: string | undefined): Promise<Outcome> {
    if (batch.count === 0) return ACCEPTED_EMPTY;
    const origin = this.originOf(address, metadata);
    if (this.dedup === undefined || key === undefined) return this.handIn(batch, origin);
    return this.dedup.accept(key, batch, (fresh) => this.handIn(fresh, origin), authenticatedClient(metadata));
  }

  /** Hands in several batches of one request. Those of signals without a pipeline are dropped. Never rejects. */
  acceptAll(batches: readonly Batch[], client: RequestClient): Promise<Outcome> {
    const outcomes = batches.flatMap((batch) => this.siblings[batch.signal]?.accept(batch, client, undefined) ?? []);
    return Promise.all(outcomes).then(outcomeOfAll);
  }

  /**
   * Written out because spreading parts into one object would take longer than everything else here; few clients have
   * metadata to keep.
   */
  private originOf(address: string | undefined, metadata: Origin["metadata"]): Origin {
    const { receiver, transport } = this.origin;
    if (address === undefined || metadata !== undefined)
      return { receiver, transport, isNew: true, ...(address && { address }), ...(metadata && { metadata }) };
    return { receiver, transport, isNew: true, address };
  }

  private handIn(batch: Batch, origin: Origin): Promise<Outcome> {
    return this.intake.accept(batch, origin).then((outcome) => {
      if (!outcome.ok) this.refused.add(batch.count);
      else {
        this.accepted.add(batch.count - outcome.rejected);
        if (outcome.rejected > 0) this.refused.add(outcome.rejected);
      }
      return outcome;
    });
  }
}

const ACCEPTED_EMPTY: Promise<Outcome> = Promise.resolve(ACCEPTED);

/** If one batch of a request is refused, the client has to send all of it again, or none. */
function outcomeOfAll(outcomes: readonly Outcome[]): Outcome {
  const refusals = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.refusal]));
  if (refusals.length > 0) return { ok: false, refusal: refusals.reduce(chooseRefusal) };
  return outcomes.length === 1 ? outcomes[0]! : ACCEPTED;
}

type RequestIntakes = Partial<Record<Signal, RequestIntake>>;

/** Signals without a pipeline that reads from this receiver have no intake. */
export function createRequestIntakes(
  context: ReceiverContext,
  transport: Transport,
  format: RequestFormat,
  dedup?: RequestDedup,
): RequestIntakes {
  const requestIntakes: RequestIntakes = {};
  for (const signal of SIGNALS) {
    const intake = context.intakes[signal];
    if (!intake) continue;
    requestIntakes[signal] = new RequestIntake(signal, intake, context, transport, format, dedup, requestIntakes);
  }
  return requestIntakes;
}

/** The authenticated sender of a request. The address is ignored, because a retry may come from another one. */
function authenticatedClient(metadata: Origin["metadata"]): string {
  if (metadata === undefined) return "";
  const known = ["auth.authenticator", "auth.tenant", "auth.subject"].map((name) => metadata.get(name));
  return known.every((values) => values === undefined) ? "" : JSON.stringify(known);
}

/** Counts operations in progress and tells when there are none. */
export class InFlightCounter {
  private count = 0;
  private readonly waiting: (() => void)[] = [];

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
    if (this.count === 0) for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves when the count is or becomes zero. */
  whenZero(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }
}

/** How long the last answers may take to reach their clients before the sockets are destroyed. */
export const STOP_GRACE_MS = 300;

import {
  type Batch,
  type Counter,
  type Intake,
  type Origin,
  type Outcome,
  type ReceiverContext,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import {
  ACCEPTED,
  authenticatedClient,
  type Dedup,
  OTLP_SERVICES,
  type OtlpService,
  receiverCounters,
} from "../../runtime/kit.js";

export type Transport = "http" | "grpc";

/** Where the requests of one signal and one transport go in, and are counted. */
export class RequestIntake {
  readonly service: OtlpService;
  readonly intake: Intake;
  private readonly origin: Origin;
  private readonly accepted: Counter;
  private readonly refused: Counter;
  private readonly dedup: Dedup | undefined;

  constructor(signal: Signal, intake: Intake, context: ReceiverContext, transport: Transport, dedup?: Dedup) {
    this.service = OTLP_SERVICES[signal];
    this.intake = intake;
    this.origin = { receiver: context.id, transport };
    const { accepted, refused } = receiverCounters(context.metrics, signal, { receiver: context.id, transport });
    this.accepted = accepted;
    this.refused = refused;
    this.dedup = dedup;
  }

  /**
   * Hands a batch in and counts what became of it. Never rejects. A batch of nothing is a success at once, and so is one
   * whose key was taken before.
   */
  accept(batch: Batch, metadata: Origin["metadata"], key: string | undefined): Promise<Outcome> {
    if (batch.count === 0) return ACCEPTED_EMPTY;
    if (this.dedup === undefined || key === undefined) return this.handIn(batch, metadata);
    return this.dedup.accept(key, batch, (fresh) => this.handIn(fresh, metadata), authenticatedClient(metadata));
  }

  private handIn(batch: Batch, metadata: Origin["metadata"]): Promise<Outcome> {
    return this.intake.accept(batch, metadata ? { ...this.origin, metadata } : this.origin).then((outcome) => {
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

/** Signals that no pipeline takes from this receiver have none. */
export function createRequestIntakes(
  context: ReceiverContext,
  transport: Transport,
  dedup?: Dedup,
): Partial<Record<Signal, RequestIntake>> {
  const requestIntakes: Partial<Record<Signal, RequestIntake>> = {};
  for (const signal of SIGNALS) {
    const intake = context.intakes[signal];
    if (intake) requestIntakes[signal] = new RequestIntake(signal, intake, context, transport, dedup);
  }
  return requestIntakes;
}

export function noPipelineMessage(signal: Signal, receiver: string): string {
  return `no ${signal} pipeline reads from the receiver ${receiver}; add it to service.pipelines.${signal}.receivers`;
}

import { authenticatedClient, type Dedup } from "#brokers";
import { ACCEPTED } from "#contract";
import { encodingOf, type OtlpEncoding, serviceOfGrpcPath } from "#net/otlp";
import { receiverCounters } from "#receiving";
import {
  Batch,
  batchFromJson,
  type Counter,
  type Intake,
  type Origin,
  type Outcome,
  type ReceiverContext,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { joined } from "./body-chunks.js";

export type Transport = "http" | "grpc";

/** How a body is written. Answers are written alike, but to thrift as plain text. */
export type BodyEncoding = OtlpEncoding | "thrift";

/** What the requests of a protocol look like, and how their bytes become batches. */
export interface RequestFormat {
  /** What its protocol is called. */
  readonly name: string;
  /** The Content-Types that `encodingOf` knows, for messages. */
  readonly contentTypes: string;
  /** Undefined: there is no such method. */
  signalOfGrpcPath(path: string | undefined): Signal | undefined;
  /** Undefined: a body of this Content-Type is not taken. */
  encodingOf(contentType: string | undefined): BodyEncoding | undefined;
  /** Throws a `MalformedError` when the body is no request of this signal, or holds more than `maxElements` records and values. */
  toBatch(signal: Signal, encoding: BodyEncoding, body: readonly Buffer[], maxElements: number): Batch;
}

export const OTLP_FORMAT: RequestFormat = {
  name: "OTLP",
  contentTypes: "application/x-protobuf or application/json",
  signalOfGrpcPath: (path) => serviceOfGrpcPath(path)?.signal,
  encodingOf,
  toBatch(signal, encoding, body, maxElements) {
    if (encoding === "proto") return Batch.admitPieces(signal, body, maxElements);
    return batchFromJson(signal, joined(body), maxElements);
  },
};

/** What is known of who sent a request. */
interface RequestClient {
  readonly address: string | undefined;
  readonly metadata: Origin["metadata"] | undefined;
}

/** Where the requests of one signal and one transport go in, and are counted. */
export class RequestIntake {
  readonly signal: Signal;
  readonly format: RequestFormat;
  readonly intake: Intake;
  private readonly origin: Origin;
  private readonly accepted: Counter;
  private readonly refused: Counter;
  private readonly dedup: Dedup | undefined;

  constructor(
    signal: Signal,
    intake: Intake,
    context: ReceiverContext,
    transport: Transport,
    format: RequestFormat,
    dedup?: Dedup,
  ) {
    this.signal = signal;
    this.format = format;
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
  accept(batch: Batch, { address, metadata }: RequestClient, key: string | undefined): Promise<Outcome> {
    if (batch.count === 0) return ACCEPTED_EMPTY;
    const origin = this.originOf(address, metadata);
    if (this.dedup === undefined || key === undefined) return this.handIn(batch, origin);
    return this.dedup.accept(key, batch, (fresh) => this.handIn(fresh, origin), authenticatedClient(metadata));
  }

  /** Spreading parts into one takes longer than all else that is done here; few clients have metadata that is kept. */
  private originOf(address: string | undefined, metadata: Origin["metadata"]): Origin {
    const { receiver, transport } = this.origin;
    if (address === undefined || metadata !== undefined)
      return { receiver, transport, ...(address && { address }), ...(metadata && { metadata }) };
    return { receiver, transport, address };
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

/** Signals that no pipeline takes from this receiver have none. */
export function createRequestIntakes(
  context: ReceiverContext,
  transport: Transport,
  format: RequestFormat,
  dedup?: Dedup,
): Partial<Record<Signal, RequestIntake>> {
  const requestIntakes: Partial<Record<Signal, RequestIntake>> = {};
  for (const signal of SIGNALS) {
    const intake = context.intakes[signal];
    if (intake) requestIntakes[signal] = new RequestIntake(signal, intake, context, transport, format, dedup);
  }
  return requestIntakes;
}

export function noPipelineMessage(signal: Signal, receiver: string): string {
  return `no ${signal} pipeline reads from the receiver ${receiver}; add it to service.pipelines.${signal}.receivers`;
}

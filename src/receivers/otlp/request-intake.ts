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
import { joinPieces } from "./body-chunks.js";

export type Transport = "http" | "grpc";

/** The encoding of a body. Answers use the same encoding, except that thrift clients get plain text. */
export type BodyEncoding = OtlpEncoding | "thrift";

/** Describes a protocol's requests and turns their bytes into batches. */
export interface RequestFormat {
  /** The name of the protocol. */
  readonly name: string;
  /** The Content-Types that `encodingOf` knows, for messages. */
  readonly contentTypes: string;
  /** Returns undefined if there is no such method. */
  signalOfGrpcPath(path: string | undefined): Signal | undefined;
  /** Returns undefined if bodies of this Content-Type are not accepted. */
  encodingOf(contentType: string | undefined): BodyEncoding | undefined;
  /**
   * Throws a `MalformedError` if the body is not a request of this signal, or holds more than `maxElements` records and
   * values.
   */
  toBatch(signal: Signal, encoding: BodyEncoding, body: readonly Buffer[], maxElements: number): Batch;
}

export const OTLP_FORMAT: RequestFormat = {
  name: "OTLP",
  contentTypes: "application/x-protobuf or application/json",
  signalOfGrpcPath: (path) => serviceOfGrpcPath(path)?.signal,
  encodingOf,
  toBatch(signal, encoding, body, maxElements) {
    if (encoding === "proto") return Batch.admitPieces(signal, body, maxElements);
    return batchFromJson(signal, joinPieces(body), maxElements);
  },
};

/** Facts about the sender of a request. */
interface RequestClient {
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
   * Hands in a batch and counts its outcome. Never rejects. An empty batch succeeds at once, and so does a batch whose
   * key was taken before.
   */
  accept(batch: Batch, { address, metadata }: RequestClient, key: string | undefined): Promise<Outcome> {
    if (batch.count === 0) return ACCEPTED_EMPTY;
    const origin = this.originOf(address, metadata);
    if (this.dedup === undefined || key === undefined) return this.handIn(batch, origin);
    return this.dedup.accept(key, batch, (fresh) => this.handIn(fresh, origin), authenticatedClient(metadata));
  }

  /**
   * Written out because spreading parts into one object would take longer than everything else here; few clients have
   * metadata to keep.
   */
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

/** Signals without a pipeline that reads from this receiver have no intake. */
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

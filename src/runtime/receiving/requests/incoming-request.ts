import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import {
  AUTH_PREFIX,
  type AuthenticatedClient,
  type Clock,
  IDEMPOTENCY_HEADER,
  type Origin,
  type Outcome,
} from "#contract";
import { clientOf, plainAddress } from "#net";
import { authMetadata } from "#net/auth";
import type { ErrorAnswer } from "#net/otlp";
import type { Batch } from "#otlp";
import { type BodyEncoding, GAVE_WAY, type RequestRefusals, TOO_FRAGMENTED } from "./request-format.js";
import type { InFlightCounter, RequestClient, RequestIntake } from "./request-intake.js";
import type { UploadRoom } from "./upload.js";
import { Upload } from "./upload.js";

/** The name of the client's address in `from_context`. */
const CLIENT_ADDRESS = "client.address";

interface KeptHeaders {
  /** Keyed by lower-case name. */
  readonly headers: readonly (readonly [name: string, values: readonly string[]])[];
  readonly socket: Socket | undefined;
}

/** Where a client is, for its connection: requests come over connections that stay. */
interface ClientPlace {
  readonly address: string | undefined;
  readonly client: string | undefined;
}

const NO_PEER: ClientPlace = { address: undefined, client: undefined };
const peers = new WeakMap<Socket, ClientPlace>();

function peerOf(socket: Socket): ClientPlace {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const { remoteAddress } = socket;
  const peer = { address: plainAddress(remoteAddress), client: clientOf(remoteAddress) };
  peers.set(socket, peer);
  return peer;
}

/** The parts of an endpoint that its requests need. */
interface RequestEndpoint {
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly uploadRoom: UploadRoom;
  readonly refusals: RequestRefusals;
  /** Requests that may still be refused or timed out. */
  readonly open: Pick<Set<unknown>, "add" | "delete">;
  readonly handedIn: InFlightCounter;
  countRefused(error: ErrorAnswer): void;
}

/**
 * A request of either transport that was accepted for reading: its body arrives, goes to the intake, and the outcome is
 * answered.
 *
 * It is in `endpoint.open` until it is answered or the client goes away; if its transport does not need it after
 * hand-in, only until then. It counts in `endpoint.handedIn` from the moment the batch is handed in until the outcome
 * is known, even if the client has gone. Its reserved memory is released when it is handed in or ends, whichever comes
 * first.
 */
export abstract class IncomingRequest<Endpoint extends RequestEndpoint> {
  protected readonly endpoint: Endpoint;
  protected readonly upload: Upload;
  protected readonly encoding: BodyEncoding;
  protected state: "reading" | "handed in" | "done" = "reading";
  /** The authenticated client, if the endpoint has an authenticator. */
  private readonly client: AuthenticatedClient | undefined;
  private readonly address: string | undefined;

  constructor(
    endpoint: Endpoint,
    requestIntake: RequestIntake,
    encoding: BodyEncoding,
    client: AuthenticatedClient | undefined,
    socket: Socket | undefined,
  ) {
    this.client = client;
    const peer = socket === undefined ? NO_PEER : peerOf(socket);
    this.address = peer.address;
    this.endpoint = endpoint;
    this.upload = new Upload(requestIntake, {
      room: endpoint.uploadRoom,
      client: client === undefined ? peer.client : `${client.authenticator} ${client.subject}`,
      startedAt: endpoint.clock.monotonic(),
      giveWay: () => this.refuse(GAVE_WAY),
    });
    this.encoding = encoding;
  }

  /** Called once the batch has taken over the body. */
  protected onHandedIn(): void {}
  protected abstract onChunk(chunk: Buffer): void;
  protected abstract onEnd(): void;
  protected abstract answerRefused(error: ErrorAnswer): void;
  protected abstract answerOutcome(outcome: Outcome): void;
  /** The headers to keep and the socket they came from; undefined if none are kept. */
  protected abstract keptHeaders(): KeptHeaders | undefined;
  protected abstract header(name: string): string | readonly string[] | undefined;

  /** Ends the request with an error, unless it has been handed in. */
  refuse(error: ErrorAnswer): void {
    if (this.state !== "reading") return;
    this.finish();
    this.endpoint.countRefused(error);
    this.answerRefused(error);
  }

  protected readBody(body: Readable): void {
    if (!this.upload.begin()) return this.refuse(this.endpoint.refusals.overloaded);
    this.endpoint.open.add(this);
    body.on("data", (chunk: Buffer) => {
      if (this.state !== "reading") return;
      if (this.upload.body.isFragmented) this.refuse(TOO_FRAGMENTED);
      else this.onChunk(chunk);
    });
    body.on("end", () => {
      if (this.state !== "reading") return;
      this.upload.end();
      this.onEnd();
    });
  }

  protected handInCompressed(compression: string, compressed: Buffer): void {
    try {
      const body = this.upload.decompress(compression, compressed, this.endpoint.maxBytes);
      if (!(body instanceof Promise)) this.handIn([body]);
      else body.then((bytes) => this.handIn([bytes])).catch((error: unknown) => this.refuseBadUpload(error));
    } catch (error) {
      this.refuseBadUpload(error);
    }
  }

  protected handIn(body: readonly Buffer[]): void {
    if (this.state !== "reading") return;
    try {
      const batch = this.upload.toBatch(this.encoding, body, this.endpoint.maxBytes);
      if (!(batch instanceof Promise)) this.accept(batch);
      else batch.then((made) => this.accept(made)).catch((error: unknown) => this.refuseBadUpload(error));
    } catch (error) {
      this.refuseBadUpload(error);
    }
  }

  private accept(batch: Batch): void {
    if (this.state !== "reading") return;
    const client = this.beginHandIn();
    this.awaitOutcome(this.upload.requestIntake.accept(batch, client, this.idempotencyKey()));
  }

  /** Hands in the batches of a request that holds several signals. */
  protected acceptAll(batches: readonly Batch[]): void {
    if (this.state !== "reading") return;
    const client = this.beginHandIn();
    this.awaitOutcome(this.upload.requestIntake.acceptAll(batches, client));
  }

  private beginHandIn(): RequestClient {
    this.state = "handed in";
    this.upload.release();
    this.onHandedIn();
    return { address: this.address, metadata: this.metadata() };
  }

  private awaitOutcome(accepted: Promise<Outcome>): void {
    this.endpoint.handedIn.begin();
    accepted.then((outcome) => this.onOutcome(outcome));
  }

  protected finish(): void {
    if (this.state === "done") return;
    this.state = "done";
    this.endpoint.open.delete(this);
    this.upload.release();
  }

  private onOutcome(outcome: Outcome): void {
    if (this.state === "handed in") {
      this.answerOutcome(outcome);
      this.finish();
    }
    this.endpoint.handedIn.end();
  }

  protected refuseBadUpload(error: unknown): void {
    this.refuse(this.endpoint.refusals.unreadable(error, this.endpoint.maxBytes));
  }

  /** Facts about the client other than its headers; no header can fake them. */
  private metadata(): Origin["metadata"] {
    const known = this.client && authMetadata(this.client);
    const kept = this.keptHeaders();
    if (kept === undefined) return known;
    const headers = kept.headers.filter(([name]) => name !== CLIENT_ADDRESS && !name.startsWith(AUTH_PREFIX));
    const metadata = new Map<string, readonly string[]>([...headers, ...(known ?? [])]);
    const address = plainAddress(kept.socket?.remoteAddress);
    return address === undefined ? metadata : metadata.set(CLIENT_ADDRESS, [address]);
  }

  private idempotencyKey(): string | undefined {
    const key = this.header(IDEMPOTENCY_HEADER);
    return typeof key === "string" && key !== "" ? key : undefined;
  }
}

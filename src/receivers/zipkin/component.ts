import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Server as TlsServer } from "node:https";
import process from "node:process";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isAuthError, type ServerAuthenticator } from "#contract";
import { limitConnections, listen, listenAddress, loadServerTls, protectionOf, reloadServerTls } from "#net";
import { answerOfAuthError, authenticate, httpAuthRequest, plainAddress, serverAuthenticator } from "#net/auth";
import { answerOfRefusal, retryAfterSeconds } from "#net/otlp";
import { type ReceiverCounters, receiverCounters } from "#receiving";
import {
  type Batch,
  defineReceiver,
  type Intake,
  isMalformed,
  type Origin,
  type Outcome,
  type Receiver,
  type ReceiverContext,
} from "../../plugin.js";
import { type ZipkinReceiverConfig, zipkinReceiverSchema } from "./config.js";
import { ZipkinBatchWriter } from "./from-zipkin.js";
import { jsonElements } from "./json-elements.js";
import { BodyError, readBody } from "./read-body.js";

/** Spans from Zipkin tracers. */
export const zipkinReceiver = defineReceiver<ZipkinReceiverConfig>({
  type: "zipkin",
  summary: "Receives spans of Zipkin over HTTP, as JSON of its API's version 2.",
  signals: ["traces"],
  schema: zipkinReceiverSchema,
  listensAt: (config) => [
    {
      address: listenAddress(config.endpoint, config.transport),
      key: ["endpoint"],
      protection: protectionOf({ tls: config.tls, auth: config.auth ?? undefined }),
    },
  ],
  create: (config, context) => new ZipkinReceiver(config, context),
});

const PATH = "/api/v2/spans";
const MAX_CONNECTIONS = 10_000;
const MAX_CONNECTIONS_PER_CLIENT = 2500;
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
/** The number of spans processed before yielding to other work. */
const SPANS_PER_TURN = 500;

interface Answer {
  readonly status: number;
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The running receiver. `port` tells where it listens, which matters with port 0. */
export class ZipkinReceiver implements Receiver {
  port = 0;
  private readonly config: ZipkinReceiverConfig;
  private readonly context: ReceiverContext;
  private readonly authenticator: ServerAuthenticator | undefined;
  private readonly counters: ReceiverCounters;
  private readonly stopping = new AbortController();
  /** Requests without an answer yet. */
  private readonly open = new Set<Promise<void>>();
  private server: Server | TlsServer | undefined;
  private stopReloading = () => {};

  constructor(config: ZipkinReceiverConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
    this.authenticator = config.auth ? serverAuthenticator(config.auth, context) : undefined;
    this.counters = receiverCounters(context.metrics, "traces", { receiver: context.id, transport: "http" });
  }

  async start(): Promise<void> {
    const { config, context } = this;
    const handler = (request: IncomingMessage, response: ServerResponse) => this.handle(request, response);
    const options = {
      requestTimeout: config.read_timeout,
      headersTimeout: Math.min(config.read_header_timeout, config.read_timeout || config.read_header_timeout),
      keepAliveTimeout: config.idle_timeout,
    };
    const server = config.tls
      ? process
          .getBuiltinModule("node:https")
          .createServer({ ...options, ...(await loadServerTls(config.tls, ["tls"])) }, handler)
      : createServer(options, handler);
    limitConnections(server, {
      maxConnections: MAX_CONNECTIONS,
      maxConnectionsPerClient: MAX_CONNECTIONS_PER_CLIENT,
      onRefused: (reason) => context.logger.debug({ reason }, "refused a connection"),
    });
    this.port = await listen(server, listenAddress(config.endpoint, config.transport), ["endpoint"]);
    this.server = server;
    server.on("error", (error) => context.logger.error({ error: error.message }, "HTTP server error"));
    if (config.tls)
      this.stopReloading = reloadServerTls(server as TlsServer, config.tls, context.clock, context.logger);
    context.logger.info({ endpoint: config.endpoint, port: this.port }, "listening for Zipkin");
  }

  /** Requests that are still being read get a retryable error; requests that were handed in get their answer. */
  async stop(): Promise<void> {
    this.stopReloading();
    this.stopping.abort();
    const { server } = this;
    if (server === undefined) return;
    this.server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    while (this.open.size > 0) await Promise.all(this.open);
    server.closeIdleConnections();
    server.closeAllConnections();
    await closed;
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    request.on("error", () => {});
    response.on("error", () => {});
    const done: Promise<void> = this.answer(request)
      .catch((error: unknown): Answer => answerOfError(error))
      .then((answer) => this.respond(request, response, answer))
      .finally(() => this.open.delete(done));
    this.open.add(done);
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    if (this.stopping.signal.aborted) return SHUTTING_DOWN;
    if (this.authenticator !== undefined) {
      const outcome = await authenticate(this.authenticator, httpAuthRequest(request));
      if (isAuthError(outcome)) {
        const { httpStatus: status, message } = answerOfAuthError(outcome);
        const challenge = { "www-authenticate": this.authenticator.challenge };
        return { status, message, ...(outcome.kind === "unauthenticated" && { headers: challenge }) };
      }
    }
    const path = (request.url ?? "/").split("?", 1)[0];
    if (path !== PATH) return { status: 404, message: `spans are taken at ${PATH}, as JSON of version 2` };
    if (request.method !== "POST") return { status: 405, message: "spans are POSTed", headers: { allow: "POST" } };
    if (/protobuf|thrift/.test(request.headers["content-type"] ?? ""))
      return { status: 415, message: "spans are taken as application/json only" };
    const intake = this.context.intakes.traces;
    if (intake === undefined) return { status: 404, message: `no pipeline of traces reads from ${this.context.id}` };
    return answerOfOutcome(await this.take(request, intake));
  }

  private async take(request: IncomingMessage, intake: Intake): Promise<Outcome> {
    const body = await readBody(request, intake, this.config.max_request_body_size, this.stopping.signal);
    let batch: Batch;
    try {
      batch = await this.batchOf(body.bytes);
    } finally {
      body.release();
    }
    if (batch.count === 0) return { ok: true, rejected: 0, message: "" };
    const outcome = await intake.accept(batch, originOf(request, this.context.id));
    const rejected = outcome.ok ? outcome.rejected : batch.count;
    this.counters.accepted.add(batch.count - rejected);
    if (rejected > 0) this.counters.refused.add(rejected);
    return outcome;
  }

  private async batchOf(json: Buffer): Promise<Batch> {
    const writer = new ZipkinBatchWriter(this.config.parse_string_tags);
    let count = 0;
    for (const element of jsonElements(json)) {
      writer.add(element);
      if (++count % SPANS_PER_TURN === 0) await nextTurn();
    }
    return writer.finish();
  }

  /** Resolves when the answer has been sent: until then its connection must not be cut. */
  private async respond(
    request: IncomingMessage,
    response: ServerResponse,
    { status, message = "", headers }: Answer,
  ): Promise<void> {
    if (response.destroyed) return;
    response.setTimeout(this.config.write_timeout, () => response.destroy());
    // A client that is still sending reads its answer only after it has sent everything, so a small rest is read and
    // discarded.
    const isEndless = !request.complete && !(Number(request.headers["content-length"]) <= MAX_DISCARDED_BYTES);
    if (isEndless || this.stopping.signal.aborted || !this.config.keep_alives_enabled) response.shouldKeepAlive = false;
    const text = message === "" ? "" : `${message}\n`;
    response.writeHead(status, {
      ...this.config.response_headers,
      "content-length": Buffer.byteLength(text),
      ...(text !== "" && { "content-type": "text/plain; charset=utf-8" }),
      ...headers,
    });
    await new Promise<void>((resolve) => response.once("close", resolve).end(text, resolve));
  }
}

function originOf(request: IncomingMessage, receiver: string): Origin {
  const address = plainAddress(request.socket.remoteAddress);
  return { receiver, transport: "http", ...(address && { address }) };
}

const SHUTTING_DOWN: Answer = { status: 503, message: "shutting down", headers: { "retry-after": "1" } };

function answerOfOutcome(outcome: Outcome): Answer {
  if (outcome.ok) return { status: 202, message: outcome.message };
  const { httpStatus: status, message, retryAfterMs } = answerOfRefusal(outcome.refusal);
  return {
    status,
    message,
    ...(retryAfterMs !== undefined && { headers: { "retry-after": retryAfterSeconds(retryAfterMs) } }),
  };
}

function answerOfError(error: unknown): Answer {
  if (error instanceof BodyError)
    return {
      status: error.status,
      message: error.message,
      ...(error.status === 503 && { headers: { "retry-after": "1" } }),
    };
  if (isMalformed(error)) return { status: 400, message: error.message };
  return { status: 500, message: "the request could not be read" };
}

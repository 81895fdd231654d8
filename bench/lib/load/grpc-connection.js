import { once } from "node:events";
import http2 from "node:http2";

/**
 * Has the interface of HttpConnection for gRPC: one unary call at a time. A few connections share one HTTP/2 session,
 * as SDKs in one process do. A gRPC status becomes the HTTP status with the same meaning in OTLP.
 *
 * @typedef {import("./http-connection.js").Answer} Answer
 */
const WINDOW = 16 * 1024 * 1024;
const CALLS_PER_SESSION = 8;
const OK = 0;
const RETRYABLE = new Set([1, 4, 8, 10, 11, 14, 15]);
const SERVICES = { logs: "logs.v1.LogsService", traces: "trace.v1.TraceService", metrics: "metrics.v1.MetricsService" };

/** @type {{ session: http2.ClientHttp2Session, users: number } | undefined} */
let shared;

export class GrpcConnection {
  /** @param {number} port @param {(answer: Answer) => void} answered @param {keyof typeof SERVICES} signal */
  constructor(port, answered, signal) {
    this.port = port;
    this.answered = answered;
    this.headers = {
      ":method": "POST",
      ":path": `/opentelemetry.proto.collector.${SERVICES[signal]}/Export`,
      "content-type": "application/grpc",
      te: "trailers",
    };
    /** @type {http2.ClientHttp2Session | undefined} */
    this.session = undefined;
    this.abandoned = false;
  }

  async open() {
    if (shared === undefined || shared.users === CALLS_PER_SESSION || shared.session.closed) {
      const session = http2.connect(`http://127.0.0.1:${this.port}`, { settings: { initialWindowSize: WINDOW } });
      session.on("error", () => {});
      shared = { session, users: 0 };
    }
    shared.users++;
    this.session = shared.session;
    if (this.session.connecting) await once(this.session, "connect");
  }

  /** @param {Buffer} message with its gRPC prefix */
  send(message) {
    if (this.session === undefined || this.session.destroyed) {
      setImmediate(this.answered, { status: 0, retryAfter: false });
      return;
    }
    const call = this.session.request(this.headers);
    let code = 2;
    let details = false;
    const look = (/** @type {http2.IncomingHttpHeaders} */ headers) => {
      if (headers["grpc-status"] === undefined) return;
      code = Number(headers["grpc-status"]);
      details = headers["grpc-status-details-bin"] !== undefined;
    };
    call.on("response", look);
    call.on("trailers", look);
    call.on("error", () => {});
    call.on("close", () => this.abandoned || this.answered({ status: httpStatus(code), retryAfter: details }));
    call.resume();
    call.end(message);
  }

  close() {
    this.abandoned = true;
    this.session?.destroy();
    shared = undefined;
  }
}

function httpStatus(/** @type {number} */ code) {
  if (code === OK) return 200;
  return RETRYABLE.has(code) ? 503 : 400;
}

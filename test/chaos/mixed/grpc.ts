import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { grpcFrame } from "../../../src/runtime/net/otlp/grpc-frame.js";
import { GRPC_STATUS } from "../../../src/runtime/net/otlp/grpc-status.js";
import { encodeResponse } from "../../../src/runtime/net/otlp/response.js";
import type { Answer } from "../client.js";

const PATHS = {
  logs: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
  traces: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
};
const PATIENCE_MS = 10_000;

/** A gRPC client of one agent that is started again and again, always on another port. */
export class GrpcSender {
  private session: ClientHttp2Session | undefined;
  private port: number | undefined;

  /** Answers in the terms of HTTP: 200, 503 for what may be sent again, 400 for what may not. */
  post(port: number, body: Uint8Array, signal: "logs" | "traces"): Promise<Answer> {
    return new Promise((resolve) => {
      const session = this.sessionTo(port);
      const headers = { ":method": "POST", ":path": PATHS[signal], "content-type": "application/grpc", te: "trailers" };
      const stream = session.request(headers);
      let status = -1;
      const read = (found: object) => {
        const code = (found as Record<string, unknown>)["grpc-status"];
        if (code !== undefined) status = Number(code);
      };
      stream.setTimeout(PATIENCE_MS, () => stream.close());
      stream
        .on("response", read)
        .on("trailers", read)
        .on("data", () => {});
      stream.on("error", () => {});
      stream.on("close", () => {
        if (status === -1) return resolve(session.connecting || !this.isConnected(session) ? "not sent" : "unknown");
        const isRetryable = status === GRPC_STATUS.UNAVAILABLE;
        resolve({ status: status === 0 ? 200 : isRetryable ? 503 : 400, body: Buffer.alloc(0), retryAfterMs: 10 });
      });
      stream.end(grpcFrame(body));
    });
  }

  close(): void {
    this.session?.destroy();
  }

  private readonly connected = new WeakSet<ClientHttp2Session>();

  private isConnected(session: ClientHttp2Session): boolean {
    return this.connected.has(session);
  }

  private sessionTo(port: number): ClientHttp2Session {
    if (this.session !== undefined && this.port === port && !this.session.destroyed && !this.session.closed)
      return this.session;
    this.session?.destroy();
    this.port = port;
    const session = connect(`http://127.0.0.1:${port}`);
    session.on("error", () => {}).on("connect", () => this.connected.add(session));
    this.session = session;
    return session;
  }
}

export interface GrpcRequest {
  readonly body: Buffer;
  readonly key: string | undefined;
}

/** Undefined: no answer, the stream is reset. */
export type GrpcAnswer = { readonly code: number; readonly message?: string } | undefined;

/** A gRPC backend that answers each request as the test says. */
export async function startGrpcBackend(answer: (request: GrpcRequest) => Promise<GrpcAnswer>) {
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {}).on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => {}).on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", async () => {
      const key = headers["sluice-idempotency-key"] as string | undefined;
      const answered = await answer({ body: Buffer.concat(chunks).subarray(5), key });
      if (stream.destroyed) return;
      if (answered === undefined) return stream.destroy();
      const { code, message = "" } = answered;
      const trailers = { "grpc-status": String(code), "grpc-message": message };
      if (code !== GRPC_STATUS.OK)
        return stream.respond({ "content-type": "application/grpc", ...trailers }, { endStream: true });
      stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers(trailers));
      stream.end(grpcFrame(encodeResponse("logs", "proto")));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

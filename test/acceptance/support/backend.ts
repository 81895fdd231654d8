import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { Batch, batchFromJson, readRecords, type Signal } from "../../../src/plugin.js";

/** A call that the backend got. */
export interface Call {
  /** When its body was there, in milliseconds of `performance.now()`. */
  readonly at: number;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly batch: Batch;
  /** The bodies of its log records. */
  readonly bodies: readonly string[];
  /** Whether it has no records, as the calls of a health check. */
  readonly isCheck: boolean;
}

/**
 * What the backend does with a call: `ok` takes it; a status refuses it; `reset` breaks the connection; `hang` never
 * answers; `unreadable` answers 200 with a body that is no OTLP. An object answers as it says.
 */
export type Behaviour =
  | "ok"
  | "reset"
  | "hang"
  | "unreadable"
  | number
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

/** An OTLP/HTTP backend on loopback that misbehaves as a test says. */
export interface Backend {
  readonly url: string;
  readonly port: number;
  /** All calls with records, also those that it refused. */
  readonly calls: readonly Call[];
  /** The calls without records. */
  readonly checks: readonly Call[];
  /** The calls that it took. */
  readonly taken: readonly Call[];
  /** The bodies of the log records that it took, in order. */
  readonly bodies: readonly string[];
  /** From now on calls get this; a function decides for each call, also for calls without records. */
  behave(how: Behaviour | ((call: Call) => Behaviour | Promise<Behaviour>)): void;
  close(): Promise<void>;
}

/** Starts a backend that takes everything, and closes it with the test. */
export async function startBackend(port = 0): Promise<Backend> {
  const calls: Call[] = [];
  const checks: Call[] = [];
  const taken: Call[] = [];
  let decide: (call: Call) => Behaviour | Promise<Behaviour> = () => "ok";
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const call = readCall(request.url ?? "", request.headers, Buffer.concat(chunks));
      (call.isCheck ? checks : calls).push(call);
      const how = await decide(call);
      if (how === "ok" && !call.isCheck) taken.push(call);
      answer(how, response, request.headers["content-type"] ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    calls,
    checks,
    taken,
    get bodies() {
      return taken.flatMap((call) => call.bodies);
    },
    behave: (how) => {
      decide = typeof how === "function" ? how : () => how;
    },
    close,
  };
}

function readCall(path: string, headers: IncomingHttpHeaders, body: Buffer): Call {
  const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
  const signal = (/\/v1\/(\w+)$/.exec(path)?.[1] ?? "logs") as Signal;
  const isJson = headers["content-type"]?.startsWith("application/json");
  const batch = isJson ? batchFromJson(signal, bytes) : Batch.admit(signal, bytes);
  const bodies: string[] = [];
  readRecords(batch, (record) => {
    if (record.signal === "logs") bodies.push(String(record.body));
  });
  return { at: performance.now(), path, headers, batch, bodies, isCheck: batch.count === 0 };
}

function answer(how: Behaviour, response: ServerResponse, contentType: string): void {
  if (how === "hang") return;
  if (how === "reset") return void response.socket?.destroy();
  if (how === "unreadable") return void response.writeHead(200, { "content-type": contentType }).end("\xff\xff\xff");
  if (how === "ok") {
    response.writeHead(200, { "content-type": contentType });
    return void response.end(contentType.startsWith("application/json") ? "{}" : "");
  }
  const { status, headers = {}, body = "refused" } = typeof how === "number" ? { status: how } : how;
  response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
}

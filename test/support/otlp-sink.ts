import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { Batch, batchFromJson, type Signal } from "../../src/plugin.js";

/** A backend on loopback that keeps what it is sent. */
export interface OtlpSink {
  readonly url: string;
  readonly port: number;
  readonly batches: Batch[];
  /** Records received, of all signals. */
  readonly count: number;
  /** Answers requests from now on; undefined goes back to success. Taken batches are kept only on success. */
  respond(how: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void;
  /** Answers each request from now on with this status, and takes those with 200; undefined gives no answer. */
  decide(status: () => number | undefined): void;
  readonly requests: IncomingMessage[];
  close(): Promise<void>;
}

export async function startSink(): Promise<OtlpSink> {
  const batches: Batch[] = [];
  const requests: IncomingMessage[] = [];
  let how: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  let decide: () => number | undefined = () => 200;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push(request);
      if (how !== undefined) return how(request, response);
      const status = decide();
      if (status === undefined) return;
      if (status !== 200) return void response.writeHead(status).end("as told");
      batches.push(read(request, Buffer.concat(chunks)));
      response.writeHead(200, { "content-type": request.headers["content-type"] ?? "" });
      response.end(request.headers["content-type"] === "application/json" ? "{}" : "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    batches,
    requests,
    get count() {
      return batches.reduce((sum, batch) => sum + batch.count, 0);
    },
    respond: (next) => {
      how = next;
    },
    decide: (next) => {
      decide = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function read(request: IncomingMessage, body: Buffer): Batch {
  const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
  const signal = /\/v1\/(\w+)$/.exec(request.url ?? "")?.[1] as Signal;
  const isJson = request.headers["content-type"]?.startsWith("application/json");
  return isJson ? batchFromJson(signal, bytes) : Batch.admit(signal, bytes);
}

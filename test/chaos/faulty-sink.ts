import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Ledger } from "./ledger.js";
import { decodeNumbers } from "./numbered.js";

/**
 * A backend that misbehaves on command. It notes records only when it keeps them:
 *
 * - `ok` keeps and answers; `slow` does so after a while;
 * - `unavailable` answers 503, `throttled` 429 with Retry-After, `hangs` never answers, `resets` breaks the connection
 *   in the middle of the request: none of them keeps anything;
 * - `forgets to answer` keeps the records and breaks the connection instead of answering: a duplicate in the making.
 */
export type Mood = "ok" | "slow" | "unavailable" | "throttled" | "hangs" | "resets" | "forgets to answer";

export const BAD_MOODS: readonly Mood[] = ["slow", "unavailable", "throttled", "hangs", "resets", "forgets to answer"];

export interface FaultySink {
  readonly url: string;
  readonly port: number;
  mood: Mood;
  readonly requests: number;
  close(): Promise<void>;
}

const SLOW_MS = 40;

export async function startFaultySink(ledger: Ledger): Promise<FaultySink> {
  const state: { mood: Mood; requests: number } = { mood: "ok", requests: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    state.requests++;
    if (state.mood === "resets") request.once("data", () => request.socket.destroy());
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => react(state.mood, ledger, Buffer.concat(chunks), request, response));
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get mood() {
      return state.mood;
    },
    set mood(mood) {
      state.mood = mood;
    },
    get requests() {
      return state.requests;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function react(mood: Mood, ledger: Ledger, body: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const keep = () => ledger.arrive(decodeNumbers(body));
  const accept = () => {
    if (request.socket.destroyed) return;
    keep();
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  };
  switch (mood) {
    case "ok":
      return accept();
    case "slow":
      setTimeout(accept, SLOW_MS);
      return;
    case "unavailable":
      response.writeHead(503).end();
      return;
    case "throttled":
      response.writeHead(429, { "retry-after": "0" }).end();
      return;
    case "resets":
      request.socket.destroy();
      return;
    case "hangs":
      return;
    case "forgets to answer":
      keep();
      request.socket.destroy();
  }
}

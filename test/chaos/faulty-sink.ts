import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeNumbers } from "./numbered.js";
import type { RecordBook } from "./record-book.js";

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

/** Returns the status to answer with, for a request that the backend does not spoil. */
type Keep = (body: Buffer, request: IncomingMessage) => Promise<number>;

/** The far end: what it keeps has arrived. Requests with a record that it cannot stand it refuses as a whole, with this status. */
export function startFaultySink(
  book: RecordBook,
  isBad: (number: number) => boolean = () => false,
  status = 400,
  port = 0,
): Promise<FaultySink> {
  return startFaulty(async (body) => {
    const numbers = decodeNumbers(body);
    if (numbers.some(isBad)) return status;
    book.arrive(numbers);
    return 200;
  }, port);
}

/** A network with moods in front of an agent: what it keeps, it hands on, headers and all. */
export function startFaultyRelay(port: () => number | undefined): Promise<FaultySink> {
  return startFaulty(
    (body, { headers, url = "/", method = "POST" }) =>
      new Promise((resolve) => {
        const target = port();
        if (target === undefined) return resolve(503);
        const outgoing = send({ host: "127.0.0.1", port: target, path: url, method, headers }, (response) => {
          response.on("error", () => resolve(503)).on("end", () => resolve(response.statusCode ?? 503));
          response.resume();
        });
        outgoing.on("error", () => resolve(503)).end(body);
      }),
  );
}

async function startFaulty(keep: Keep, wantedPort = 0): Promise<FaultySink> {
  const state: { mood: Mood; requests: number } = { mood: "ok", requests: 0 };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    state.requests++;
    if (state.mood === "resets") request.once("data", () => request.socket.destroy());
    request.on("error", () => {});
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => react(state.mood, keep, Buffer.concat(chunks), request, response));
  });
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(wantedPort, "127.0.0.1", resolve));
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

function react(mood: Mood, keep: Keep, body: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const accept = async () => {
    if (request.socket.destroyed) return;
    const status = await keep(body, request);
    response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
  };
  switch (mood) {
    case "ok":
      void accept();
      return;
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
      void keep(body, request).then(() => request.socket.destroy());
  }
}

import http from "node:http";
import { HttpConnection } from "./load/http-connection.js";

/**
 * How the bare forwarders send: over kept-alive connections, with the agent's own client, with node:http or with plain
 * sockets, each request by itself or merged with its neighbours. Only this file selects the client.
 *
 * @typedef {{ path: string, type: string, encoding?: string | undefined, chunks: readonly Buffer[] }} Forwarded
 * @typedef {{ status: number, type?: string | undefined, body: Buffer }} Answer status 502: there was none
 * @typedef {(request: Forwarded, done: (answer: Answer) => void) => void} Send
 */
const NOTHING = Buffer.alloc(0);

/** @type {Record<string, (port: number, connections: number) => Send | Promise<Send>>} */
export const CLIENTS = { own: ownClient, node: nodeClient, sockets: socketClient };

/**
 * The client of the agent's exporter, so that ratios show only what the agent does besides sending.
 * @param {number} port @param {number} connections
 */
async function ownClient(port, connections) {
  const dist = "../../dist/runtime";
  const { Http1Client } = await import(`${dist}/net/http1/client.js`);
  const { requestHead } = await import(`${dist}/net/http1/request-writer.js`);
  const { systemClock } = await import(`${dist}/contract/clock.js`);
  const settings = { maxConnections: connections, maxIdle: connections, idleTimeoutMs: 90_000, maxAnswerBytes: 65_536 };
  const client = new Http1Client({ host: "127.0.0.1", port }, { clock: systemClock, ...settings });
  /** @type {Map<string, unknown>} */
  const heads = new Map();
  /** @type {Send} */
  return ({ path, type, encoding, chunks }, done) => {
    const key = `${path} ${type} ${encoding}`;
    const headers = {
      Host: `127.0.0.1:${port}`,
      "Content-Type": type,
      ...(encoding && { "Content-Encoding": encoding }),
    };
    const head = heads.get(key) ?? requestHead("POST", path, headers);
    heads.set(key, head);
    client.request(head, chunks).then(
      (/** @type {any} */ answer) => {
        done({ status: answer.status, type: answer.headers.get("content-type"), body: answer.body });
      },
      () => done({ status: 502, body: NOTHING }),
    );
  };
}

/** @param {number} port @param {number} connections @returns {Send} */
function nodeClient(port, connections) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  return ({ path, type, encoding, chunks }, done) => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    const headers = {
      "content-type": type,
      "content-length": body.length,
      ...(encoding ? { "content-encoding": encoding } : {}),
    };
    const request = http.request({ host: "127.0.0.1", port, method: "POST", path, headers, agent }, (response) => {
      /** @type {Buffer[]} */
      const parts = [];
      response.on("data", (chunk) => parts.push(chunk));
      response.on("end", () =>
        done({
          status: response.statusCode ?? 502,
          type: response.headers["content-type"],
          body: Buffer.concat(parts),
        }),
      );
    });
    request.on("error", () => done({ status: 502, body: NOTHING }));
    request.end(body);
  };
}

/**
 * Reads only the status of a response; the body is reported as empty.
 * @param {number} port @param {number} connections @returns {Send}
 */
function socketClient(port, connections) {
  /** @type {{ request: Forwarded, done: (answer: Answer) => void }[]} */
  const waiting = [];
  /** @type {((request: Forwarded, done: (answer: Answer) => void) => void)[]} */
  const free = Array.from({ length: connections }, () => {
    /** @type {((answer: Answer) => void) | undefined} */
    let told;
    const connection = new HttpConnection(port, ({ status }) => {
      const next = waiting.shift();
      const tell = told;
      if (next === undefined) free.push(send);
      else send(next.request, next.done);
      tell?.({ status: status === 0 ? 502 : status, body: NOTHING });
    });
    /** @param {Forwarded} request @param {(answer: Answer) => void} done */
    const send = (request, done) => {
      told = done;
      connection.send(Buffer.concat([headOf(request), ...request.chunks]));
    };
    return send;
  });
  return (request, done) => {
    const send = free.pop();
    if (send === undefined) waiting.push({ request, done });
    else send(request, done);
  };
}

/** @param {Forwarded} request */
function headOf({ path, type, encoding, chunks }) {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const packed = encoding ? `content-encoding: ${encoding}\r\n` : "";
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${type}\r\n${packed}content-length: ${length}\r\n\r\n`,
    "latin1",
  );
}

/** Concurrent requests in the merging form: while all are busy, further requests are collected. */
const MERGING_SLOTS = 2;
const MAX_MERGED_BYTES = 4 * 1024 * 1024;

/**
 * Merges neighbouring requests, as a batch processor may: concatenated protobuf messages are one message. Requests that
 * arrive in one turn of the event loop, or while all slots are busy, are sent as one.
 *
 * @param {Send} send @returns {Send}
 */
export function merging(send) {
  /** @type {{ request: Forwarded, done: (answer: Answer) => void }[]} */
  const waiting = [];
  let busy = 0;
  let scheduled = false;
  const sendNext = () => {
    scheduled = false;
    while (busy < MERGING_SLOTS && waiting.length > 0) {
      const together = waiting.splice(0, neighbours(waiting));
      busy++;
      const chunks = together.flatMap(({ request }) => request.chunks);
      send({ ...together[0].request, chunks }, (answer) => {
        busy--;
        sendNext();
        for (const { done } of together) done(answer);
      });
    }
  };
  return (request, done) => {
    waiting.push({ request, done });
    if (!scheduled) setImmediate(sendNext);
    scheduled = true;
  };
}

/** How many requests at the front can be merged into one. */
function neighbours(/** @type {{ request: Forwarded }[]} */ waiting) {
  const { path, type, encoding } = waiting[0].request;
  if (type !== "application/x-protobuf" || encoding !== undefined) return 1;
  let bytes = 0;
  let count = 0;
  for (const { request } of waiting) {
    bytes += request.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    if (count > 0 && bytes > MAX_MERGED_BYTES) break;
    if (request.path !== path || request.type !== type || request.encoding !== undefined) break;
    count++;
  }
  return count;
}

import http from "node:http";
import http2 from "node:http2";
import { gunzipSync } from "node:zlib";
import { serve } from "../lib/processes/role.js";

/**
 * The targets of a soak, in their own process: two OTLP/HTTP servers and one gRPC server that accept everything and
 * keep nothing. One HTTP server never fails; the others have moods. On request, all of them permanently refuse data
 * that contains `BAD_RECORD`, to cause dead letters.
 *
 * @typedef {"ok" | "down" | "unavailable" | "slow" | "broken"} Mood down: the port is closed; unavailable: 503;
 *   broken: 500 for one request in three
 */
const SLOW_MS = 300;
const BAD_RECORD = Buffer.from("record that nobody wants");

/** @type {Mood} */
let mood = "ok";
let refusesBadRecords = false;
const counts = { requests: 0, refused: 0 };

/** @typedef {{ status: number, delayMs: number }} Reply an HTTP status */

/** Decides how a request is answered. @param {boolean} hasMoods @param {() => Buffer} body @returns {Reply} */
function replyTo(hasMoods, body) {
  counts.requests++;
  const now = hasMoods ? mood : "ok";
  const isBad = refusesBadRecords && body().includes(BAD_RECORD);
  const status = isBad ? 400 : now === "unavailable" ? 503 : now === "broken" && counts.requests % 3 === 0 ? 500 : 200;
  if (status !== 200) counts.refused++;
  return { status, delayMs: now === "slow" ? SLOW_MS : 0 };
}

function httpBackend(/** @type {boolean} */ hasMoods) {
  const server = http.createServer((request, response) => {
    collect(request, (body) => {
      const isPacked = request.headers["content-encoding"] === "gzip";
      const { status, delayMs } = replyTo(hasMoods, () => (isPacked ? unpack(body) : body));
      const answer = () => response.writeHead(status, { "content-type": "application/x-protobuf" }).end();
      delayMs > 0 ? setTimeout(answer, delayMs) : answer();
    });
  });
  server.keepAliveTimeout = 0;
  return restartable(server);
}

/** OK, INVALID_ARGUMENT, INTERNAL, UNAVAILABLE. @type {Record<number, number>} */
const GRPC_STATUS = { 200: 0, 400: 3, 500: 13, 503: 14 };

function grpcBackend() {
  const server = http2.createServer();
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    collect(stream, (body) => {
      const { status, delayMs } = replyTo(true, () => (body[0] === 1 ? unpack(body.subarray(5)) : body));
      setTimeout(() => {
        if (stream.destroyed) return;
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": GRPC_STATUS[status] }));
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
        stream.end(Buffer.alloc(5));
      }, delayMs);
    });
  });
  return restartable(server);
}

function collect(/** @type {import("node:stream").Readable} */ stream, /** @type {(body: Buffer) => void} */ done) {
  /** @type {Buffer[]} */
  const chunks = [];
  stream.on("data", (chunk) => chunks.push(chunk));
  stream.on("error", () => {});
  stream.on("end", () => done(Buffer.concat(chunks)));
}

/** Empty when the client disconnected before the body was complete. @param {Buffer} body */
function unpack(body) {
  try {
    return gunzipSync(body);
  } catch {
    return Buffer.alloc(0);
  }
}

/** A server that can go away with all its connections, and come back on its port. */
function restartable(/** @type {import("node:net").Server} */ server) {
  /** @type {Set<import("node:net").Socket>} */
  const sockets = new Set();
  server.on("connection", (socket) => {
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
  });
  let port = 0;
  const listen = () =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        port = /** @type {import("node:net").AddressInfo} */ (server.address()).port;
        resolve(port);
      });
    });
  const leave = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { listen, leave, isListening: () => server.listening };
}

const steady = httpBackend(false);
const failing = httpBackend(true);
const grpc = grpcBackend();

serve({
  listen: async ({ refuseBadRecords }) => {
    refusesBadRecords = refuseBadRecords;
    return { steady: await steady.listen(), failing: await failing.listen(), grpcBackend: await grpc.listen() };
  },
  mood: async (/** @type {Mood} */ next) => {
    mood = next;
    for (const backend of [failing, grpc]) {
      if (next === "down" && backend.isListening()) backend.leave();
      else if (next !== "down" && !backend.isListening()) await backend.listen();
    }
  },
  counts: () => counts,
});

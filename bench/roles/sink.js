import http from "node:http";
import { gunzipSync } from "node:zlib";
import { DeliveredRecords } from "../lib/delivered-records.js";
import { eachToken } from "../lib/load/token.js";
import { serve } from "../lib/processes/role.js";

/**
 * The target: an OTLP/HTTP server that records which records arrived, and answers 200.
 *
 * Throttled to `rate` records per second it answers late: each request is answered when its records have had their
 * turn. In the mood `down` it breaks connections, in `unavailable` it answers 503; in neither does it keep anything.
 *
 * @typedef {"ok" | "down" | "unavailable"} Mood
 */
const BUCKET_MS = 100;
let arrived = new DeliveredRecords(0, 1);
let requests = 0;
let rate = 0;
let turn = 0;
/** @type {Mood} */
let mood = "ok";
/** When the current mood began, and when the first request was accepted in it. */
let since = { mood: 0, first: /** @type {number | undefined} */ (undefined) };
let began = performance.now();
/** Requests, including refused ones, and kept records, in every tenth of a second of the run. */
/** @type {{ requests: number[], records: number[] }} */
let timeline = { requests: [], records: [] };

const server = http.createServer((request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("error", () => {});
  request.on("end", () => {
    count("requests", 1);
    if (mood === "down") return request.socket.destroy();
    if (mood === "unavailable") return response.writeHead(503, { "content-length": 0 }).end();
    const records = take(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), request.headers);
    const wait = rate > 0 ? delayOf(records) : 0;
    const json = request.headers["content-type"]?.startsWith("application/json");
    if (wait > 0) setTimeout(answer, wait, response, json);
    else answer(response, json);
  });
});
server.keepAliveTimeout = 0;
server.requestTimeout = 0;

function take(/** @type {Buffer} */ body, /** @type {http.IncomingHttpHeaders} */ headers) {
  requests++;
  const before = arrived.delivered;
  eachToken(headers["content-encoding"] === "gzip" ? gunzipSync(body) : body, arrived.note);
  since.first ??= performance.now();
  count("records", arrived.delivered - before);
  return arrived.delivered - before;
}

function count(/** @type {"requests" | "records"} */ what, /** @type {number} */ much) {
  const bucket = Math.floor((performance.now() - began) / BUCKET_MS);
  timeline[what][bucket] = (timeline[what][bucket] ?? 0) + much;
}

function delayOf(/** @type {number} */ records) {
  const now = performance.now();
  turn = Math.max(now, turn) + (records / rate) * 1000;
  return turn - now;
}

function answer(/** @type {http.ServerResponse} */ response, /** @type {boolean | undefined} */ json) {
  if (json) response.writeHead(200, { "content-type": "application/json", "content-length": 2 }).end("{}");
  else response.writeHead(200, { "content-type": "application/x-protobuf", "content-length": 0 }).end();
}

serve({
  listen: (port) =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => resolve(/** @type {any} */ (server.address()).port));
    }),
  begin: ({ run, perRequest, rate: limit = 0 }) => {
    arrived = new DeliveredRecords(run, perRequest);
    requests = 0;
    rate = limit;
    turn = 0;
    began = performance.now();
    timeline = { requests: [], records: [] };
  },
  mood: (/** @type {Mood} */ next) => {
    mood = next;
    since = { mood: performance.now(), first: undefined };
    return since.mood - began;
  },
  progress: () => ({ delivered: arrived.delivered, requests }),
  /** Milliseconds from the change of mood to the first accepted request, and the run in tenths of a second. */
  history: () => ({
    firstMs: since.first === undefined ? null : since.first - since.mood,
    bucketMs: BUCKET_MS,
    requests: Array.from(timeline.requests, (n) => n ?? 0),
    records: Array.from(timeline.records, (n) => n ?? 0),
  }),
  compare: (acknowledged) => ({ ...arrived.compare(acknowledged), requests }),
});

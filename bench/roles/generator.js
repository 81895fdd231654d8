import { GrpcConnection } from "../lib/load/grpc-connection.js";
import { HttpConnection } from "../lib/load/http-connection.js";
import { supplies } from "../lib/load/supply.js";
import { serve } from "../lib/processes/role.js";
import { Tally } from "../lib/tally.js";

/**
 * The clients. `prepare` encodes the requests and connects; `run` sends for a while, waits for the last response, and
 * returns the tally. Closed loop: every connection sends its next request when the previous one was answered. Open
 * loop, with a `rate` in requests per second: requests are sent when they are due, if a connection is free.
 *
 * @typedef {{ port: number, concurrency: number, rate?: number, pieceBytes?: number } & import("../lib/load/supply.js").Load} Plan
 * @typedef {{ connection: HttpConnection | GrpcConnection, next: import("../lib/load/supply.js").Supply,
 *   number: number, sentAt: number }} Client
 */
const PATIENCE_MS = 30_000;
const RECONNECT_MS = 20;
const TICK_MS = 5;

/** @type {Plan} */
let plan;
/** @type {Client[]} */
let clients = [];
/** @type {Client[]} */
let idle = [];
let tally = new Tally();
let sending = false;
let underway = 0;
let remaining = Number.POSITIVE_INFINITY;
let allAnswered = () => {};

/** @param {Plan} wanted */
async function prepare(wanted) {
  plan = wanted;
  const supplyFor = supplies(plan);
  tally = new Tally();
  clients = Array.from({ length: plan.concurrency }, () => makeClient(supplyFor()));
  await Promise.all(clients.map((client) => client.connection.open()));
}

/** @param {import("../lib/load/supply.js").Supply} next @returns {Client} */
function makeClient(next) {
  const answered = (/** @type {import("../lib/load/http-connection.js").Answer} */ answer) => settle(client, answer);
  const connection =
    plan.encoding === "grpc"
      ? new GrpcConnection(plan.port, answered, plan.signal)
      : new HttpConnection(plan.port, answered, { pieceBytes: plan.pieceBytes });
  /** @type {Client} */
  const client = { connection, next, number: -1, sentAt: 0 };
  return client;
}

/**
 * Sends for this long, or until this many requests are sent. With `keepOpen` the connections stay for another run,
 * whose tally includes this one.
 * @param {{ seconds: number, requests?: number, keepOpen?: boolean }} options
 */
async function run({ seconds, requests = Number.POSITIVE_INFINITY, keepOpen = false }) {
  const start = performance.now();
  tally.startedAt = start;
  sending = true;
  remaining = requests;
  idle = [...clients];
  const done = new Promise((resolve) => (allAnswered = () => resolve(undefined)));
  const ticker = plan.rate === undefined ? sendAll() : sendAtRate(plan.rate, start);
  const end = setTimeout(stopSending, seconds * 1000, ticker);
  const patience = setTimeout(allAnswered, seconds * 1000 + PATIENCE_MS);
  await done;
  clearTimeout(patience);
  clearTimeout(end);
  if (!keepOpen) for (const client of clients) client.connection.close();
  const elapsedMs = performance.now() - start;
  tally.failed += underway;
  underway = 0;
  const { acknowledgements, timeline } = tally;
  return { ...tally.summary(plan.records), elapsedMs, acknowledgements, timeline };
}

function sendAll() {
  for (const client of idle.splice(0)) send(client);
}

function sendAtRate(/** @type {number} */ rate, /** @type {number} */ start) {
  let due = 0;
  return setInterval(() => {
    const target = ((performance.now() - start) / 1000) * rate;
    for (; due < target; due++) {
      const client = idle.pop();
      if (client === undefined) tally.withheld++;
      else send(client);
    }
  }, TICK_MS);
}

function stopSending(/** @type {NodeJS.Timeout | void} */ ticker) {
  sending = false;
  if (ticker) clearInterval(ticker);
  if (underway === 0) allAnswered();
}

function send(/** @type {Client} */ client) {
  const { number, bytes } = client.next();
  client.number = number;
  client.sentAt = performance.now();
  tally.requests++;
  underway++;
  client.connection.send(bytes);
  if (--remaining <= 0) sending = false;
}

function settle(/** @type {Client} */ client, /** @type {import("../lib/load/http-connection.js").Answer} */ answer) {
  tally.answered(client.number, answer, performance.now() - client.sentAt);
  underway--;
  if (!sending) {
    if (underway === 0) allAnswered();
  } else if (plan.rate !== undefined) idle.push(client);
  else if (answer.status === 0) setTimeout(() => sending && send(client), RECONNECT_MS);
  else send(client);
}

serve({ prepare, run, progress: () => ({ acknowledged: tally.acknowledged * plan.records }) });

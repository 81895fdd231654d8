import { createSocket } from "node:dgram";
import { EventEmitter, once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { Subject } from "rxjs";
import { findBuiltin } from "../../dist/agent/builtins/builtins.js";
import { Batch } from "../../dist/plugin.js";
import { systemClock } from "../../dist/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../dist/runtime/contract/observability.js";
import { Debt, Delivery } from "../../dist/testing.js";

/**
 * Building blocks of cells: built-in components, their surroundings, and the bare counterparts that they are compared
 * with.
 *
 * @typedef {import("./cells.js").Running} Running
 * @typedef {import("./cells.js").Side} Side
 */

const services = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random };
const PIPELINES = ["logs/a", "logs/b", "traces/a", "traces/b"];
const connecting = { targets: PIPELINES, isAvailable: () => true };

/**
 * Creates a built-in component, such as "receiver/zipkin", from a config as written in a file.
 * @returns {Promise<any>}
 */
export async function component(/** @type {string} */ of, /** @type {object} */ keys, /** @type {object} */ more = {}) {
  const factory = await factoryOf(of);
  return factory.create(factory.schema.parse(keys), contextOf(factory.kind, more));
}

/** The context of a component. */
export function contextOf(/** @type {string} */ kind, /** @type {object} */ more = {}) {
  return { id: "bench", kind, ...services, ...connecting, ...more };
}

/** @returns {Promise<any>} */
export async function factoryOf(/** @type {string} */ of) {
  const [kind, type] = of.split("/");
  const builtin = findBuiltin(/** @type {any} */ (kind), type);
  if (builtin === undefined) throw new Error(`there is no ${of}`);
  return builtin.load();
}

/** Counts arrivals, and resolves when a wanted number is reached. */
class Tally {
  count = 0;
  /** @type {{ count: number, resolve: (value?: unknown) => void } | undefined} */
  #awaited;

  add(/** @type {number} */ records) {
    this.count += records;
    if (this.#awaited !== undefined && this.count >= this.#awaited.count) this.#awaited.resolve();
  }

  async until(/** @type {number} */ count) {
    if (this.count >= count) return;
    await new Promise((resolve) => {
      this.#awaited = { count, resolve };
    });
    this.#awaited = undefined;
  }

  /** This tally as a side of a cell. */
  get side() {
    return { count: () => this.count, until: (/** @type {number} */ count) => this.until(count) };
  }
}

/** A listening receiver: everything that it hands in is accepted at once, and counted. @returns {Promise<Running>} */
export async function listening(
  /** @type {{ of: string, keys: object, signal: string, bare: Side & { port: number, stop(): void }, portOf?: (receiver: any) => number }} */ {
    of,
    keys,
    signal,
    bare,
    portOf = (receiver) => receiver.port,
  },
) {
  const tally = new Tally();
  const intake = openIntake((batch) => tally.add(batch.count));
  const receiver = await component(of, keys, { intakes: { [signal]: intake } });
  await receiver.start();
  const stop = async () => {
    await receiver.stop();
    bare.stop();
  };
  return { port: portOf(receiver), ...tally.side, bare, stop };
}

/** An intake that accepts at once, and passes each batch to `told`. */
export function openIntake(/** @type {(batch: Batch) => void} */ told) {
  const accept = async (/** @type {Batch} */ batch) => {
    told(batch);
    return /** @type {const} */ ({ ok: true, rejected: 0, message: "" });
  };
  return { accept, reserve: () => true, release() {} };
}

/** A machine that does not finish a collection in this time is too busy to measure anything. */
const MAX_COLLECTION_MS = 60_000;

/**
 * A receiver that measures at intervals; a turn is its next collection, and `records` counts the records of one. It
 * collects only during turns: its data is accepted when the next turn begins. `often` has the keys that make it collect
 * without a pause.
 *
 * @returns {Promise<Running & { turn(): Promise<number> }>}
 */
export async function collecting(
  /** @type {string} */ of,
  /** @type {object} */ keys,
  /** @type {() => Promise<number>} */ bareTurn,
  records = (/** @type {Batch} */ batch) => batch.count,
  often = /** @type {object} */ ({ collection_interval: "1ms", initial_delay: "0s" }),
) {
  const moments = new EventEmitter();
  let count = 0;
  const accept = async (/** @type {Batch} */ batch) => {
    moments.emit("batch", records(batch));
    await once(moments, "next");
    return /** @type {const} */ ({ ok: true, rejected: 0, message: "" });
  };
  const intake = { accept, reserve: () => true, release() {} };
  const receiver = await component(of, { ...often, ...keys }, { intakes: { metrics: intake, logs: intake } });
  await receiver.start();
  const turn = async () => {
    moments.emit("next");
    const [got] = await once(moments, "batch", { signal: AbortSignal.timeout(MAX_COLLECTION_MS) });
    count += got;
    return got;
  };
  const stop = async () => {
    const stopped = receiver.stop();
    moments.emit("next");
    await stopped;
  };
  return { turn, count: () => count, bare: { turn: bareTurn }, stop };
}

/**
 * A processor or connector that gets one delivery after another; its output is accepted at once. With `isPassing` a
 * turn ends when all records have come out. It is compared with the check of all fields that an incoming batch gets.
 *
 * @returns {Running}
 */
export function passing(
  /** @type {any} */ processor,
  /** @type {(Batch | (() => Batch))[]} */ batches,
  /** @type {boolean} */ isPassing = true,
) {
  const source = new Subject();
  let count = 0;
  let given = 0;
  let isComplete = false;
  processor(source).subscribe({
    next: (/** @type {Delivery} */ delivery) => {
      count += delivery.batch.count;
      delivery.accept();
    },
    complete: () => {
      isComplete = true;
    },
  });
  const turn = async () => {
    const next = batchOf(batches);
    given += next.count;
    source.next(new Delivery(next, { receiver: "bench", transport: "" }, new Debt(undefined)));
    do await turnOfLoop();
    while (isPassing && count < given);
    return next.count;
  };
  const bareTurn = async () => {
    const { signal, bytes } = batchOf(batches);
    const { count } = Batch.admit(/** @type {any} */ (signal), bytes);
    await turnOfLoop();
    return count;
  };
  const stop = async () => {
    source.complete();
    const end = performance.now() + MAX_DRAIN_MS;
    while (!isComplete && performance.now() < end) await turnOfLoop();
  };
  return { turn, count: () => count, bare: { turn: bareTurn }, stop };
}

const MAX_DRAIN_MS = 5000;
let turns = 0;

function batchOf(/** @type {(Batch | (() => Batch))[]} */ batches) {
  const batch = batches[turns++ % batches.length];
  return typeof batch === "function" ? batch() : batch;
}

/**
 * An exporter that gets one batch after another. It is compared with otlp_http, which sends the same batches to the
 * same server.
 * @returns {Promise<Running>}
 */
export async function sending(
  /** @type {string} */ of,
  /** @type {object} */ keys,
  /** @type {Batch[]} */ batches,
  /** @type {{ target: number }} */ { target },
) {
  const beside = await component("exporter/otlp_http", { endpoint: `http://127.0.0.1:${target}`, compression: "none" });
  const exporter = await component(of, keys);
  await beside.start?.();
  await exporter.start?.();
  let count = 0;
  const sendBy = async (/** @type {any} */ one) => {
    const batch = batchOf(batches);
    const rejection = await one.send(batch, new AbortController().signal);
    if (rejection !== undefined) throw new Error(`${of}: ${rejection.message}`);
    return batch.count;
  };
  const turn = async () => {
    const sent = await sendBy(exporter);
    count += sent;
    return sent;
  };
  const stop = async () => {
    await exporter.stop?.();
    await beside.stop?.();
  };
  return { turn, count: () => count, bare: { turn: () => sendBy(beside) }, stop };
}

/** A server that reads requests and gives empty responses. */
export async function bareHttp() {
  const server = http.createServer((request, response) => {
    request.on("data", () => {});
    request.on("end", () => response.writeHead(200, { "content-length": 0 }).end());
  });
  return { port: await portOf(server), stop: () => server.closeAllConnections() };
}

/** The same for gRPC: every call gets an empty message. */
export async function bareGrpc() {
  const server = http2.createServer();
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.on("data", () => {});
    stream.on("end", () => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5));
    });
  });
  return { port: await portOf(server), stop: () => void server.close() };
}

/** A TCP server that counts lines. */
export async function bareLines() {
  const tally = new Tally();
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      let lines = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
      tally.add(lines);
    });
  });
  return { port: await portOf(server), ...tally.side, stop: () => void server.close() };
}

/** A TCP server that counts bytes and responds after every `size` bytes. */
export async function bareBytes(/** @type {number} */ size, /** @type {Buffer} */ answer) {
  const server = net.createServer((socket) => {
    let length = 0;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      length += chunk.length;
      for (; length >= size; length -= size) socket.write(answer);
    });
  });
  return { port: await portOf(server), stop: () => void server.close() };
}

/** A socket that counts packets. */
export async function barePackets() {
  const tally = new Tally();
  const socket = createSocket("udp4", () => tally.add(1));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { port: socket.address().port, ...tally.side, stop: () => void socket.close() };
}

/** @returns {Promise<number>} */
export async function portOf(/** @type {net.Server} */ server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return /** @type {net.AddressInfo} */ (server.address()).port;
}

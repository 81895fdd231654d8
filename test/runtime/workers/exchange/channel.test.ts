import { once } from "node:events";
import { chmodSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { ACCEPTED, Debt, type Outcome } from "../../../../src/runtime/contract/debt.js";
import { Delivery } from "../../../../src/runtime/contract/delivery.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import {
  FRAMES,
  helloFrame,
  leavingFrame,
  outcomeFrame,
  placeFrame,
  WorkerFrameReader,
} from "../../../../src/runtime/workers/exchange/frames.js";
import {
  SocketExchange,
  type SocketExchangeSettings,
} from "../../../../src/runtime/workers/exchange/socket-exchange.js";
import { logs } from "../../../support/telemetry/batches.js";
import { until } from "../../../support/until.js";
import { KEY, removeSocketDirectories, socketDirectory } from "./start-workers.js";

const running: SocketExchange[] = [];

afterEach(async () => {
  for (const exchange of running.splice(0)) await exchange.stop();
  removeSocketDirectories();
});

function exchangeOf(
  number: number,
  socketDirectory: string,
  settings: Partial<SocketExchangeSettings> = {},
): SocketExchange {
  const worker = { number, count: 2, socketDirectory, key: KEY };
  const exchange = new SocketExchange({ worker, logger: silentLogger, metrics: noMetrics, ...settings });
  running.push(exchange);
  return exchange;
}

/** Places of both workers, from the second to the first, and what has arrived at the first. */
async function twoPlaces(limit: number, secondPlace = "place") {
  const sockets = socketDirectory();
  const arrived: Delivery[] = [];
  const [one, two] = [exchangeOf(1, sockets), exchangeOf(2, sockets)];
  const settings = { mode: "one", limit: () => limit } as const;
  const first = one.open("place", { ...settings, onArrival: (delivery) => void arrived.push(delivery) });
  const second = two.open(secondPlace, { ...settings, onArrival: (delivery) => delivery.accept() });
  await Promise.all([one.start(), two.start()]);
  const outcomes: Outcome[] = [];
  const send = (body: string) => {
    const debt = new Debt((outcome) => void outcomes.push(outcome));
    second.handOver(new Delivery(logs(body), { receiver: "test", transport: "test" }, debt));
  };
  return { sockets, arrived, first, second, outcomes, send };
}

it("puts frames together, however the stream is cut", () => {
  const frames = [placeFrame(1, "a"), outcomeFrame(7, ACCEPTED), placeFrame(2, "b".repeat(300))];
  const stream = Buffer.concat(frames);
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length), { maxLength: 8 }), (cuts) => {
      const seen: string[] = [];
      const reader = new WorkerFrameReader((frame) => void seen.push(frame.toString("hex")));
      reader.acceptAnyLength();
      const ends = [...cuts.sort((a, b) => a - b), stream.length];
      for (const [i, end] of ends.entries()) reader.push(stream.subarray(i === 0 ? 0 : ends[i - 1], end));
      expect(seen).toEqual(frames.map((frame) => frame.subarray(4).toString("hex")));
    }),
  );
});

it("warns of a worker that is gone, unless that has said that it ends", async () => {
  const sockets = socketDirectory();
  const warnings: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
  // Long timers never fire, so that no worker gives up on the other, however slow this machine is.
  const after = (ms: number, run: () => void) => (ms < 5000 ? systemClock.after(ms, run) : () => {});
  const one = exchangeOf(1, sockets, { logger, clock: { ...systemClock, after } });
  await one.start();
  const meet = async (farewell: Buffer) => {
    const socket = await new Promise<Socket>((resolve) => {
      const server = createServer((connection) => {
        server.close();
        resolve(connection);
      }).listen(join(sockets, "2.sock"));
    });
    await once(socket, "data"); // its hello
    socket.end(farewell);
    await once(socket, "close");
  };
  await meet(leavingFrame());
  await meet(Buffer.of());
  await expect.poll(() => warnings).toEqual([{ otherWorker: 2, reason: "the connection ended", suppressed: 0 }]);
});

it("says that it ends when it is stopped", async () => {
  const sockets = socketDirectory();
  const one = exchangeOf(1, sockets);
  await one.start();
  const frames: number[] = [];
  const reader = new WorkerFrameReader((frame) => void frames.push(frame[0]!));
  const socket = connect(join(sockets, "1.sock"), () => socket.write(helloFrame(KEY, 2)));
  socket.on("data", (chunk) => reader.push(chunk));
  await once(socket, "connect");
  const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve)); // it may not have read the hello
  await one.stop();
  await closed;
  expect(frames).toEqual([FRAMES.leaving]);
});

it.each([
  ["another key", helloFrame(Buffer.alloc(32), 2)],
  ["no hello", placeFrame(0, "place")],
  ["a length that nobody would send", Buffer.from([0xff, 0xff, 0xff, 0x7f, 1])],
])("closes a connection with %s", async (_what, frame) => {
  const { sockets, arrived } = await twoPlaces(1000);
  const socket = connect(join(sockets, "1.sock"));
  await new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
    socket.write(frame);
  });
  expect(arrived).toEqual([]);
});

it("does not start in a directory that others can read", async () => {
  const sockets = socketDirectory();
  chmodSync(sockets, 0o755);
  await expect(exchangeOf(1, sockets).start()).rejects.toThrow("0700");
});

it("refuses data for a place that the other worker does not have, so that clients try again", async () => {
  const { send, outcomes } = await twoPlaces(1000, "a place of a newer config");
  send("x");
  await until(() => expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]));
});

it("holds back what is over the limit, and refuses what is twice over it", async () => {
  const size = logs("x").byteLength;
  const { send, arrived, outcomes } = await twoPlaces(2 * size);
  for (let i = 0; i < 2; i++) send("x");
  await until(() => expect(arrived.length).toBe(2));
  for (let i = 0; i < 3; i++) send("x");
  expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "throttled", code: "SLUICE_OVERLOADED" } }]);
  for (const delivery of arrived.splice(0)) delivery.accept();
  await until(() => expect(arrived.length).toBe(2));
  for (const delivery of arrived.splice(0)) delivery.accept();
  await until(() => expect(outcomes.filter(({ ok }) => ok).length).toBe(4));
});

it("refuses what is under way when its place closes", async () => {
  const { send, arrived, second, outcomes } = await twoPlaces(1000);
  send("x");
  await until(() => expect(arrived.length).toBe(1));
  second.close();
  expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_WORKER_GONE" } }]);
});

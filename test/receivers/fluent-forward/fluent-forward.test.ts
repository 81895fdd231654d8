import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { SAMPLE_ID, sampleIds } from "../../../src/agent/testing/samples.js";
import { type Batch, batchToJson, type ReceiverContext, Refusal } from "../../../src/plugin.js";
import { fluentForwardReceiver } from "../../../src/receivers/fluent-forward/component.js";
import { ForwardConnection } from "../../../src/receivers/fluent-forward/forward-connection.js";
import {
  MessagePackError,
  MessagePackReader,
  ValueScanner,
} from "../../../src/receivers/fluent-forward/message-pack.js";
import { WaitingRoom } from "../../../src/receivers/fluent-forward/waiting-room.js";
import { type Clock, systemClock } from "../../../src/runtime/contract/clock.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { BatchIntake } from "../../../src/runtime/receiving/batch-intake.js";
import { type ClientAnswer, receiverConformance, TestIntake } from "../../../src/testing.js";
import { FakeClock } from "../../support/fake-clock.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { liveHeap } from "../../support/live-heap.js";
import { runs } from "../../support/runs.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { EventTime, type Packable, pack } from "./pack.js";

async function start(config: object = {}, clock: Clock = systemClock) {
  const intake = new TestIntake();
  const warnings: string[] = [];
  const errors: object[] = [];
  const logger = {
    ...silentLogger,
    warn: (fields: object) => void warnings.push(JSON.stringify(fields)),
    error: (fields: object) => void errors.push(fields),
  };
  let refused = 0;
  const counter = (name: string) => ({
    add: (n: number) => {
      if (name === "otelcol_receiver_refused_log_records") refused += n;
    },
  });
  const metrics = { ...noMetrics, counter };
  const context = { id: "fluent_forward", kind: "receiver", logger, metrics, clock } as const;
  const parsed = fluentForwardReceiver.schema.parse({ endpoint: "127.0.0.1:0", ...config });
  const receiver = fluentForwardReceiver.create(parsed, { ...context, random: () => 0.5, intakes: { logs: intake } });
  await receiver.start();
  onTestFinished(() => receiver.stop());
  const { port } = receiver as unknown as { port: number };
  return { receiver, intake, warnings, errors, refused: () => refused, port };
}

async function client(target: { port: number } | { path: string }): Promise<Socket> {
  const socket = "port" in target ? connect(target.port, "127.0.0.1") : connect(target.path);
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Whether it is closed or reset. */
const closeOf = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

const recordsOf = (batches: readonly Batch[]) =>
  batches.flatMap((batch) =>
    JSON.parse(batchToJson(batch)).resourceLogs.flatMap(
      (resource: { scopeLogs: { logRecords: Record<string, unknown>[] }[] }) =>
        resource.scopeLogs.flatMap(({ logRecords }) => logRecords),
    ),
  );
const bodiesOf = (batches: readonly Batch[]) =>
  recordsOf(batches).map(({ body }) => (body as { stringValue?: string } | undefined)?.stringValue);
const acknowledgement = (chunk: string) => pack({ ack: chunk });
const entries = (...bodies: string[]) => bodies.map((log): Packable => [1_700_000_000, { log }]);

describe("the fluent_forward receiver", () => {
  it("makes records of all modes, with tag, time, body and attributes", async () => {
    const { port, intake } = await start();
    const socket = await client({ port });
    const packed = Buffer.concat(entries("e", "f").map(pack));
    socket.write(
      Buffer.concat([
        pack([
          "app.one",
          new EventTime(1_700_000_000, 5),
          { message: "a", level: "warn", code: 7, nested: { x: [1.5, null] } },
        ]),
        pack(["t", 1_700_000_001, { log: Buffer.from("b") }, { size: 1 }]),
        pack(["t", entries("c", "d")]),
        pack(["t", packed]),
        pack(["t", gzipSync(packed), { compressed: "gzip", size: 2 }]),
        pack([
          "t",
          [[[new EventTime(1, 2), { source: "tail" }], { log: "g", bytes: Buffer.of(0xff), big: 2n ** 64n - 1n }]],
        ]),
      ]),
    );
    await until(() => expect(bodiesOf(intake.batches)).toEqual(["a", "b", "c", "d", "e", "f", "e", "f", "g"]));
    const records = recordsOf(intake.batches);
    expect(records[0]).toMatchObject({
      timeUnixNano: "1700000000000000005",
      attributes: [
        { key: "level", value: { stringValue: "warn" } },
        { key: "code", value: { intValue: "7" } },
        { key: "nested" },
        { key: "fluent.tag", value: { stringValue: "app.one" } },
      ],
    });
    expect(records[1]).toMatchObject({ timeUnixNano: "1700000001000000000" });
    expect(records.at(-1)).toMatchObject({
      timeUnixNano: "1000000002",
      attributes: [
        { key: "fluent.metadata" },
        { key: "bytes", value: { bytesValue: "/w==" } },
        { key: "big", value: { stringValue: "18446744073709551615" } },
        { key: "fluent.tag" },
      ],
    });
  });

  it("keeps what is in log and in message, where a record has both", async () => {
    const { port, intake } = await start();
    (await client({ port })).write(pack(["t", 1, { log: "raw", message: "parsed" }]));
    await until(() => expect(bodiesOf(intake.batches)).toEqual(["parsed"]));
    expect(recordsOf(intake.batches)[0]).toMatchObject({
      attributes: [{ key: "log", value: { stringValue: "raw" } }, { key: "fluent.tag" }],
    });
  });

  it("keeps keys and texts unchanged", async () => {
    const { port, intake } = await start();
    const fields = JSON.parse('{"log": "a \\uFFFD", "__proto__": "p", "toString": "t", "": "e"}') as Packable;
    (await client({ port })).write(pack(["t", 1, fields]));
    await until(() => expect(bodiesOf(intake.batches)).toEqual(["a \uFFFD"]));
    expect(recordsOf(intake.batches)[0]).toMatchObject({
      attributes: [
        { key: "__proto__", value: { stringValue: "p" } },
        { key: "toString", value: { stringValue: "t" } },
        { key: "", value: { stringValue: "e" } },
        { key: "fluent.tag" },
      ],
    });
  });

  it("acknowledges a chunk only when it is safe, and never a refused one", async () => {
    const { port, intake, receiver } = await start();
    let settle = (_: typeof ACCEPTED) => {};
    intake.answer = () => new Promise((resolve) => void (settle = resolve as typeof settle));
    const socket = await client({ port });
    const heard: Buffer[] = [];
    socket.on("data", (bytes) => void heard.push(bytes));
    socket.write(pack(["t", entries("a"), { chunk: "one" }]));
    await until(() => expect(intake.batches).toHaveLength(1));
    expect(heard).toEqual([]);
    settle(ACCEPTED);
    await until(() => expect(Buffer.concat(heard)).toEqual(acknowledgement("one")));
    const refused = { ok: false, refusal: new Refusal("transient", "not now") } as const;
    intake.answer = () => refused;
    socket.write(pack(["t", entries("b"), { chunk: "x".repeat(40) }]));
    await until(() => expect(intake.batches.length).toBeGreaterThan(2));
    const closed = closeOf(socket);
    await receiver.stop();
    await closed;
    expect(Buffer.concat(heard)).toEqual(acknowledgement("one"));
  });

  it("reads events in any pieces, and listens at a socket", async () => {
    const path = join(temporaryFolder(), "fluent.sock");
    const { intake } = await start({ endpoint: `unix://${path}` });
    const socket = await client({ path });
    const bytes = Buffer.concat([pack(["t", entries("a", "b")]), pack(["t", 1, { log: "c" }])]);
    for (const byte of bytes) {
      socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => expect(bodiesOf(intake.batches)).toEqual(["a", "b", "c"]));
  });

  const bomb = gzipSync(Buffer.alloc(80_000_000));
  const deep = Buffer.concat([pack("a"), ...Array.from({ length: 50 }, () => Buffer.of(0x81, 0xa1, 0x61)), pack(1)]);
  it.each<[string, Buffer]>([
    ["no MessagePack", Buffer.of(0xc1)],
    ["a text of HTTP", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["an event without records", pack(["t"])],
    ["a record that is no map", pack(["t", 1, "text"])],
    ["a packed event that ends in the middle", pack(["t", pack(entries("a")[0]!).subarray(0, 5)])],
    ["an id of a chunk that is none", pack(["t", entries("a"), { chunk: "x".repeat(5000) }])],
    ["a compression nobody knows", pack(["t", Buffer.of(1), { compressed: "pigeon" }])],
    ["what unpacks to more than it may", pack(["t", bomb, { compressed: "gzip" }])],
    ["values nested too deep", Buffer.concat([Buffer.of(0x93), pack("t"), pack(1), Buffer.of(0x81), deep])],
    [
      "more values than there may be",
      Buffer.concat([Buffer.of(0x92), pack("t"), pack(Buffer.alloc(1_200_000, Buffer.of(0x92, 0x00, 0x80)))]),
    ],
    [
      "an event larger than it may be",
      Buffer.concat([Buffer.of(0x92), pack("t"), pack(Buffer.alloc(33 * 1024 * 1024))]),
    ],
  ])("hangs up on %s, hands in what came before, and serves others", async (_, bytes) => {
    const { port, intake, warnings } = await start();
    const socket = await client({ port });
    const closed = closeOf(socket);
    socket.write(pack(["t", entries("before"), { chunk: "c" }]));
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first).toEqual(acknowledgement("c"));
    socket.write(bytes);
    await closed;
    await until(() => expect(warnings).toHaveLength(1));
    const other = await client({ port });
    other.write(pack(["t", entries("after")]));
    await until(() => expect(bodiesOf(intake.batches)).toEqual(["before", "after"]));
    expect(intake.reserved).toBe(0);
  });

  it("hangs up on who does not send the rest of an event, and not on who is silent between two", async () => {
    const clock = new FakeClock();
    const { port, intake, warnings } = await start({}, clock);
    const [silent, slow] = [await client({ port }), await client({ port })];
    const closed = closeOf(slow);
    silent.write(pack(["t", entries("a")]));
    slow.write(pack(["t", entries("b"), { chunk: "c" }]).subarray(0, 5));
    await until(() => expect([intake.batches.length, clock.pending]).toEqual([1, 1]));
    clock.advance(60_000);
    await closed;
    silent.write(pack(["t", entries("z")]));
    await until(() => expect(bodiesOf(intake.batches)).toEqual(["a", "z"]));
    expect(warnings).toEqual([expect.stringContaining("took too long")]);
    expect([clock.pending, intake.reserved]).toEqual([0, 0]);
  });

  /** Events that wait for room look for it at intervals. */
  const untilIn = (clock: FakeClock, check: () => void) =>
    until(() => {
      clock.advance(1000);
      check();
    });

  it("makes no more room than there is: who sends without end is held back, and hung up on", async () => {
    const clock = new FakeClock();
    const { port, intake, warnings } = await start({}, clock);
    intake.room = 1024 * 1024;
    const socket = await client({ port });
    let isClosed = false;
    void closeOf(socket).then(() => {
      isClosed = true;
    });
    socket.write(Buffer.concat([Buffer.of(0x92), pack("t"), pack(Buffer.alloc(2 * 1024 * 1024))]));
    await untilIn(clock, () => expect(isClosed).toBe(true));
    await until(() => expect(intake.reserved).toBe(0));
    expect(intake.batches).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching("there was no memory|took too long")]);
  });

  const large = (options: Packable): [string, number, Packable][] => [
    ["a large event", 2, ["t", [[1, { log: "x".repeat(2_000_000) }], ...entries("b")], options]],
    ["unpacked bytes", 1, ["t", gzipSync(pack([1, { log: "x".repeat(2_000_000) }])), { compressed: "gzip" }]],
    ["values", 1, ["t", pack([1, { log: Array.from({ length: 40_000 }, () => 1) }]), options]],
    ["one record", 1, ["t", 1, { log: Array.from({ length: 40_000 }, () => 1) }, options]],
  ];

  it.each(large({}))(
    "holds back who asks for no acknowledgement while there is no room for %s, and loses nothing",
    async (_, count, event) => {
      const clock = new FakeClock();
      const { port, intake, warnings, errors, refused } = await start({}, clock);
      intake.room = 1024 * 1024;
      const socket = await client({ port });
      socket.write(Buffer.concat([pack(["t", entries("before")]), pack(event), pack(["t", entries("after")])]));
      await until(() => expect(intake.batches).toHaveLength(1));
      await until(() => expect(clock.pending).toBeGreaterThan(0));
      for (let ms = 0; ms < 20_000; ms += 1000) {
        clock.advance(1000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(recordsOf(intake.batches)).toHaveLength(1);
      intake.room = 64 * 1024 * 1024;
      await untilIn(clock, () => expect(recordsOf(intake.batches)).toHaveLength(2 + count));
      expect(bodiesOf(intake.batches).at(-1)).toBe("after");
      await until(() => expect(intake.reserved).toBe(0));
      expect([warnings, errors, refused()]).toEqual([[], [], 0]);
    },
  );

  it.each(large({}).slice(1))(
    "tells how many records were lost when there is no room for %s for long",
    async (_, count, event) => {
      const clock = new FakeClock();
      const { port, intake, warnings, errors, refused } = await start({}, clock);
      intake.room = 1024 * 1024;
      const socket = await client({ port });
      socket.write(
        Buffer.concat([pack(event), pack(["t", entries("b", "c")]), pack(["t", entries("d"), { chunk: "c" }])]),
      );
      await untilIn(clock, () => expect(warnings).toEqual([expect.stringContaining("there was no memory")]));
      expect(errors).toEqual([{ records: count + 3 }]);
      expect(refused()).toBe(count + 3);
      await until(() => expect(intake.reserved).toBe(0));
      expect(intake.batches).toEqual([]);
    },
  );

  it("takes the number of compressed records from who packed them, if it is one", async () => {
    const clock = new FakeClock();
    const { port, intake, errors, refused } = await start({}, clock);
    intake.room = 1024 * 1024;
    const packed = gzipSync(pack([1, { log: "x".repeat(2_000_000) }]));
    for (const size of [7, -1, 2 ** 40, "many"])
      (await client({ port })).write(pack(["t", packed, { compressed: "gzip", size, chunk: "c" }]));
    await untilIn(clock, () => expect(refused()).toBe(7 + 1 + 1 + 1));
    expect(errors).toEqual([]); // their clients send them again
  });

  it("counts what is refused for now as lost when the agent stops, unless its client sends it again", async () => {
    const { port, intake, receiver, errors, refused } = await start();
    intake.answer = () => ({ ok: false, refusal: new Refusal("transient", "not now") });
    (await client({ port })).write(pack(["t", entries("a", "b")]));
    (await client({ port })).write(pack(["t", entries("d"), { chunk: "c" }]));
    await until(() => expect(new Set(bodiesOf(intake.batches))).toEqual(new Set(["a", "b", "d"])));
    await receiver.stop();
    expect(errors).toEqual([{ records: 2 }]);
    expect(refused()).toBe(2);
  });

  it("counts what waits for room as lost when the agent stops, and stops at once", async () => {
    const { port, intake, receiver, errors, refused } = await start();
    intake.room = 0;
    (await client({ port })).write(Buffer.concat([pack(["t", entries("a", "b")]), pack(["t", 1, { log: "c" }])]));
    (await client({ port })).write(pack(["t", entries("d"), { chunk: "c" }]));
    const waiting = () =>
      (receiver as unknown as { connections: Map<{ isWaiting: boolean }, unknown> }).connections.keys();
    await until(() => expect([...waiting()].map(({ isWaiting }) => isWaiting)).toEqual([true, true]));
    await receiver.stop();
    expect(errors).toEqual([{ records: 3 }]);
    expect(refused()).toBe(4);
  });

  it("holds nothing for a client that is silent", async () => {
    const { port, intake } = await start();
    (await client({ port })).write(pack(["t", entries("a")]));
    await until(() => expect(intake.batches).toHaveLength(1));
    const batch = new WeakRef(intake.batches.pop()!);
    await until(() => {
      liveHeap(); // collects garbage
      expect(batch.deref() === undefined).toBe(true);
    });
  });

  it.each([[{ endpoint: "nowhere" }], [{ endpoint: "unix://" }], [{ no_such_key: 1 }]])("refuses %o", (config) => {
    expect(fluentForwardReceiver.schema.safeParse(config).success).toBe(false);
  });

  /** An event with the records of a batch, and a wish to hear of it. */
  async function send(batch: Batch, port: number): Promise<ClientAnswer> {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    const records = sampleIds(batch).map((id): Packable => [1, { log: "x", [SAMPLE_ID]: id }]);
    socket.write(pack(["t", records, { chunk: "c" }]));
    return new Promise((resolve) => {
      socket.once("data", () => resolve("accepted"));
      socket.once("close", () => resolve("retry"));
    }).finally(() => socket.destroy()) as Promise<ClientAnswer>;
  }

  const skip = [
    // Events that are refused for now wait here, and the client waits. Others become dead letters, and the client is done.
    "tells each client what became of its records",
    "asks clients to try again while the intake has no room",
  ];
  const config = (port: number) => ({ endpoint: `127.0.0.1:${port}` });
  for (const { name, run } of receiverConformance(fluentForwardReceiver, { config, send, skip, patienceMs }))
    it(name, run);
});

describe("a client that does not read its acknowledgements", () => {
  /** A connection that loses everything that is written to it. */
  function deafClient() {
    const clock = new FakeClock();
    const room = new TestIntake();
    const closings: string[] = [];
    const context: ReceiverContext = {
      id: "fluent_forward",
      kind: "receiver",
      logger: silentLogger,
      metrics: noMetrics,
      clock,
      random: () => 0.5,
      intakes: { logs: room },
    };
    const socket = new Duplex({ highWaterMark: 1024, read() {}, write() {} });
    const deaf = Object.assign(socket, { destroySoon: () => void socket.end() }) as unknown as Socket;
    const intake = new BatchIntake({ signal: "logs", transport: "fluent_forward" }, context);
    const logClosed = ({ reason }: { reason: string }) => void closings.push(reason);
    const connection = new ForwardConnection(deaf, {
      intake,
      room,
      waitingRoom: new WaitingRoom(context),
      context,
      logClosed,
    });
    const send = () => socket.push(pack(["t", entries("a"), { chunk: "c".repeat(2000) }]));
    return { clock, room, closings, connection, socket, send };
  }

  it("is not read on, and hung up on in the end", async () => {
    const { clock, room, closings, socket, send } = deafClient();
    send();
    await until(() => expect(clock.pending).toBe(1));
    send();
    send();
    await new Promise((resolve) => setImmediate(resolve));
    expect(room.batches).toHaveLength(1);
    clock.advance(60_000);
    await until(() => expect(socket.closed).toBe(true));
    expect(closings).toEqual(["the client does not read its acknowledgements"]);
    expect([clock.pending, room.reserved, room.batches.length]).toEqual([0, 0, 1]);
  });

  it("does not hold up the end", async () => {
    const { clock, connection, socket, send } = deafClient();
    send();
    await until(() => expect(clock.pending).toBe(1));
    await connection.stopReading();
    await connection.finish();
    clock.advance(2000);
    await until(() => expect(socket.closed).toBe(true));
    expect(clock.pending).toBe(0);
  });
});

describe("what waits for room", () => {
  it("is limited in bytes, for all senders together", async () => {
    const context = { clock: new FakeClock(), random: () => 0.5 } as unknown as ReceiverContext;
    const room = new WaitingRoom(context);
    let isOver = false;
    const wait = () =>
      room.wait(
        20 * 1024 * 1024,
        room.limit(),
        () => false,
        () => isOver,
      );
    const first = wait();
    expect(await wait()).toBe(false);
    isOver = true;
    (context.clock as FakeClock).advance(1000);
    expect(await first).toBe(false);
  });
});

const packable = fc.letrec<{ value: Packable }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("value"), { maxLength: 20 }),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 20, noNullPrototype: true }),
  ),
})).value;

describe("MessagePack", () => {
  it("is read as it was written, and its end is found in any pieces", () =>
    fc.assert(
      fc.property(packable, fc.nat(), (value, cut) => {
        const bytes = pack(value);
        expect(JSON.stringify(new MessagePackReader(bytes).value(), plain)).toBe(JSON.stringify(value, plain));
        const scanner = new ValueScanner(0);
        for (let length = 0; length < bytes.length; length += 1 + (cut % 7))
          expect(scanner.end(bytes, length)).toBeUndefined();
        expect(scanner.end(bytes, bytes.length)).toBe(bytes.length);
      }),
      runs(60),
    ));

  it("is refused with its own error for all bytes", () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          new MessagePackReader(Buffer.from(bytes)).value();
        } catch (error) {
          expect(error).toBeInstanceOf(MessagePackError);
        }
      }),
      runs(200),
    ));
});

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

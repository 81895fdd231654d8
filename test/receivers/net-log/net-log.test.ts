import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Batch, batchToJson, type Outcome, type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { syslogReceiver, tcpLogReceiver, udpLogReceiver } from "../../../src/receivers/net-log/component.js";
import { TestIntake } from "../../../src/testing.js";
import { until } from "../../support/until.js";
import { startReceiver } from "../started-receiver.js";

interface ReadLog {
  readonly body?: { readonly stringValue?: string };
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
  readonly severityNumber?: number;
  readonly timeUnixNano?: string;
}

async function start(factory: ReceiverFactory, config: object, intake = new TestIntake()) {
  const receiver = await startReceiver(factory, config, intake);
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await receiver.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  const logs = () =>
    intake.batches.flatMap((batch) => {
      const { resourceLogs } = JSON.parse(batchToJson(batch)) as {
        resourceLogs: { scopeLogs: { logRecords: ReadLog[] }[] }[];
      };
      return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
    });
  const bodies = () => logs().map(({ body }) => body?.stringValue);
  return { port: (receiver as unknown as { port: number }).port, intake, stop, logs, bodies };
}

const attributesOf = ({ attributes = [] }: ReadLog) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

async function connection(port: number) {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

async function sendPacket(port: number, ...packets: string[]): Promise<void> {
  const socket = createSocket("udp4");
  for (const packet of packets) await new Promise((resolve) => socket.send(packet, port, "127.0.0.1", resolve));
  socket.close();
}

const LISTEN = { listen_address: "127.0.0.1:0" };

describe("the tcp_log receiver", () => {
  it("makes a record of each line, however it is split, and of the rest when a connection ends", async () => {
    const { port, bodies } = await start(tcpLogReceiver, { ...LISTEN, resource: { a: "b" } });
    const socket = await connection(port);
    socket.write("one\r\ntw");
    await until(() => expect(bodies()).toEqual(["one"]));
    socket.write("o\n\n  three ");
    socket.end();
    await until(() => expect(bodies()).toEqual(["one", "two", "three"]));
  });

  it("runs operators, adds who sent it, and cuts by a pattern", async () => {
    const config = {
      ...{ ...LISTEN, add_attributes: true, attributes: { fixed: "f", copied: "EXPR(body)" } },
      multiline: { line_start_pattern: "^\\{" },
      operators: [{ type: "json_parser" }],
    };
    const { port, logs } = await start(tcpLogReceiver, config);
    const socket = await connection(port);
    socket.end('{"a":\n"1"}\n{"a":"2"}');
    await until(() => expect(logs()).toHaveLength(2));
    expect(attributesOf(logs()[0]!)).toMatchObject({
      a: "1",
      fixed: "f",
      copied: '{"a":\n"1"}',
      "net.transport": "IP.TCP",
      "net.peer.ip": expect.stringContaining("127.0.0.1"),
      "net.host.port": String(port),
    });
  });

  it("cuts a line that is too long, and accepts invalid UTF-8", async () => {
    const { port, bodies } = await start(tcpLogReceiver, { ...LISTEN, max_log_size: "64KiB" });
    const socket = await connection(port);
    socket.write("x".repeat(100_000));
    socket.end(Buffer.from([10, 0xff, 0x61, 10]));
    await until(() => expect(bodies()).toHaveLength(3));
    expect(bodies().map((body) => body!.length)).toEqual([65_536, 100_000 - 65_536, 2]);
    expect(bodies()[2]).toBe("\ufffda");
  });

  it("keeps records that are refused for now until they are taken, and lets no more in than it can hold", async () => {
    let isBusy = true;
    let calls = 0;
    const offered = new Set<Batch>();
    const offeredBytes = () => [...offered].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const intake = new (class extends TestIntake {
      override async accept(batch: Batch): Promise<Outcome> {
        calls++;
        offered.add(batch);
        return isBusy ? { ok: false, refusal: new Refusal("transient", "not now") } : super.accept(batch);
      }
    })();
    const { port } = await start(tcpLogReceiver, LISTEN, intake);
    const socket = await connection(port);
    const line = `${"y".repeat(65_535)}\n`;
    for (let i = 0; i < 640; i++) socket.write(line);
    await until(() => expect(offeredBytes()).toBeGreaterThan(32 * 1024 * 1024));
    const before = calls;
    await until(() => expect(calls).toBeGreaterThan(before + 40));
    expect(offeredBytes()).toBeLessThan(36 * 1024 * 1024);
    isBusy = false;
    socket.end();
    await until(() => expect(intake.batches.reduce((sum, { count }) => sum + count, 0)).toBe(640));
  });

  it("hands in what it has read when it stops", async () => {
    const { port, stop, bodies } = await start(tcpLogReceiver, LISTEN);
    const socket = await connection(port);
    socket.write("first\nlast");
    await until(() => expect(bodies()).toEqual(["first"]));
    await stop();
    expect(bodies()).toEqual(["first", "last"]);
  });
});

describe("the udp_log receiver", () => {
  it("removes NULs and other control characters from the end of a packet", async () => {
    const { port, bodies } = await start(udpLogReceiver, { ...LISTEN, preserve_trailing_whitespaces: true });
    await sendPacket(port, "one\0", "two\0inside\r\n\0\0", "three ");
    await until(() => expect(bodies()).toEqual(["one", "two\0inside", "three "]));
    const syslog = await start(syslogReceiver, { udp: LISTEN, protocol: "rfc3164" });
    await sendPacket(syslog.port, "<34>Jan 12 06:30:00 host app: message\n\0");
    await until(() => expect(syslog.logs().map((log) => attributesOf(log)["message"])).toEqual(["message"]));
  });

  it("makes a record of each packet, or of each line where that is asked for", async () => {
    const whole = await start(udpLogReceiver, { ...LISTEN, add_attributes: true });
    await sendPacket(whole.port, "one\ntwo", "three\n");
    await until(() => expect(whole.bodies().sort()).toEqual(["one\ntwo", "three"]));
    expect(attributesOf(whole.logs()[0]!)).toMatchObject({ "net.transport": "IP.UDP", "net.peer.ip": "127.0.0.1" });
    const lines = await start(udpLogReceiver, { ...LISTEN, multiline: { line_end_pattern: "\n" } });
    await sendPacket(lines.port, "one\ntwo");
    await until(() => expect(lines.bodies().sort()).toEqual(["one", "two"]));
  });
});

const NEW = '<165>1 2024-05-06T07:08:09.5Z host app 42 ID [x@1 k="v"] it works';
const OLD = "<34>Oct 11 22:14:15 mymachine su[7]: 'su root' failed";

describe("the syslog receiver", () => {
  it("parses messages of RFC 5424 over UDP", async () => {
    const { port, logs } = await start(syslogReceiver, { udp: LISTEN, protocol: "rfc5424" });
    await sendPacket(port, NEW);
    await until(() => expect(logs()).toHaveLength(1));
    expect(logs()[0]).toMatchObject({
      body: { stringValue: NEW },
      severityNumber: 10,
      timeUnixNano: "1714979289500000000",
    });
    expect(attributesOf(logs()[0]!)).toMatchObject({
      hostname: "host",
      appname: "app",
      proc_id: "42",
      message: "it works",
    });
  });

  it("parses messages of RFC 3164 over TCP, and passes on what is none", async () => {
    const { port, logs } = await start(syslogReceiver, { tcp: LISTEN, protocol: "rfc3164" });
    const socket = await connection(port);
    socket.end(`${OLD}\nno syslog at all\n`);
    await until(() => expect(logs()).toHaveLength(2));
    expect(attributesOf(logs()[0]!)).toMatchObject({
      hostname: "mymachine",
      appname: "su",
      message: "'su root' failed",
    });
    expect(logs()[1]).toMatchObject({ body: { stringValue: "no syslog at all" } });
  });

  it("takes messages with their length in front of them, whole or in pieces", async () => {
    const { port, logs } = await start(syslogReceiver, { tcp: LISTEN, enable_octet_counting: true });
    const text = `${NEW.length} ${NEW}${NEW.length + 5} ${NEW}\nmore${NEW}`;
    const socket = await connection(port);
    for (const letter of text.slice(0, 90)) socket.write(letter);
    socket.write(text.slice(90));
    socket.end();
    await until(() => expect(logs()).toHaveLength(3));
    expect(logs().map((log) => attributesOf(log)["message"])).toEqual(["it works", "it works\nmore", "it works"]);
  });

  it("takes messages that end with a NUL", async () => {
    const { port, logs } = await start(syslogReceiver, { tcp: LISTEN, non_transparent_framing_trailer: "NUL" });
    const socket = await connection(port);
    socket.end(`${NEW}\0${NEW}\0`);
    await until(() => expect(logs()).toHaveLength(2));
  });

  it.each([[{}], [{ tcp: LISTEN, udp: LISTEN }], [{ tcp: LISTEN, protocol: "rfc1" }]])("refuses %j", (config) => {
    expect(syslogReceiver.schema.safeParse(config).success).toBe(false);
  });
});

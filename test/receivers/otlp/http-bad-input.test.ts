import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Clock, SIGNALS } from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { decodeStatus } from "../../../src/runtime/net/otlp/rpc-status.js";
import { JSON_HEADERS, PROTO, post, type Running, raw, rawHead, startReceiver, until } from "./harness.js";
import { json, wire } from "./requests.js";

const HEAD = "POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n";
const GZIP = { ...PROTO, "content-encoding": "gzip" };

/** `depth` messages inside one another, each AnyValue holding an ArrayValue of one AnyValue. */
function nested(depth: number): Buffer {
  let inner: Buffer = Buffer.alloc(0);
  for (let i = 0; i < depth; i++) inner = field(i % 2 === 0 ? 1 : 5, inner);
  const record = field(5, inner);
  return field(1, field(2, field(2, record)));
}

function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  let rest = content.length;
  while (rest > 127) {
    length.push((rest & 127) | 128);
    rest >>>= 7;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, rest]), content]);
}

describe("bad requests to OTLP over HTTP", () => {
  let running: Running;
  const start = async (http: object = {}, clock?: Clock) => {
    running = await startReceiver({ http: { endpoint: "127.0.0.1:0", ...http } }, SIGNALS, clock);
  };
  const restart = async (http: object, clock?: Clock) => {
    await running.receiver.stop();
    await start(http, clock);
  };
  beforeEach(() => start());
  afterEach(async () => {
    // After any input, the next valid request is accepted and no memory stays reserved.
    const taken = running.intakes.logs.records;
    running.intakes.logs.room = Number.POSITIVE_INFINITY;
    expect((await post(running.http, "/v1/logs", wire("logs"))).status).toBe(200);
    expect(running.intakes.logs.records).toBe(taken + 1);
    await until(() => running.intakes.logs.reserved === 0);
    await running.receiver.stop();
  });

  const good = wire("logs", 5);
  it.each([
    ["truncated", good.subarray(0, good.length - 3)],
    ["garbage", Buffer.from("no protobuf at all, just some words")],
    ["a wrong wire type", Buffer.from([0x08, 0x01])],
    ["a length past the end", Buffer.from([0x0a, 0x7f, 0x00])],
    ["a huge length", Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
    ["a varint without end", Buffer.alloc(64, 0xff)],
    ["nested 10,000 deep", nested(10_000)],
  ])("answers 400 with the offset to protobuf that is %s", async (_, body) => {
    const answer = await post(running.http, "/v1/logs", body);
    expect(answer.status).toBe(400);
    expect(answer.headers["content-type"]).toBe("application/x-protobuf");
    expect(decodeStatus(answer.body, "proto")).toMatchObject({
      code: 3,
      message: expect.stringMatching(/at byte \d+/),
    });
    expect(running.intakes.logs.batches).toEqual([]);
  });

  it("takes a hundred thousand empty messages", async () => {
    const body = Buffer.alloc(200_000);
    for (let i = 0; i < body.length; i += 2) body[i] = 0x0a;
    expect((await post(running.http, "/v1/logs", body)).status).toBe(200);
  });

  it.each([
    ["cut short", json("logs").slice(0, -4)],
    ["not JSON", "hello"],
    ["an array", "[]"],
    ["wrongly typed", '{"resourceLogs": 7}'],
    ["nested 10,000 deep", `{"resourceLogs":${"[".repeat(10_000)}${"]".repeat(10_000)}}`],
    ["deep values", deepJson(10_000)],
  ])("answers 400 in JSON to JSON that is %s", async (_, body) => {
    const answer = await post(running.http, "/v1/logs", body, JSON_HEADERS);
    expect([answer.status, answer.headers["content-type"]]).toEqual([400, "application/json"]);
    expect(decodeStatus(answer.body, "json")).toMatchObject({ code: 3, message: expect.stringMatching(/.+/) });
  });

  it("answers 400 to damaged gzip", async () => {
    const packed = gzipSync(wire("logs", 100));
    for (const body of [Buffer.from("not gzip, though it claims to be"), packed.subarray(0, 40), Buffer.alloc(0)]) {
      const answer = await post(running.http, "/v1/logs", body, GZIP);
      expect([answer.status, decodeStatus(answer.body, "proto").code]).toEqual([400, 3]);
    }
  });

  it("answers 413 over the limit, and the client sees it before it has sent everything", async () => {
    await restart({ max_request_body_size: 10_000 });
    const announced = await rawHead(running.http, `${HEAD}Content-Length: 50000000\r\n\r\n`, Buffer.alloc(500_000));
    expect(announced).toMatch(/^HTTP\/1\.1 413 .*\r\nConnection: close/s);
    const chunk = `2710\r\n${"x".repeat(10_000)}\r\n`;
    const chunked = await rawHead(running.http, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, chunk, chunk, chunk);
    expect(chunked).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("lets a client that sends everything before it reads see the refusal", async () => {
    // Its patience with what is still sent does not end: how long this takes depends on the machine.
    await restart({ max_request_body_size: 10_000 }, { ...systemClock, after: () => () => {} });
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(running.http, "127.0.0.1").on("error", reject);
      socket.once("data", (chunk) => resolve(chunk.toString("latin1"))).pause();
      socket.write(`${HEAD}Content-Length: 40000000\r\n\r\n`);
      socket.write(Buffer.alloc(40_000_000), (error) => (error ? reject(error) : socket.resume()));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("stops a gzip bomb at the limit", async () => {
    await restart({ max_request_body_size: "1MiB" });
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const liar = Buffer.from(bomb);
    liar.writeUInt32LE(100, liar.length - 4);
    for (const body of [bomb, liar]) {
      const answer = await post(running.http, "/v1/logs", body, GZIP);
      expect([answer.status, decodeStatus(answer.body, "proto").message]).toEqual([
        413,
        expect.stringContaining("1048576 bytes"),
      ]);
    }
    expect(running.intakes.logs.mostReserved).toBeLessThan(1.5 * 1024 * 1024);
  });

  it("answers 503 with Retry-After while the intake has no room, unpacked bytes included", async () => {
    running.intakes.logs.room = 2000;
    const large = await post(running.http, "/v1/logs", wire("logs", 1000));
    expect([large.status, large.headers["retry-after"]]).toEqual([503, "1"]);
    const packed = await post(running.http, "/v1/logs", gzipSync(Buffer.alloc(100_000)), GZIP);
    expect([packed.status, packed.headers["retry-after"]]).toEqual([503, "1"]);
  });

  it("reserves what slow uploads have sent so far and releases it when they are cut off", async () => {
    const sockets = Array.from({ length: 5 }, () => connect(running.http, "127.0.0.1"));
    for (const socket of sockets) socket.write(`${HEAD}Content-Length: 100000\r\n\r\n${"x".repeat(1000)}`);
    await until(() => running.intakes.logs.reserved === 5000);
    for (const socket of sockets) socket.destroy();
    await until(() => running.intakes.logs.reserved === 0);
  });

  it("ends an upload that takes longer than read_timeout", async () => {
    await restart({ read_timeout: "100ms" });
    expect(await raw(running.http, `${HEAD}Content-Length: 100\r\n\r\nx`)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("ends a connection whose headers never come", async () => {
    await restart({ read_header_timeout: "100ms" });
    expect(await raw(running.http, "POST /v1/logs HT")).toMatch(/^HTTP\/1\.1 408 /);
  });

  it.each([
    ["negative", "Content-Length: -5\r\n"],
    ["no number", "Content-Length: many\r\n"],
    ["given twice", "Content-Length: 5\r\nContent-Length: 6\r\n"],
    ["beside chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"],
  ])("answers 400 to a Content-Length that is %s", async (_, header) => {
    expect(await raw(running.http, `${HEAD}${header}\r\nhello`)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("says go on to Expect: 100-continue, unless the head alone is refused", async () => {
    const body = wire("logs", 1);
    const expects = `Expect: 100-continue\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`;
    const good = await raw(running.http, `${HEAD}${expects}`, body);
    expect(good).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    const refused = await rawHead(running.http, `${HEAD.replace("logs", "nowhere")}${expects}`);
    expect(refused).toMatch(/^HTTP\/1\.1 404 /);
  });

  it("answers pipelined requests in order, good and bad", async () => {
    const body = wire("logs", 2);
    const one = (path: string, more = "") =>
      Buffer.concat([
        Buffer.from(`${HEAD.replace("/v1/logs", path)}${more}Content-Length: ${body.length}\r\n\r\n`),
        body,
      ]);
    const all = Buffer.concat([one("/v1/logs"), one("/nowhere"), one("/v1/logs", "Connection: close\r\n")]);
    const statuses = [...(await raw(running.http, all)).matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]);
    expect(statuses).toEqual(["200", "404", "200"]);
  });

  it("lets go of a client that never reads its answers", async () => {
    await restart({ write_timeout: "100ms", response_headers: { "X-Padding": "p".repeat(8000) } });
    const socket = connect(running.http, "127.0.0.1").on("error", () => {});
    socket.pause();
    const body = wire("logs", 1);
    const request = Buffer.concat([Buffer.from(`${HEAD}Content-Length: ${body.length}\r\n\r\n`), body]);
    let closed = false;
    socket.on("close", () => {
      closed = true;
    });
    const flood = () => {
      while (!closed && socket.write(request));
      if (!closed) socket.once("drain", flood);
    };
    flood();
    await until(() => closed);
  });
});

function deepJson(depth: number): string {
  const open = '{"arrayValue":{"values":['.repeat(depth);
  return `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${open}${"]}}".repeat(depth)}}]}]}]}`;
}

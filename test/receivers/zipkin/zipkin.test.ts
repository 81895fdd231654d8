import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { zipkinSpansOf } from "../../../src/exporters/zipkin/to-zipkin.js";
import { type Batch, batchToJson, Refusal } from "../../../src/plugin.js";
import { type ZipkinReceiver, zipkinReceiver } from "../../../src/receivers/zipkin/component.js";
import type { Metrics } from "../../../src/runtime/contract/observability.js";
import { type ClientAnswer, receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { FakeMetrics } from "../otlp/harness.js";
import { startReceiver } from "../started-receiver.js";

const PATH = "/api/v2/spans";
const SPAN = { traceId: "a1", id: "b1", name: "get", timestamp: 1, localEndpoint: { serviceName: "cart" } };

const post = (port: number, body: string | Buffer, headers: Record<string, string> = {}, path = PATH) =>
  fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body, headers: { connection: "close", ...headers } });

async function start(config: object = {}, metrics?: Metrics) {
  const intake = new TestIntake();
  const settings = { endpoint: "127.0.0.1:0", ...config };
  const receiver = (await startReceiver(
    zipkinReceiver,
    settings,
    intake,
    undefined,
    "traces",
    metrics,
  )) as ZipkinReceiver;
  onTestFinished(() => receiver.stop());
  return { intake, port: receiver.port, receiver };
}

describe("the zipkin receiver", () => {
  it("takes spans, packed or not, and answers 202 when they are safe", async () => {
    const { intake, port } = await start();
    const json = JSON.stringify([SPAN, { ...SPAN, id: "b2", tags: { 'quote"]': "},{\\" } }]);
    expect((await post(port, json)).status).toBe(202);
    expect((await post(port, gzipSync(json), { "content-encoding": "gzip" })).status).toBe(202);
    expect((await post(port, `\ufeff ${json}\n`)).status).toBe(202);
    expect((await post(port, " [ ] ")).status).toBe(202);
    expect(intake.batches.map(({ count }) => count)).toEqual([2, 2, 2]);
    expect(batchToJson(intake.batches[0]!)).toBe(batchToJson(intake.batches[1]!));
    expect(intake.reserved).toBe(0);
  });

  it.each([
    ["", "expected a list"],
    ["{}", "expected a list"],
    ["[", "expected a value"],
    ["[{]", "expected valid JSON"],
    ['["', "the JSON ends within a text"],
    ["[1,]", "span 0: expected an object"],
    ["[{}] x", "span 0: traceId: expected an id"],
    [JSON.stringify([SPAN]).concat("x"), "nothing after the JSON"],
    [JSON.stringify([{ ...SPAN, id: "0" }]), "span 0: id: expected an id"],
    [JSON.stringify([SPAN, { ...SPAN, traceId: "g" }]), "span 1: traceId: expected an id"],
    [JSON.stringify([{ ...SPAN, timestamp: -1 }]), "span 0: timestamp: expected a number of microseconds"],
    [JSON.stringify([{ ...SPAN, duration: 1e300 }]), "span 0: duration"],
    [JSON.stringify([{ ...SPAN, tags: { a: 1 } }]), 'span 0: tags["a"]: expected a text'],
    [JSON.stringify([{ ...SPAN, annotations: [null] }]), "span 0: annotations[0]: expected an object"],
    [JSON.stringify([{ ...SPAN, localEndpoint: { port: 70_000 } }]), "span 0: localEndpoint.port: expected a port"],
    ["[".repeat(100_000), "nested more than 200 deep"],
  ])("answers 400 to %j and still serves", async (body, message) => {
    const { intake, port } = await start();
    const answer = await post(port, body);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(message)]);
    expect((await post(port, JSON.stringify([SPAN]))).status).toBe(202);
    expect([intake.batches.length, intake.reserved]).toEqual([1, 0]);
  });

  it("refuses what is too large, packed too, what it cannot unpack, and other formats and paths", async () => {
    const { intake, port } = await start({ max_request_body_size: 10_000 });
    const bomb = gzipSync(Buffer.alloc(5_000_000, " "));
    const gzip = { "content-encoding": "gzip" };
    expect((await post(port, " ".repeat(10_001))).status).toBe(413);
    expect((await post(port, " ".repeat(20_000_000))).status).toBe(413);
    expect((await post(port, bomb, gzip)).status).toBe(413);
    expect((await post(port, "no gzip", gzip)).status).toBe(400);
    expect((await post(port, "x", { "content-encoding": "br" })).status).toBe(415);
    expect((await post(port, "x", { "content-type": "application/x-protobuf" })).status).toBe(400);
    expect((await post(port, "[]", { "content-type": "application/x-thrift" }, "/api/v1/spans")).status).toBe(415);
    expect((await fetch(`http://127.0.0.1:${port}${PATH}`)).status).toBe(405);
    expect(intake.reserved).toBe(0);
  });

  it("says in plain text why it refuses, and counts it", async () => {
    const metrics = new FakeMetrics();
    const { port } = await start({ max_request_body_size: 10_000 }, metrics);
    const refusals: [string | Buffer, Record<string, string>, string, string][] = [
      ["[1]", {}, "/api/v1/spans", "400 span 0: expected an object"],
      [" ".repeat(10_001), {}, PATH, "413 the request has more than the 10000 bytes of max_request_body_size"],
      [
        "x",
        { "content-type": "application/x-thrift" },
        PATH,
        "415 only application/json and application/x-protobuf are accepted",
      ],
      ["x", { "content-encoding": "br" }, PATH, "415 the Content-Encoding is not accepted; use gzip, "],
    ];
    for (const [body, headers, path, text] of refusals) {
      const answer = await post(port, body, headers, path);
      expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(`${answer.status} ${await answer.text()}`).toContain(text);
    }
    const got = await fetch(`http://127.0.0.1:${port}${PATH}`);
    expect([await got.text(), got.headers.get("allow")]).toEqual(["use POST\n", "POST"]);
    expect(metrics.sums.get("sluice_receiver_refused_requests{zipkin,http,415}")).toBe(2);
  });

  it("asks senders to retry when there is no room or the pipeline refuses temporarily", async () => {
    const { intake, port } = await start();
    intake.room = 10;
    const full = await post(port, JSON.stringify([SPAN]));
    expect([full.status, full.headers.get("retry-after")]).toEqual([503, "1"]);
    intake.room = Number.POSITIVE_INFINITY;
    intake.answer = () => ({ ok: false, refusal: new Refusal("throttled", "later", { retryAfterMs: 3000 }) });
    const later = await post(port, JSON.stringify([SPAN]));
    expect([later.status, later.headers.get("retry-after")]).toEqual([429, "3"]);
    intake.answer = () => ({ ok: false, refusal: new Refusal("permanent", "never") });
    expect((await post(port, JSON.stringify([SPAN]))).status).toBe(400);
    expect(intake.reserved).toBe(0);
  });

  it("gives back what it held of a request whose client went away", async () => {
    const { intake, port } = await start();
    const socket = connect(port, "127.0.0.1");
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n[{`);
    await expect.poll(() => intake.reserved, { timeout: patienceMs }).toBe(2);
    socket.destroy();
    await expect.poll(() => intake.reserved, { timeout: patienceMs }).toBe(0);
  });
});

describe("the zipkin receiver as a receiver", () => {
  const bodyOf = (batch: Batch) => JSON.stringify([...zipkinSpansOf(batch)].map((span) => span.convert()));
  const answerOf = (status: number): ClientAnswer => {
    if (status === 202) return "accepted";
    return [429, 503].includes(status) ? "retry" : "rejected";
  };
  const send = async (batch: Batch, port: number) => answerOf((await post(port, bodyOf(batch))).status);
  const sendPart = async (batch: Batch, port: number) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => {});
    const answer = once(socket, "close").then(
      (): ClientAnswer => (text === "" ? "unreachable" : answerOf(Number(text.split(" ")[1]))),
    );
    const body = bodyOf(batch);
    const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    await new Promise<void>((resolve) => socket.write(head + body.slice(0, body.length >> 1), () => resolve()));
    return { answer };
  };
  const config = (port: number) => ({ endpoint: `127.0.0.1:${port}` });
  for (const { name, run } of receiverConformance(zipkinReceiver, { config, send, sendPart, patienceMs }))
    it(name, run);
});

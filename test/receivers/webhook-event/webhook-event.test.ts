import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { sampleIds } from "../../../src/agent/testing/samples.js";
import { type Batch, type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { webhookEventReceiver } from "../../../src/receivers/webhook-event/component.js";
import { type ClientAnswer, receiverConformance, TestIntake } from "../../../src/testing.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { clientAnswer, postHalf, postTo, resourcesOf, valuesOf } from "../http-client.js";
import { startReceiver } from "../started-receiver.js";

const factory = webhookEventReceiver as ReceiverFactory;

async function start(config: object = {}) {
  const intake = new TestIntake();
  const receiver = await startReceiver(factory, { endpoint: "127.0.0.1:0", ...config }, intake);
  onTestFinished(() => receiver.stop?.());
  const { port } = receiver as unknown as { readonly port: number };
  return {
    intake,
    port,
    post: (...rest: [string | Buffer, Record<string, string>?]) => postTo(port, "/events", ...rest),
  };
}

const records = (batch: Batch) => resourcesOf(batch)[0]!.items;
const bodies = (batch: Batch) => records(batch).map(({ body }) => body?.["stringValue"] ?? "");

describe("the webhook_event receiver", () => {
  it("makes one record of a request, with the parameters of its URL and itself as the scope", async () => {
    const { intake, port } = await start();
    const answer = await postTo(port, "/events?team=shop&team=other&none=&a%20b=1+2&__proto__=x", '{"a":1}\n{"b":2}');
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    const { resource, scope } = resourcesOf(intake.batches[0]!)[0]!;
    expect(Object.entries(resource)).toEqual([
      ["team", "shop"],
      ["a b", "1 2"],
      ["__proto__", "x"],
    ]);
    expect([scope.name, valuesOf(scope.attributes)]).toEqual([
      "otlp/webhook_event",
      { source: "webhook_event", receiver: "webhook_event" },
    ]);
    expect(bodies(intake.batches[0]!)).toEqual(['{"a":1}\n{"b":2}']);
    expect(records(intake.batches[0]!)[0]!.observedTimeUnixNano).toBeGreaterThan(0n);
  });

  it("takes what is packed, and replaces bytes that are no text", async () => {
    const { intake, post } = await start();
    expect((await post(gzipSync("packed"), { "content-encoding": "gzip" })).status).toBe(200);
    expect((await post(Buffer.from([0x61, 0xff, 0x62]))).status).toBe(200);
    expect(intake.batches.map(bodies)).toEqual([["packed"], ["a\ufffdb"]]);
    expect(intake.reserved).toBe(0);
  });

  it("makes a record of each line, or of each JSON value, as asked", async () => {
    const lines = await start({ split_logs_at_newline: true });
    await lines.post("a\n\nb\n");
    expect(bodies(lines.intake.batches[0]!)).toEqual(["a", "", "b", ""]);
    const values = await start({ split_logs_at_json_boundary: true });
    await values.post('{"a":"}\\""} [1,[2]]"x"12 true{"b":1}\n');
    await values.post("no json");
    await values.post("  ");
    await values.post('{"a":1}{"b":');
    await values.post("1 2,3");
    await values.post("  {]1");
    await values.post("[[[".repeat(30_000));
    expect(values.intake.batches.map(bodies)).toEqual([
      ['{"a":"}\\""}', "[1,[2]]", '"x"', "12", "true", '{"b":1}'],
      ["no json"],
      ["  "],
      ['{"a":1}', '{"b":'],
      ["1", "2", ",3"],
      ["  {]1"],
      ["[[[".repeat(30_000)],
    ]);
  });

  it("keeps headers whose names match", async () => {
    const { intake, post } = await start({ header_attribute_regex: "^(X-|Content-Length|Host)" });
    await post("a", { "x-request-id": "7", accept: "*/*" });
    await post(gzipSync("a"), { "content-encoding": "gzip" });
    expect(intake.batches.map((batch) => valuesOf(records(batch)[0]!.attributes))).toEqual([
      {
        "header.X-Request-Id": { values: [{ stringValue: "7" }] },
        "header.Content-Length": { values: [{ stringValue: "1" }] },
      },
      {},
    ]);
  });

  it("answers health checks, and refuses other methods and paths", async () => {
    const { port } = await start({ health_path: "/alive" });
    const healthy = await fetch(`http://127.0.0.1:${port}/alive?a`);
    expect([healthy.status, healthy.headers.get("content-type"), await healthy.json()]).toEqual([
      200,
      "application/json",
      { text: "Webhookevent receiver is healthy" },
    ]);
    expect((await fetch(`http://127.0.0.1:${port}/events`)).status).toBe(405);
    expect((await postTo(port, "/other", "a")).status).toBe(404);
  });

  it("lets in only requests with the required header", async () => {
    const { intake, post } = await start({ required_header: { key: "X-Token", value: "secret" } });
    const refused = await post("a", { "x-token": "other" });
    const message = "request was missing required header or incorrect header value";
    expect([refused.status, await refused.json()]).toEqual([401, message]);
    expect((await post("a")).status).toBe(401);
    expect((await post("a", { "X-TOKEN": "secret" })).status).toBe(200);
    expect(intake.batches.length).toBe(1);
  });

  it("lets in only bodies that are signed", async () => {
    const hmac_signature = { secret: "s3cret", header: "X-Hub-Signature-256", prefix: "sha256=" };
    const { intake, post } = await start({ hmac_signature });
    const sign = (body: string) => `sha256=${createHmac("sha256", "s3cret").update(body).digest("hex")}`;
    const refusals: [string, Record<string, string>, string][] = [
      ["a", {}, "missing HMAC signature header"],
      ["a", { "x-hub-signature-256": "v1=00" }, "HMAC signature header has invalid prefix"],
      ["a", { "x-hub-signature-256": "sha256=0x" }, "HMAC signature hex encoding is invalid"],
      ["a", { "x-hub-signature-256": "sha256=00" }, "HMAC signature does not match payload"],
      ["a", { "x-hub-signature-256": sign("b") }, "HMAC signature does not match payload"],
    ];
    for (const [body, headers, message] of refusals) {
      const answer = await post(body, headers);
      expect([answer.status, await answer.json()]).toEqual([401, message]);
    }
    expect((await post("a", { "x-hub-signature-256": sign("a") })).status).toBe(200);
    const packed = { "content-encoding": "gzip", "x-hub-signature-256": sign("a") };
    expect((await post(gzipSync("a"), packed)).status).toBe(200);
    expect(intake.batches.length).toBe(2);
  });

  it("refuses what is empty, too large, or packed in an unknown way, in JSON", async () => {
    const { intake, post } = await start();
    const empty = await post("");
    expect([empty.status, await empty.json()]).toEqual([400, "request body content length is zero"]);
    expect((await post("a".repeat(100 * 1024))).status).toBe(200);
    expect((await post("a".repeat(100 * 1024 + 1))).status).toBe(413);
    expect((await post(gzipSync(Buffer.alloc(1_000_000)), { "content-encoding": "gzip" })).status).toBe(413);
    const unknown = await post("a", { "content-encoding": "br" });
    expect([unknown.status, await unknown.json()]).toEqual([415, expect.stringContaining("br is not accepted")]);
    expect((await post("no gzip", { "content-encoding": "gzip" })).status).toBe(400);
    expect([intake.batches.length, intake.reserved]).toEqual([1, 0]);
  });

  it("refuses a request that would grow beyond all measure", async () => {
    const { intake, post } = await start({ split_logs_at_newline: true, header_attribute_regex: ".*" });
    const answer = await post("\n".repeat(100_000), { "x-long": "a".repeat(8000) });
    expect([answer.status, await answer.json()]).toEqual([400, expect.stringContaining("too many records")]);
    expect([intake.batches.length, intake.reserved]).toEqual([0, 0]);
  });

  it("asks senders to retry when there is no room or the pipeline refuses temporarily", async () => {
    const { intake, post } = await start();
    intake.room = 1;
    const full = await post("abc");
    expect([full.status, full.headers.get("retry-after")]).toEqual([503, "1"]);
    intake.room = Number.POSITIVE_INFINITY;
    intake.answer = () => ({ ok: false, refusal: new Refusal("throttled", "later", { retryAfterMs: 3000 }) });
    const later = await post("abc");
    expect([later.status, later.headers.get("retry-after"), await later.json()]).toEqual([429, "3", "later"]);
  });

  it.each([
    [{ split_logs_at_newline: true, split_logs_at_json_boundary: true }, "not both"],
    [{ required_header: { key: "a" } }, "expected a value too"],
    [{ required_header: { value: "a" } }, "expected a key too"],
    [{ hmac_signature: { secret: "a", header: "b" } }, "prefix"],
    [{ header_attribute_regex: "(" }, "not a pattern"],
    [{ read_timeout: "11s" }, "at most 10s"],
  ])("refuses the config %j", (config, message) => {
    expect(() => factory.schema.parse({ endpoint: "127.0.0.1:0", ...config })).toThrow(message);
  });
});

describe("the webhook_event receiver as a receiver", () => {
  const path = (id: string) => `/events?sample.id=${id}`;
  // A request is one record, so a batch is as many requests. Its answer is that of the first.
  const send = async (batch: Batch, port: number): Promise<ClientAnswer> => {
    const [first, ...others] = sampleIds(batch);
    const { status } = await postTo(port, path(first!), "event");
    for (const id of others) await postTo(port, path(id), "event").catch(() => {});
    return clientAnswer(status);
  };
  const sendPart = (batch: Batch, port: number) => postHalf(port, path(sampleIds(batch)[0]!), Buffer.from("event"));
  const config = (port: number) => ({ endpoint: `127.0.0.1:${port}` });
  for (const { name, run } of receiverConformance(factory, { config, send, sendPart, patienceMs })) it(name, run);
});

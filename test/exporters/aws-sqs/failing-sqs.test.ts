import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { awsSqsExporter } from "../../../src/exporters/aws-sqs/component.js";
import type { Exporter } from "../../../src/runtime/contract/exporter.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { logs as testLogs } from "../../../src/testing.js";
import { SqsTester, sqsEnvironment } from "../../support/servers/sqs.js";
import { SqsEmulator } from "../../support/servers/sqs-emulator.js";
import { logs } from "../../support/telemetry/batches.js";
import { never, refusalOf, startExporter } from "../harness.js";

describe("the exporter aws_sqs, when SQS", () => {
  let emulator: SqsEmulator;
  let sqs: SqsTester;
  let exporter: Exporter | undefined;

  beforeEach(async () => {
    useEnvironment(sqsEnvironment);
    emulator = await new SqsEmulator().start();
    sqs = new SqsTester(emulator.endpoint);
  });

  afterEach(async () => {
    await exporter?.stop?.();
    await emulator.close();
    useEnvironment({});
  });

  async function startFor(name: string, more: object = {}, attributes: object = {}): Promise<string> {
    const url = await sqs.createQueue(name, attributes);
    const config = { endpoint: emulator.endpoint, queue_name: name, encoding: "text", ...more };
    exporter = await startExporter(awsSqsExporter, config);
    return url;
  }

  const bodiesIn = async (url: string) => (await sqs.drain(url)).map(({ Body }) => Body as string);

  it("takes some entries of a batch, sends only the others again, with the same keys", async () => {
    const url = await startFor("q");
    let isFailing = true;
    emulator.failEntry = (_action, { MessageBody }) => (isFailing && MessageBody === "b" ? "InternalError" : undefined);
    const refusal = await refusalOf(exporter!.send(logs("a", "b", "c"), never, { idempotencyKey: "k" }));
    expect(refusal).toMatchObject({ kind: "transient", status: "InternalError", undelivered: undefined });
    isFailing = false;
    await exporter!.send(logs("a", "b", "c"), never, { idempotencyKey: "k" });
    const sent = await sqs.drain(url);
    expect(sent.map(({ Body }) => Body).sort()).toEqual(["a", "b", "c"]);
    const keys = sent.map(({ MessageAttributes }) => MessageAttributes["x-idempotency-key"].StringValue);
    expect(keys.sort()).toEqual(["k/0", "k/1", "k/2"]);
  });

  it("will never take an entry, tells the queue which one it is, and sends the rest", async () => {
    const url = await startFor("q", { max_message_size: "2KiB" });
    const refusal = await refusalOf(exporter!.send(logs("a", "b".repeat(3000), "c"), never, { idempotencyKey: "k" }));
    expect(refusal).toMatchObject({ kind: "transient", code: "SLUICE_TOO_LARGE" });
    const { marks } = refusal.undelivered!;
    expect([marks[0], marks[2]]).toEqual([0, 0]);
    expect(marks[1]).toBeGreaterThan(0);
    expect((await bodiesIn(url)).sort()).toEqual(["a", "c"]);
  });

  it("has a lower limit than the config says, refuses the message permanently", async () => {
    await startFor("q", {}, { MaximumMessageSize: "1024" });
    const refusal = await refusalOf(exporter!.send(logs("x".repeat(2000)), never));
    expect(refusal).toMatchObject({ kind: "permanent", code: "SLUICE_TOO_LARGE", category: "schema" });
  });

  it("takes only so many bytes in a request, sends several", async () => {
    const url = await startFor("q", { max_message_size: "2KiB" }, { MaximumMessageSize: "2048" });
    const bodies = Array.from({ length: 5 }, (_, i) => String(i).repeat(900));
    await exporter!.send(logs(...bodies), never);
    expect((await bodiesIn(url)).sort()).toEqual(bodies);
  });

  it.each(["ThrottlingException", "RequestThrottled", "KmsThrottled"])(
    "throttles with %s, is retried",
    async (code) => {
      await startFor("q");
      emulator.failCall = (action) => (action === "SendMessageBatch" ? code : undefined);
      expect(await refusalOf(exporter!.send(logs("a"), never))).toMatchObject({ kind: "throttled", blame: "backend" });
    },
  );

  it.each([
    ["does not know the key", { AWS_ACCESS_KEY_ID: "OTHER" }, /InvalidClientTokenId/],
    ["does not accept the signature", { AWS_SECRET_ACCESS_KEY: "wrong" }, /SignatureDoesNotMatch/],
  ])("%s, holds the data", async (_what, keys, words) => {
    await startFor("q");
    useEnvironment({ ...sqsEnvironment, ...keys });
    const refusal = await refusalOf(exporter!.send(logs("a"), never));
    expect(refusal).toMatchObject({ kind: "permanent", category: "integration", status: "HTTP 403" });
    expect(refusal.message).toMatch(words);
    await exporter!.check!(never);
  });

  it("fails a message of a group, sends nothing of that group ahead of it", async () => {
    const url = await startFor("q.fifo", { group_id_from: "g" });
    const records = ["a1", "b1", "a2", "b2"].map((body) => ({ body, attributes: { g: body[0]! } }));
    let isFailing = true;
    emulator.failEntry = (_action, { MessageBody }) =>
      isFailing && MessageBody === "a1" ? "InternalError" : undefined;
    await refusalOf(exporter!.send(testLogs(...records), never, { idempotencyKey: "k" }));
    isFailing = false;
    await exporter!.send(testLogs(...records), never, { idempotencyKey: "k" });
    expect(await bodiesIn(url)).toEqual(["b1", "b2", "a1", "a2"]);
  });

  it("takes only text, sends other bytes and empty bodies as base64", async () => {
    const url = await startFor("q", { encoding: "raw" });
    const bodies = [new Uint8Array([0, 255]), "", "plain ✓", "\u0000"];
    await exporter!.send(testLogs(...bodies.map((body) => ({ body }))), never);
    expect((await bodiesIn(url)).sort()).toEqual(["=", "AA==", "AP8=", "plain ✓"]);
  });
});

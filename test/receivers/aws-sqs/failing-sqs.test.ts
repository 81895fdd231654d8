import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { awsSqsReceiver } from "../../../src/receivers/aws-sqs/component.js";
import type { Receiver } from "../../../src/runtime/contract/component.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { agentOf } from "../../support/agent.js";
import { SqsTester, sqsEnvironment } from "../../support/servers/sqs.js";
import { SqsEmulator } from "../../support/servers/sqs-emulator.js";
import { bodies } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";

const ACCEPTED = { ok: true, rejected: 0, message: "" } as const;

describe("the receiver aws_sqs, when SQS", () => {
  let emulator: SqsEmulator;
  let sqs: SqsTester;
  let url: string;
  let receiver: Receiver | undefined;
  let intake: SetbackIntake;

  beforeEach(async () => {
    useEnvironment(sqsEnvironment);
    emulator = await new SqsEmulator().start();
    sqs = new SqsTester(emulator.endpoint);
    url = await sqs.createQueue("q");
    intake = new SetbackIntake();
  });

  afterEach(async () => {
    await receiver?.stop();
    receiver = undefined;
    await emulator.close();
    useEnvironment({});
  });

  async function start(more: object = {}): Promise<void> {
    const config = { endpoint: emulator.endpoint, queue_name: "q", encoding: "text", wait_time: "1s", ...more };
    receiver = await startReceiver(awsSqsReceiver, config, intake);
  }

  const counts = () => sqs.counts(url);
  const callsOf = (action: string) => emulator.calls.filter((call) => call.action === action);

  it("fails some entries of a deletion, deletes only those again, and hands in nothing twice", async () => {
    for (let i = 0; i < 5; i++) await sqs.send(url, `m${i}`);
    const failed = new Set<string>();
    emulator.failEntry = (action, { Id, ReceiptHandle }) => {
      if (action !== "DeleteMessageBatch" || Id !== "0" || failed.size > 0) return undefined;
      failed.add(ReceiptHandle);
      return "InternalError";
    };
    await start();
    await expect.poll(counts).toEqual([0, 0]);
    expect(intake.batches.flatMap(bodies).sort()).toEqual(["m0", "m1", "m2", "m3", "m4"]);
    const deleted = callsOf("DeleteMessageBatch").flatMap(
      ({ input }) => input["Entries"] as { ReceiptHandle: string }[],
    );
    const times = deleted.map(
      ({ ReceiptHandle }) => deleted.filter((each) => each.ReceiptHandle === ReceiptHandle).length,
    );
    expect(deleted).toHaveLength(6);
    expect(times.filter((count) => count === 2)).toHaveLength(2);
    expect(deleted.at(-1)!.ReceiptHandle).toBe([...failed][0]);
  });

  it("hands out a message again while it is worked on, deletes it with the new receipt, and hands it in once", async () => {
    await sqs.send(url, "slow");
    let accept = () => {};
    intake.answer = () => new Promise((resolve) => (accept = () => resolve(ACCEPTED)));
    emulator.failCall = (action) => (action === "ChangeMessageVisibilityBatch" ? "InternalError" : undefined);
    await start({ visibility_timeout: "3s" });
    await until(() => expect(intake.batches).toHaveLength(1));
    await until(() => expect(emulator.receivesOf("q")[0]).toBeGreaterThan(1)); // the visibility timeout has passed
    accept();
    await expect.poll(counts).toEqual([0, 0]);
    expect(intake.batches).toHaveLength(1);
  });

  it("has forgotten a deletion, deletes the message again without handing it in", async () => {
    await sqs.send(url, "once");
    let fails = 1;
    emulator.failEntry = (action) =>
      action === "DeleteMessageBatch" && fails-- > 0 ? "ReceiptHandleIsInvalid" : undefined;
    await start({ visibility_timeout: "3s" });
    await expect.poll(counts).toEqual([0, 0]);
    expect(intake.batches.flatMap(bodies)).toEqual(["once"]);
    expect(callsOf("DeleteMessageBatch")).toHaveLength(2);
  });

  it.each(["ThrottlingException", "InternalFailure", "OverLimit"])("answers with %s, reads on later", async (code) => {
    let fails = 2;
    emulator.failCall = (action) => (action === "ReceiveMessage" && fails-- > 0 ? code : undefined);
    await sqs.send(url, "late");
    await start();
    await until(() => expect(intake.batches.flatMap(bodies)).toEqual(["late"]));
  });

  it("answers while the receiver stops, gives the messages back", async () => {
    await start({ wait_time: "20s" });
    await until(() => expect(callsOf("ReceiveMessage")).toHaveLength(1));
    const stopped = receiver!.stop();
    await sqs.send(url, "too late");
    await stopped;
    expect(await counts()).toEqual([1, 0]);
    expect(intake.batches).toEqual([]);
  });

  it("is waiting for messages that do not come, is not waited for", async () => {
    await start({ wait_time: "20s" });
    await until(() => expect(callsOf("ReceiveMessage")).toHaveLength(1));
    await receiver!.stop();
    expect(callsOf("ReceiveMessage")).toHaveLength(1);
  });

  it("moves a message that came too often, the agent's status says where to", async () => {
    const dead = await sqs.createQueue("dead");
    const arn = "arn:aws:sqs:us-east-1:000000000000:dead";
    const policy = { RedrivePolicy: JSON.stringify({ maxReceiveCount: 2, deadLetterTargetArn: arn }) };
    const source = await sqs.createQueue("source", policy);
    await sqs.send(source, "waiting", {});
    const metrics = countedMetrics();
    const agent = agentOf(
      JSON.stringify({
        receivers: {
          aws_sqs: { endpoint: emulator.endpoint, queue_name: "source", encoding: "text", wait_time: "1s" },
        },
        exporters: { nop: {} },
        service: { pipelines: { logs: { receivers: ["aws_sqs"], exporters: ["nop"] } } },
      }),
      { metrics },
    );
    await agent.start();
    try {
      await until(() =>
        expect(agent.receivers()).toMatchObject([
          { state: "UP", lag: 0, facts: { source: { max_receive_count: 2, dead_letter_queue: arn } } },
        ]),
      );
      await until(() => expect(agent.receivers()[0]!.lastMessageAt).toBeGreaterThan(0));
      expect(metrics.value("sluice_receiver_up", { receiver: "aws_sqs" })).toBe(1);
      emulator.failCall = (action) => (action === "ReceiveMessage" ? "AccessDeniedException" : undefined);
      await until(() => expect(agent.receivers()).toMatchObject([{ state: "DOWN", down: ["source"] }]));
      expect(agent.receivers()[0]!.lastError!.message).toContain("AccessDeniedException");
      expect(metrics.value("sluice_receiver_up", { receiver: "aws_sqs" })).toBe(0);
    } finally {
      await agent.stop(0);
    }
    expect(await sqs.counts(dead)).toEqual([0, 0]);
  });

  it("moved a message to its dead-letter queue, makes it a dead letter that knows where it came from", async () => {
    await sqs.createQueue("dead");
    const arn = "arn:aws:sqs:us-east-1:000000000000:dead";
    const policy = { RedrivePolicy: JSON.stringify({ maxReceiveCount: 1, deadLetterTargetArn: arn }) };
    const source = await sqs.createQueue("orders", policy);
    await sqs.send(source, "poison");
    for (let i = 0; i < 2; i++) await sqs.call("ReceiveMessage", { QueueUrl: source, VisibilityTimeout: 0 });
    await start({ queue_name: "dead", as_dead_letters: true });
    await until(() => expect(intake.setbacks).toHaveLength(1));
    expect(intake.setbacks[0]!.setback.message).toBe(
      "SQS handed it out too often in arn:aws:sqs:us-east-1:000000000000:orders",
    );
  });
});

describe("the receiver aws_sqs", () => {
  it("needs a region if neither endpoint nor queue_url tells the server", async () => {
    useEnvironment({});
    const starting = startReceiver(awsSqsReceiver, { queue_name: "q" }, new SetbackIntake());
    await expect(starting).rejects.toThrow("the region of the queue is unknown: set region, queue_url or AWS_REGION");
  });

  it.each([
    [{}, "expected the queue, such as queue_name: orders, or its URL under queue_url"],
    [
      { queue_name: "q", queue_url: "https://sqs.eu-west-1.amazonaws.com/1/q" },
      "expected one of queue_url and queue_name",
    ],
    [{ queue_name: "a b" }, "expected the name of a queue"],
    [{ queue_url: "https://sqs.eu-west-1.amazonaws.com/" }, "expected the URL of a queue, which ends with its name"],
    [{ queue_name: "q", wait_time: "21s" }, "expected 1s to 20s, the limit of SQS"],
    [{ queue_name: "q", traces: { queue_name: "t", encoding: "text" } }, "text messages are log records"],
  ])("says what is wrong with %j", (config, problem) => {
    const { error } = awsSqsReceiver.schema.safeParse(config) as { error: Error };
    expect(error.message).toContain(problem);
  });
});

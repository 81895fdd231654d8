import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readMessages, SqsMessage } from "../../../src/receivers/aws-sqs/incoming-message.js";
import { wholeMessage } from "../../../src/runtime/brokers/messages/read-message.js";
import { SqsClient } from "../../../src/runtime/brokers/sqs/sqs-client.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { isRefusal } from "../../../src/runtime/contract/errors/refusal.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { assert, type FuzzTarget, magnitude } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const MESSAGE = {
  MessageId: "m-1",
  ReceiptHandle: "r",
  MD5OfBody: "b2e5ae5ec6a0ed6ae37b11a02f0c3d33",
  Body: "AP8=",
  Attributes: { ApproximateReceiveCount: "2", SentTimestamp: "1700000000000", MessageGroupId: "g" },
  MessageAttributes: {
    "content-transfer-encoding": { DataType: "String", StringValue: "base64" },
    "x-sluice-headers": { DataType: "String", StringValue: '{"a":"b","c":{"base64":"AA=="}}' },
    n: { DataType: "Number", StringValue: "-1.5" },
    bytes: { DataType: "Binary", BinaryValue: "AAH/" },
  },
};

const MESSAGES = JSON.stringify({ Messages: [MESSAGE, { ...MESSAGE, Body: "text", MessageAttributes: {} }] });
/** As ElasticMQ and AWS write them. */
const MISSING = '{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}';
const THROTTLED = '{"__type":"com.amazon.coral.availability#ThrottlingException","Message":"Rate exceeded"}';
const XML = "<ErrorResponse><Error><Code>InternalError</Code></Error></ErrorResponse>";

/** Every message in a server's answer can be kept. */
function keepMessages(received: unknown): string {
  const messages = readMessages(received).map((message, i) => new SqsMessage(message, "queue", i % 2 === 0));
  for (const message of messages) holdToOtlp(wholeMessage("logs", message, "in"));
  return messages.map(({ headers, body }) => `${Object.keys(headers).length}, ${magnitude(body.length)}`).join();
}

function runMessages(input: Buffer): string {
  let answer: unknown;
  try {
    answer = JSON.parse(input.toString("utf8"));
  } catch {
    return "no JSON";
  }
  return keepMessages((answer as { Messages?: unknown } | null)?.Messages);
}

let answer: { readonly status: number; readonly type: string; readonly body: Buffer };
let started: Promise<SqsClient> | undefined;

/** A client of a server that answers everything with `answer`. The server ends with the process. */
async function startClient(): Promise<SqsClient> {
  const server = createServer((request, response) => {
    const { status, type, body } = answer;
    request.resume().on("end", () => {
      response.writeHead(status, { ...(type !== "" && { "x-amzn-errortype": type }), "content-length": body.length });
      response.end(body);
    });
  }).unref();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  useEnvironment({ AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" });
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const context = { clock: systemClock, random: Math.random, logger: silentLogger };
  const client = new SqsClient({ endpoint, region: "us-east-1" }, { queue_name: "queue" }, context);
  await client.start();
  return client;
}

/** The first line is the status, the second one the header that names an error; the rest is the body. */
async function runAnswer(input: Buffer): Promise<string> {
  const text = input.toString("latin1");
  const [status = "", type = ""] = text.split("\n", 2);
  const code = Number.parseInt(status, 10);
  answer = {
    status: code >= 200 && code <= 599 && code !== 204 && code !== 304 ? code : 200,
    type: type.replace(/[^\x20-\x7e]/g, "").trim(),
    body: input.subarray(status.length + type.length + 2),
  };
  started ??= startClient();
  try {
    const { Messages } = await (await started).call("ReceiveMessage", {}, new AbortController().signal);
    return keepMessages(Messages);
  } catch (error) {
    assert(isRefusal(error), `threw ${error}`);
    return `${error.kind} ${error.code}`;
  }
}

const WORDS = [...'{}[]:,"', "null", "base64", "String", "Binary", "Number", "__proto__", "x-sluice-headers", "__type"];

export const sqsTargets: readonly FuzzTarget[] = [
  {
    name: "answers of SQS",
    share: 4,
    seeds: [Buffer.from(MESSAGES), Buffer.from("{}")],
    mutate: textMutator(WORDS),
    run: runMessages,
  },
  {
    name: "answers of a server of SQS",
    share: 1,
    seeds: [
      `200\n\n${MESSAGES}`,
      `400\n\n${MISSING}`,
      `503\n${"ThrottlingException:http://internal.amazon.com/"}\n${THROTTLED}`,
      `500\n\n${XML}`,
    ].map((text) => Buffer.from(text)),
    mutate: textMutator([
      ...WORDS,
      "\n",
      "ExpiredToken",
      "AccessDenied",
      "message",
      "Message",
      "too long",
      "429",
      "403",
    ]),
    run: runAnswer,
  },
];

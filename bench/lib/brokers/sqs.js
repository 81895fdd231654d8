import http from "node:http";
import { awsSqsExporter } from "../../../dist/exporters/aws-sqs/component.js";
import { awsSqsReceiver } from "../../../dist/receivers/aws-sqs/component.js";
import { signRequest } from "../../../dist/runtime/net/aws/sign.js";
import { useEnvironment } from "../../../dist/runtime/system/environment.js";
import { cpuPerRecord, inLanes, MANY_LANES } from "../broker-load.js";

const KEYS = { accessKeyId: "bench", secretAccessKey: "bench" };
const agent = new http.Agent({ keepAlive: true });

/**
 * A queue to which messages are sent one by one, and from which ten are read and deleted together, with signed requests
 * of node:http.
 *
 * @param {string} endpoint
 * @param {string} queue
 * @param {import("../../../dist/plugin.js").Batch} batch
 */
export async function openBare(endpoint, queue, { bytes, count }) {
  useEnvironment({ AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey });
  const call = caller(endpoint);
  const { QueueUrl } = await call("CreateQueue", { QueueName: queue });
  let sequence = 0;

  const publish = (/** @type {number} */ messages) =>
    cpuPerRecord(messages * count, () => inLanes(messages, send, MANY_LANES));
  const send = () => {
    const key = { DataType: "String", StringValue: `bare-${sequence++}` };
    const MessageBody = Buffer.from(bytes).toString("base64");
    return call("SendMessage", { QueueUrl, MessageBody, MessageAttributes: { "x-idempotency-key": key } });
  };
  /** Reads and deletes ten messages, and returns how many there were. */
  const readSome = async () => {
    const { Messages = [] } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
    const Entries = Messages.map(
      (/** @type {{ ReceiptHandle: string }} */ { ReceiptHandle }, /** @type {number} */ i) => ({
        Id: String(i),
        ReceiptHandle,
      }),
    );
    if (Entries.length > 0) await call("DeleteMessageBatch", { QueueUrl, Entries });
    return Entries.length;
  };
  /** SQS allows PurgeQueue only once a minute. */
  const empty = async () => {
    while ((await readSome()) > 0);
  };
  const keys = { endpoint, queue_name: queue };

  return {
    async write(/** @type {number} */ messages) {
      await empty();
      return publish(messages);
    },
    async fill(/** @type {number} */ messages) {
      await empty();
      await publish(messages);
    },
    read: (/** @type {number} */ messages) =>
      cpuPerRecord(messages * count, async () => {
        for (let seen = 0; seen < messages; ) seen += await readSome();
      }),
    exporter: () => ({ factory: awsSqsExporter, keys }),
    receiver: () => ({ factory: awsSqsReceiver, keys: { ...keys, wait_time: "1s" } }),
    async close() {
      await call("DeleteQueue", { QueueUrl });
      agent.destroy();
    },
  };
}

/** @returns {(action: string, input: object) => Promise<any>} */
function caller(/** @type {string} */ endpoint) {
  const url = new URL(endpoint);
  return (action, input) =>
    new Promise((resolve, reject) => {
      const body = Buffer.from(JSON.stringify(input));
      const own = { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${action}` };
      const signing = { method: "POST", url, headers: own, body, region: "us-east-1", service: "sqs", at: Date.now() };
      const headers = { ...own, ...signRequest(signing, KEYS), "content-length": body.length };
      const request = http.request(url, { method: "POST", agent, headers }, (response) => {
        /** @type {Buffer[]} */
        const parts = [];
        response.on("data", (part) => parts.push(part)).on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(parts).toString("utf8");
          if (response.statusCode === 200) resolve(text === "" ? {} : JSON.parse(text));
          else reject(new Error(`${action}: ${text}`));
        });
      });
      request.on("error", reject).end(body);
    });
}

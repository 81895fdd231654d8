import { existsSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { signRequest } from "../../../src/runtime/net/aws/sign.js";
import { ServerProcess, serverFolder } from "./server-process.js";
import { SQS_KEYS, SqsEmulator } from "./sqs-emulator.js";

const JAVA = "/usr/bin/java";
/** Where `test/support/servers/elasticmq-jars.sh` puts ElasticMQ. */
const jars = process.env.SLUICE_ELASTICMQ_JARS ?? join(homedir(), ".cache/sluice-test/elasticmq-1.7.1");
/** Another server that speaks the protocol of SQS, such as moto, or AWS itself with keys in the environment. */
const given = process.env.SLUICE_TEST_SQS;

export const hasElasticMq = existsSync(join(jars, "elasticmq-server_2.13-1.7.1.jar")) && existsSync(JAVA);
if (!hasElasticMq && given === undefined)
  console.warn(
    "The tests of aws_sqs with a real server are skipped: set SLUICE_TEST_SQS to its URL, or fetch ElasticMQ with test/support/servers/elasticmq-jars.sh.",
  );

/** The environment of an agent with keys for these servers. */
export const sqsEnvironment: Readonly<Record<string, string>> = {
  ...SQS_KEYS,
  AWS_REGION: "us-east-1",
  AWS_EC2_METADATA_DISABLED: "true",
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      (each): each is [string, string] => given !== undefined && /^AWS_/.test(each[0]) && each[1] !== undefined,
    ),
  ),
};

export interface SqsServer {
  readonly endpoint: string;
  /** Only of the emulator. */
  readonly emulator?: SqsEmulator;
  close(): Promise<void>;
}

/** The servers to test with: the emulator, and a real one if there is one. */
export const SQS_SERVERS: readonly (readonly [string, () => Promise<SqsServer>])[] = [
  ["an emulator of SQS", startEmulator],
  ...(given !== undefined
    ? [["SLUICE_TEST_SQS", async () => ({ endpoint: given, close: async () => {} })] as const]
    : []),
  ...(given === undefined && hasElasticMq ? [["ElasticMQ", () => startElasticMq()] as const] : []),
];

async function startEmulator(): Promise<SqsServer> {
  const emulator = await new SqsEmulator().start();
  return { endpoint: emulator.endpoint, emulator, close: () => emulator.close() };
}

/**
 * An ElasticMQ of its own. Its queues and messages are on disk, so that it can be killed and started again. Without
 * WRITE_DELAY its database would lose what it has confirmed in the last half second.
 */
export async function startElasticMq(): Promise<SqsServer & { readonly server: ServerProcess }> {
  const folder = serverFolder("elasticmq");
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const file = join(folder.path, "elasticmq.conf");
  writeFileSync(
    file,
    `include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = ${port}, context-path = "" }
rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
queues-storage { enabled = true, path = "${folder.path}/queues.conf" }
messages-storage { enabled = true, uri = "jdbc:h2:${folder.path}/messages;WRITE_DELAY=0", prune-data-on-init = false }
`,
  );
  const jvm = ["-Xmx256m", "-Xms64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];
  const server = new ServerProcess({
    program: JAVA,
    args: [...jvm, `-Dconfig.file=${file}`, "-cp", `${jars}/*`, "org.elasticmq.server.Main"],
    folder: folder.path,
    isReady: () => new SqsTester(endpoint).call("ListQueues", {}),
  });
  await server.start();
  return {
    endpoint,
    server,
    async close() {
      await server.kill();
      folder.remove();
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: requests and answers are JSON of many shapes
type Json = Record<string, any>;

/** The operations of a test on SQS itself. */
export class SqsTester {
  private readonly endpoint: string;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  async call(action: string, input: object): Promise<Json> {
    const url = new URL(this.endpoint);
    const body = JSON.stringify(input);
    const headers = { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${action}` };
    const { AWS_ACCESS_KEY_ID: id = "", AWS_SECRET_ACCESS_KEY: secret = "" } = sqsEnvironment;
    const signing = { method: "POST", url, headers, body: Buffer.from(body), region: "us-east-1", service: "sqs" };
    const signed = signRequest({ ...signing, at: Date.now() }, { accessKeyId: id, secretAccessKey: secret });
    const response = await fetch(url, { method: "POST", headers: { ...headers, ...signed }, body });
    const text = await response.text();
    if (!response.ok) throw new Error(`${action}: ${text}`);
    return text === "" ? {} : (JSON.parse(text) as Json);
  }

  async createQueue(name: string, attributes: object = {}): Promise<string> {
    const fifo = name.endsWith(".fifo") ? { FifoQueue: "true" } : {};
    const { QueueUrl } = await this.call("CreateQueue", { QueueName: name, Attributes: { ...fifo, ...attributes } });
    return QueueUrl as string;
  }

  send(QueueUrl: string, MessageBody: string, more: object = {}): Promise<Json> {
    return this.call("SendMessage", { QueueUrl, MessageBody, ...more });
  }

  /** Takes all messages out of a queue, those that are hidden excepted. */
  async drain(QueueUrl: string): Promise<Json[]> {
    const all: Json[] = [];
    for (;;) {
      const names = { MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"] };
      const { Messages = [] } = await this.call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, ...names });
      if (Messages.length === 0) return all;
      all.push(...Messages);
      for (const { ReceiptHandle } of Messages) await this.call("DeleteMessage", { QueueUrl, ReceiptHandle });
    }
  }

  /** The number of messages that wait, and of those that a receiver holds. */
  async counts(QueueUrl: string): Promise<[number, number]> {
    const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
    const { Attributes } = await this.call("GetQueueAttributes", { QueueUrl, AttributeNames: names });
    return names.map((name) => Number(Attributes[name])) as [number, number];
  }
}

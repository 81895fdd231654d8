import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { recomputedSignature } from "../../extensions/auth/sigv4/recomputed.js";

/** The keys that the emulator knows. */
export const SQS_KEYS = { AWS_ACCESS_KEY_ID: "AKIDTEST", AWS_SECRET_ACCESS_KEY: "secret" };

// biome-ignore lint/suspicious/noExplicitAny: requests and answers are JSON of many shapes
type Json = Record<string, any>;

interface StoredMessage {
  readonly id: string;
  readonly body: string;
  readonly attributes: Json;
  readonly sentAt: number;
  readonly groupId: string | undefined;
  readonly deduplicationId: string | undefined;
  readonly from?: string;
  visibleAt: number;
  receives: number;
  receipt: string | undefined;
}

interface Queue {
  readonly name: string;
  readonly attributes: Json;
  readonly messages: StoredMessage[];
  readonly sent: Map<string, string>;
}

class SqsProblem extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message = code, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * SQS as its documentation describes it, in memory: signatures, long polling, visibility, receipts, batches whose entries
 * fail one by one, FIFO groups and deduplication, redrive, and its limits. Tests can make calls and entries fail.
 */
export class SqsEmulator {
  readonly calls: { readonly action: string; readonly input: Json }[] = [];
  /** Returns the code of an error for a whole call. */
  failCall: (action: string, input: Json) => string | undefined = () => undefined;
  /** Returns the code of an error for an entry of a batch. */
  failEntry: (action: string, entry: Json) => string | undefined = () => undefined;
  private readonly queues = new Map<string, Queue>();
  private readonly server = createServer((request, response) => void this.serve(request, response));

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  /** How many times each message that is left in a queue has been handed out. */
  receivesOf(queue: string): number[] {
    return this.queues.get(queue)!.messages.map(({ receives }) => receives);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const reply = (status: number, json: Json) => {
      response.writeHead(status, { "content-type": "application/x-amz-json-1.0" });
      response.end(JSON.stringify(json));
    };
    try {
      checkSignature(request, body);
      const action = String(request.headers["x-amz-target"]).replace("AmazonSQS.", "");
      const input = JSON.parse(body.toString("utf8")) as Json;
      this.calls.push({ action, input });
      const failure = this.failCall(action, input);
      if (failure !== undefined)
        throw new SqsProblem(failure, failure, /^(Internal|Service)/.test(failure) ? 500 : 400);
      reply(200, await this.act(action, input, () => response.destroyed));
    } catch (error) {
      const { code = "InternalFailure", message, status = 500 } = error as SqsProblem;
      reply(status, { __type: `com.amazonaws.sqs#${code}`, message });
    }
  }

  private async act(action: string, input: Json, isGone: () => boolean): Promise<Json> {
    const batch = /^(.*)Batch$/.exec(action)?.[1];
    if (action === "CreateQueue") return this.createQueue(input);
    if (action === "GetQueueUrl") return { QueueUrl: this.urlOf(this.queueNamed(input["QueueName"])) };
    const queue = this.queueNamed(String(input["QueueUrl"]).split("/").at(-1)!);
    if (batch !== undefined) return this.actInBatch(batch, queue, input["Entries"]);
    if (action === "ReceiveMessage") return this.receive(queue, input, isGone);
    if (action === "GetQueueAttributes") return { Attributes: this.attributesOf(queue, input["AttributeNames"]) };
    return this.actOnce(action, queue, input);
  }

  private actOnce(action: string, queue: Queue, input: Json): Json {
    if (action === "SendMessage") return this.send(queue, input);
    if (action === "DeleteMessage") return this.delete(queue, input["ReceiptHandle"]);
    if (action === "ChangeMessageVisibility")
      return this.hide(queue, input["ReceiptHandle"], input["VisibilityTimeout"]);
    throw new SqsProblem("UnsupportedOperation", action);
  }

  private actInBatch(action: string, queue: Queue, entries: Json[]): Json {
    if (entries.length > 10) throw new SqsProblem("TooManyEntriesInBatchRequest");
    if (entries.length === 0) throw new SqsProblem("EmptyBatchRequest");
    const total = action === "SendMessage" ? entries.reduce((sum, entry) => sum + sizeOf(entry), 0) : 0;
    if (total > maxBytes(queue)) throw new SqsProblem("BatchRequestTooLong", "Batch requests cannot be longer");
    const answer: { Successful: Json[]; Failed: Json[] } = { Successful: [], Failed: [] };
    for (const entry of entries) {
      try {
        const failure = this.failEntry(`${action}Batch`, entry);
        if (failure !== undefined)
          throw new SqsProblem(failure, failure, /^(Internal|Service)/.test(failure) ? 500 : 400);
        answer.Successful.push({ Id: entry["Id"], ...this.actOnce(action, queue, entry) });
      } catch (error) {
        const { code, message, status } = error as SqsProblem;
        answer.Failed.push({ Id: entry["Id"], Code: code, Message: message, SenderFault: status < 500 });
      }
    }
    return answer;
  }

  private createQueue({ QueueName: name, Attributes = {} }: Json): Json {
    const queue = this.queues.get(name) ?? { name, attributes: Attributes, messages: [], sent: new Map() };
    this.queues.set(name, queue);
    return { QueueUrl: this.urlOf(queue) };
  }

  private send(queue: Queue, input: Json): Json {
    const { MessageBody: body, MessageAttributes: attributes = {}, MessageGroupId: groupId } = input;
    if (body === "") throw new SqsProblem("MissingParameter", "The request must contain the parameter MessageBody.");
    if (!isText(body)) throw new SqsProblem("InvalidMessageContents");
    checkAttributes(attributes);
    if (sizeOf(input) > maxBytes(queue))
      throw new SqsProblem("InvalidParameterValue", `Message must be shorter than ${maxBytes(queue)} bytes.`);
    const isFifo = queue.name.endsWith(".fifo");
    if (isFifo && groupId === undefined) throw new SqsProblem("MissingParameter", "MessageGroupId");
    const content = queue.attributes["ContentBasedDeduplication"] === "true" ? md5(body) : undefined;
    const deduplicationId = input["MessageDeduplicationId"] ?? content;
    if (isFifo && deduplicationId === undefined)
      throw new SqsProblem("InvalidParameterValue", "MessageDeduplicationId");
    const known = isFifo ? queue.sent.get(deduplicationId) : undefined;
    const id = known ?? randomUUID();
    if (isFifo) queue.sent.set(deduplicationId, id);
    const message = { id, body, attributes, groupId, deduplicationId, sentAt: Date.now() };
    if (known === undefined) queue.messages.push({ ...message, visibleAt: 0, receives: 0, receipt: undefined });
    return { MessageId: id, MD5OfMessageBody: md5(body) };
  }

  private async receive(queue: Queue, input: Json, isGone: () => boolean): Promise<Json> {
    const until = Date.now() + (input["WaitTimeSeconds"] ?? 0) * 1000;
    for (;;) {
      if (isGone()) return {};
      const messages = this.take(queue, input["MaxNumberOfMessages"] ?? 1, input["VisibilityTimeout"] ?? 30);
      if (messages.length > 0) return { Messages: messages.map((message) => received(message, input)) };
      if (Date.now() >= until) return {};
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Messages of a group are handed out in order, and none while others of the group are hidden. */
  private take(queue: Queue, count: number, seconds: number): StoredMessage[] {
    const now = Date.now();
    const isFifo = queue.name.endsWith(".fifo");
    const isHidden = ({ visibleAt }: StoredMessage) => visibleAt > now;
    const locked = new Set(isFifo ? queue.messages.filter(isHidden).map(({ groupId }) => groupId) : []);
    const { maxReceiveCount = Number.POSITIVE_INFINITY, deadLetterTargetArn = "" } = policyOf(queue);
    const taken: StoredMessage[] = [];
    for (const message of [...queue.messages]) {
      if (taken.length === count) break;
      if (isHidden(message) || locked.has(message.groupId ?? message.id)) continue;
      if (message.receives >= maxReceiveCount) {
        queue.messages.splice(queue.messages.indexOf(message), 1);
        const from = `arn:aws:sqs:us-east-1:000000000000:${queue.name}`;
        this.queues.get(deadLetterTargetArn.split(":").at(-1))!.messages.push({ ...message, from, visibleAt: 0 });
        continue;
      }
      message.receives += 1;
      message.visibleAt = now + seconds * 1000;
      message.receipt = randomUUID();
      taken.push(message);
    }
    return taken;
  }

  private delete(queue: Queue, receipt: string): Json {
    queue.messages.splice(queue.messages.indexOf(withReceipt(queue, receipt)), 1);
    return {};
  }

  private hide(queue: Queue, receipt: string, seconds: number): Json {
    const message = withReceipt(queue, receipt);
    if (message.visibleAt <= Date.now()) throw new SqsProblem("MessageNotInflight");
    message.visibleAt = Date.now() + seconds * 1000;
    return {};
  }

  private attributesOf(queue: Queue, names: readonly string[]): Json {
    const hidden = queue.messages.filter(({ visibleAt }) => visibleAt > Date.now()).length;
    const all: Json = {
      ...queue.attributes,
      ApproximateNumberOfMessages: String(queue.messages.length - hidden),
      ApproximateNumberOfMessagesNotVisible: String(hidden),
      QueueArn: `arn:aws:sqs:us-east-1:000000000000:${queue.name}`,
    };
    return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name) || names.includes("All")));
  }

  private queueNamed(name: string): Queue {
    const queue = this.queues.get(name);
    if (queue === undefined) throw new SqsProblem("QueueDoesNotExist", "The specified queue does not exist.");
    return queue;
  }

  private urlOf({ name }: Queue): string {
    return `${this.endpoint}/000000000000/${name}`;
  }
}

function checkSignature({ method, url, headers }: IncomingMessage, body: Buffer): void {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret } = SQS_KEYS;
  const given = headers.authorization ?? "";
  if (!given.includes(`Credential=${id}/`)) throw new SqsProblem("InvalidClientTokenId", "unknown key", 403);
  const signature = recomputedSignature({ method: method!, path: url!, headers, body }, secret);
  if (!given.endsWith(`Signature=${signature}`)) throw new SqsProblem("SignatureDoesNotMatch", "wrong signature", 403);
}

function checkAttributes(attributes: Json): void {
  if (Object.keys(attributes).length > 10)
    throw new SqsProblem("InvalidParameterValue", "Number of message attributes exceeds the allowed maximum [10].");
  for (const [name, { DataType, StringValue, BinaryValue }] of Object.entries(attributes)) {
    const isNamed = /^[A-Za-z0-9_.-]{1,256}$/.test(name) && !/^(aws|amazon)\.|^\.|\.$|\.\./i.test(name);
    const hasValue = /^Binary/.test(DataType)
      ? BinaryValue?.length > 0
      : StringValue?.length > 0 && isText(StringValue);
    if (!isNamed || !hasValue) throw new SqsProblem("InvalidParameterValue", `the attribute ${name} is not valid`);
  }
}

function received(message: StoredMessage, input: Json): Json {
  const system: Json = {
    ApproximateReceiveCount: String(message.receives),
    SentTimestamp: String(message.sentAt),
    ...(message.groupId && { MessageGroupId: message.groupId }),
    ...(message.deduplicationId && { MessageDeduplicationId: message.deduplicationId }),
    ...(message.from && { DeadLetterQueueSourceArn: message.from }),
  };
  const wanted: readonly string[] = input["MessageSystemAttributeNames"] ?? [];
  const isWanted = (name: string) => wanted.includes(name) || wanted.includes("All");
  return {
    MessageId: message.id,
    ReceiptHandle: message.receipt,
    Body: message.body,
    MD5OfBody: md5(message.body),
    Attributes: Object.fromEntries(Object.entries(system).filter(([name]) => isWanted(name))),
    ...(input["MessageAttributeNames"]?.includes("All") && { MessageAttributes: message.attributes }),
  };
}

/** Only the newest receipt of a message counts. */
function withReceipt(queue: Queue, receipt: string): StoredMessage {
  const message = queue.messages.find((each) => each.receipt === receipt);
  if (message === undefined) throw new SqsProblem("ReceiptHandleIsInvalid");
  return message;
}

function policyOf({ attributes }: Queue): Json {
  return JSON.parse(attributes["RedrivePolicy"] ?? "{}") as Json;
}

function maxBytes({ attributes }: Queue): number {
  return Number(attributes["MaximumMessageSize"] ?? 1_048_576);
}

function sizeOf({ MessageBody, MessageAttributes = {} }: Json): number {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType, StringValue = "", BinaryValue = "" }] of Object.entries<Json>(MessageAttributes))
    bytes += Buffer.byteLength(`${name}${DataType}${StringValue}`) + Buffer.from(BinaryValue, "base64").length;
  return bytes;
}

function isText(text: string): boolean {
  return /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u.test(text);
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

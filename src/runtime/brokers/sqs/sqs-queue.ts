import { isRefusal, Refusal } from "#contract/errors";
import type { SqsClient } from "./sqs-client.js";
import { refusalOfSqs } from "./sqs-client.js";
import { queueNameOf, type SqsQueueAddress } from "./sqs-config.js";

/** The limit of SQS for entries of a batch. */
const MAX_ENTRIES = 10;
/** Requests of one call that are under way at the same time. */
const MAX_CONCURRENT = 4;

interface BatchLimits<Entry> {
  /** Limit for the bytes of all entries of a request. */
  readonly maxBytes: number;
  sizeOf(entry: Entry): number;
}

/** One queue. Its URL is looked up when it is first needed, if only the name is known. */
export class SqsQueue {
  readonly name: string;
  readonly isFifo: boolean;
  private readonly client: SqsClient;
  private url: string | undefined;

  constructor(client: SqsClient, address: SqsQueueAddress) {
    this.client = client;
    this.name = queueNameOf(address);
    this.isFifo = this.name.endsWith(".fifo");
    this.url = address.queue_url?.href;
  }

  /** Where errors say that they come from. */
  get peer(): string {
    return `${this.client.peer}, queue ${this.name}`;
  }

  /** Another queue at the same server, by its name or URL. */
  other(queue: string): SqsQueue {
    return new SqsQueue(this.client, URL.canParse(queue) ? { queue_url: new URL(queue) } : { queue_name: queue });
  }

  /** Resolves with the answer to an action on this queue. Rejects with a `Refusal`. */
  async call(action: string, input: object, abort: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    this.url ??= await this.findUrl(abort);
    return this.client.call(action, { QueueUrl: this.url, ...input }, abort);
  }

  /**
   * Carries out a batch action for any number of entries, at most ten in a request. Never rejects: resolves with a
   * refusal, or undefined for success, for each entry.
   */
  async callInBatches<Entry extends object>(
    action: string,
    entries: readonly Entry[],
    abort: AbortSignal,
    limits?: BatchLimits<Entry>,
  ): Promise<(Refusal | undefined)[]> {
    const requests = cutIntoRequests(entries, limits);
    const results: (Refusal | undefined)[][] = [];
    let next = 0;
    const work = async () => {
      for (let at = next++; at < requests.length; at = next++)
        results[at] = await this.callForEach(action, requests[at]!, abort);
    };
    await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT, requests.length) }, work));
    return results.flat();
  }

  private async callForEach(
    action: string,
    entries: readonly object[],
    abort: AbortSignal,
  ): Promise<(Refusal | undefined)[]> {
    const Entries = entries.map((entry, i) => ({ Id: String(i), ...entry }));
    try {
      const answer = await this.call(action, { Entries }, abort);
      return this.readResults(action, entries.length, answer);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return entries.map(() => error);
    }
  }

  /** SQS answers with success although some of the entries have failed. */
  private readResults(
    action: string,
    count: number,
    { Successful, Failed }: Readonly<Record<string, unknown>>,
  ): (Refusal | undefined)[] {
    const unmentioned = new Refusal("transient", `${this.peer}: the answer to ${action} does not mention an entry`);
    const results = Array.from<Refusal | undefined>({ length: count }).fill(unmentioned);
    const isOurs = (at: number) => Number.isInteger(at) && at >= 0 && at < count;
    for (const { Id } of listOf(Successful)) if (isOurs(Number(Id))) results[Number(Id)] = undefined;
    for (const { Id, Code, Message, SenderFault } of listOf(Failed)) {
      const error = { code: String(Code), message: String(Message ?? ""), isSenderFault: SenderFault === true };
      if (isOurs(Number(Id))) results[Number(Id)] = refusalOfSqs(error, this.peer);
    }
    return results;
  }

  private async findUrl(abort: AbortSignal): Promise<string> {
    const { QueueUrl } = await this.client.call("GetQueueUrl", { QueueName: this.name }, abort);
    if (typeof QueueUrl === "string") return QueueUrl;
    throw new Refusal("transient", `${this.peer}: the answer has no URL of the queue`, { blame: "backend" });
  }
}

function cutIntoRequests<Entry>(entries: readonly Entry[], limits: BatchLimits<Entry> | undefined): Entry[][] {
  const requests: Entry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = limits?.sizeOf(entry) ?? 0;
    const last = requests.at(-1);
    const fits = last !== undefined && last.length < MAX_ENTRIES && bytes + size <= (limits?.maxBytes ?? 0);
    if (fits) last.push(entry);
    else requests.push([entry]);
    bytes = fits ? bytes + size : size;
  }
  return requests;
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : [];
}

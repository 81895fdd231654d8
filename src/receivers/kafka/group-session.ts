import {
  type KafkaAssignment,
  type KafkaClient,
  type KafkaConsumer,
  type KafkaConsumerOptions,
  type KafkaGroupMember,
  type KafkaMemberShare,
  type KafkaRecordSet,
  type KafkaTopicMetadata,
  kafkaErrorIds,
  kafkaErrorMessage,
} from "#brokers";
import { waitAtMost } from "#contract/time";
import { pause } from "#resilience";
import { type ComponentContext, limitedLog } from "../../plugin.js";
import type { KafkaReceiverConfig } from "./config.js";
import { Partition, partitionKey } from "./partition.js";
import { PartitionFetcher } from "./partition-fetcher.js";

export interface SessionParts {
  readonly kafka: Pick<KafkaClient, "Consumer">;
  readonly config: KafkaReceiverConfig;
  readonly connection: KafkaConsumerOptions;
  readonly context: ComponentContext;
  readonly topics: readonly string[];
  /** Partitions known from earlier sessions, kept for later ones. */
  readonly partitions: Map<string, Partition>;
  /** Called with the records fetched for a partition. */
  readonly onRecords: (partition: Partition, records: readonly KafkaRecordSet[]) => void;
}

/**
 * One membership of the consumer group: joins the group, reads the assigned partitions and commits settled offsets. The
 * session ends with an error when the broker is lost; a new session continues with the same partitions.
 *
 * Reading uses separate connections, because a broker waiting for new records would hold up heartbeats.
 */
export class GroupSession {
  private readonly parts: SessionParts;
  private readonly group: KafkaConsumer;
  private readonly reader: KafkaConsumer;
  private readonly fetcher: PartitionFetcher;
  private readonly ended = new AbortController();
  private readonly end: Promise<void>;
  private readonly logCommit: (error: unknown) => void;
  private assigned: readonly Partition[] = [];
  private joins = 0;
  private isCommitting = false;

  constructor(parts: SessionParts) {
    this.parts = parts;
    const { kafka, config, connection, context } = parts;
    const options = {
      ...connection,
      sessionTimeout: config.session_timeout,
      heartbeatInterval: config.heartbeat_interval,
      rebalanceTimeout: config.rebalance_timeout,
      partitionAssigner: assignPartitions,
      ...(config.group_instance_id !== undefined && { groupInstanceId: config.group_instance_id }),
    };
    // The broker answers a join once all group members have arrived, which may take as long as a rebalance.
    const joinTimeout = config.rebalance_timeout + config.request_timeout;
    this.group = new kafka.Consumer({ ...options, timeout: joinTimeout, requestTimeout: joinTimeout });
    this.reader = new kafka.Consumer(options);
    this.fetcher = new PartitionFetcher({
      reader: this.reader,
      config,
      context,
      onRecords: parts.onRecords,
      onFailure: (error) => this.fail(error),
    });
    this.end = new Promise((_resolve, reject) =>
      this.ended.signal.addEventListener("abort", () => reject(this.ended.signal.reason)),
    );
    this.end.catch(() => {});
    this.logCommit = limitedLog(context.clock, (error, suppressed) =>
      context.logger.warn(
        { reason: kafkaErrorMessage(error), suppressed },
        "could not commit offsets; uncommitted messages will be read again",
      ),
    );
  }

  /** Resolves when the group is joined; from then on `failed` reports the session's end. */
  async start(): Promise<void> {
    const topics = await this.existingTopics();
    this.group.topics.trackAll(...topics);
    this.reader.topics.trackAll(...topics);
    this.listen();
    await Promise.race([this.group.joinGroup({}), this.end]);
    void this.commitPeriodically();
    void this.watchTopics(topics);
  }

  /** Rejects when this session has ended. */
  get failed(): Promise<void> {
    return this.end;
  }

  /** Called when a partition that was full may be read again. */
  wake(): void {
    this.fetcher.wake();
  }

  /** Stops reading. */
  pause(): void {
    this.fetcher.stop();
  }

  /**
   * Commits settled offsets, leaves the group and closes all connections. Waits for a broker only for a limited time.
   */
  async close(): Promise<void> {
    this.pause();
    const { clock } = this.parts.context;
    await waitAtMost(CLOSE_LIMIT_MS, this.commit(), clock);
    this.fail(new Error("closed"));
    const closing = [this.group.close(true), this.reader.close(true)];
    await waitAtMost(CLOSE_LIMIT_MS, Promise.allSettled(closing), clock);
  }

  private fail(error: unknown): void {
    if (this.ended.signal.aborted) return;
    this.pause();
    this.ended.abort(error);
  }

  private listen(): void {
    const { group } = this;
    group.on("error", (error: unknown) => this.fail(error));
    this.reader.on("error", (error: unknown) => this.fail(error));
    group.on("consumer:group:join", ({ assignments }) => {
      this.assign(assignments ?? []).catch((error: unknown) => this.fail(error));
    });
    // Commit settled offsets before other members may get the partitions.
    group.on("consumer:group:rebalance", () => void this.commit());
    group.on("consumer:heartbeat:error", ({ error }) => this.fail(error));
  }

  private async assign(assignments: readonly KafkaAssignment[]): Promise<void> {
    const join = ++this.joins;
    const { partitions, context } = this.parts;
    this.fetcher.read([]);
    const found = await this.committedOffsets(assignments);
    if (join !== this.joins || this.ended.signal.aborted) return;
    for (const key of partitions.keys()) if (!found.has(key)) partitions.delete(key);
    for (const [key, fresh] of found) {
      const known = partitions.get(key);
      if (known !== undefined && canContinue(known, fresh)) known.committed = fresh.committed;
      else partitions.set(key, fresh);
    }
    this.assigned = [...partitions.values()];
    context.logger.info({ partitions: [...found.keys()] }, "reading partitions");
    this.fetcher.read(this.assigned);
    await this.commit();
  }

  /** Returns the partitions at their committed offsets, as a new reader would start. */
  private async committedOffsets(assignments: readonly KafkaAssignment[]): Promise<Map<string, Partition>> {
    const found = new Map<string, Partition>();
    if (assignments.length === 0) return found;
    const topics = assignments.map(({ topic }) => topic);
    const metadata = await this.reader.metadata({ topics });
    const committed = await this.group.listCommittedOffsets({ topics: [...assignments] });
    const timestamp = this.parts.config.initial_offset === "earliest" ? EARLIEST : LATEST;
    const isNew = assignments.some(({ topic, partitions }) =>
      partitions.some((i) => (committed.get(topic)?.[i] ?? -1n) < 0n),
    );
    const initial = isNew ? await this.reader.listOffsets({ topics, timestamp }) : undefined;
    for (const { topic, partitions } of assignments) {
      const topicId = metadata.topics.get(topic)?.id ?? "";
      for (const index of partitions) {
        const committedOffset = committed.get(topic)?.[index] ?? -1n;
        const begin = committedOffset >= 0n ? committedOffset : (initial?.get(topic)?.[index] ?? 0n);
        found.set(partitionKey(topic, index), new Partition(topic, index, topicId, begin, committedOffset));
      }
    }
    return found;
  }

  private async commitPeriodically(): Promise<void> {
    const { config, context } = this.parts;
    while (!this.ended.signal.aborted) {
      await pause(config.autocommit.interval, context.clock, this.ended.signal);
      await this.commit();
    }
  }

  /** Never rejects: offsets that could not be committed are committed next time, or their messages are read again. */
  private async commit(): Promise<void> {
    const due = this.assigned.filter(({ isCommitDue }) => isCommitDue);
    if (due.length === 0 || this.isCommitting) return;
    const offsets = due.map(({ topic, index, commitOffset }) => ({
      topic,
      partition: index,
      offset: commitOffset,
      leaderEpoch: -1,
    }));
    this.isCommitting = true;
    try {
      await this.group.commit({ offsets });
      for (const [i, { offset }] of offsets.entries()) due[i]!.committed = offset;
    } catch (error) {
      if (!this.ended.signal.aborted && !isRebalance(error)) this.logCommit(error);
    } finally {
      this.isCommitting = false;
    }
  }

  private async existingTopics(): Promise<string[]> {
    const { topics, context } = this.parts;
    const missing: string[] = [];
    for (const topic of topics) {
      try {
        await this.reader.metadata({ topics: [topic] });
      } catch (error) {
        if (!isUnknownTopic(error)) throw error;
        missing.push(topic);
      }
    }
    const existing = topics.filter((topic) => !missing.includes(topic));
    if (existing.length === 0) throw new Error(`the broker has no topic ${missing.join(", ")}`);
    if (missing.length > 0)
      context.logger.warn({ topics: missing }, "the broker has no such topics; checking again later");
    return existing;
  }

  /** The group must rebalance when a topic is created, deleted or given more partitions. */
  private async watchTopics(existing: readonly string[]): Promise<void> {
    const { topics, context } = this.parts;
    const { signal } = this.ended;
    const before = await this.describeTopics(topics);
    while (!signal.aborted) {
      await pause(TOPIC_CHECK_MS, context.clock, signal);
      const now = signal.aborted ? undefined : await this.describeTopics(topics);
      if (before !== undefined && now !== undefined && now !== before) this.fail(new TopicsChanged(existing));
    }
  }

  /** Returns undefined if the broker does not answer. */
  private async describeTopics(topics: readonly string[]): Promise<string | undefined> {
    const words: string[] = [];
    for (const topic of topics) {
      try {
        const { topics: found } = await this.reader.metadata({ topics: [topic], forceUpdate: true });
        words.push(`${found.get(topic)?.id}:${found.get(topic)?.partitionsCount}`);
      } catch (error) {
        if (!isUnknownTopic(error)) return undefined;
        words.push("none");
      }
    }
    return words.join(" ");
  }
}

/** Not a failure: the next session starts at once. */
export class TopicsChanged extends Error {
  override readonly name = "TopicsChanged";

  constructor(topics: readonly string[]) {
    super(`topics were created, deleted or given partitions; until now the receiver read ${topics.join(", ")}`);
  }
}

const EARLIEST = -2n;
const LATEST = -1n;
const CLOSE_LIMIT_MS = 3000;
const TOPIC_CHECK_MS = 10_000;

/**
 * Whether the unsettled messages of a known partition still count: no other member has read on, and it is the same
 * topic. If so, they need not be read again.
 */
function canContinue(known: Partition, fresh: Partition): boolean {
  if (known.topicId !== fresh.topicId) return false;
  return fresh.committed < 0n || (fresh.position <= known.position && fresh.position >= known.committed);
}

function isUnknownTopic(error: unknown): boolean {
  return /Unknown topic/.test(kafkaErrorMessage(error)) || kafkaErrorIds(error).includes("UNKNOWN_TOPIC_OR_PARTITION");
}

function isRebalance(error: unknown): boolean {
  const ids = kafkaErrorIds(error);
  return ids.some((id) => /REBALANCE_IN_PROGRESS|ILLEGAL_GENERATION|UNKNOWN_MEMBER_ID/.test(id));
}

/**
 * Distributes the partitions of every topic evenly among the group members that read the topic. Agents of one group may
 * read different topics.
 */
export function assignPartitions(
  _self: string,
  members: ReadonlyMap<string, KafkaGroupMember>,
  _topics: ReadonlySet<string>,
  metadata: { readonly topics: ReadonlyMap<string, Pick<KafkaTopicMetadata, "partitionsCount">> },
): KafkaMemberShare[] {
  // All members compute the same order, so a partition mostly stays with its member.
  const ids = [...members.keys()].toSorted();
  const shares = new Map(ids.map((memberId) => [memberId, { memberId, assignments: new Map() } as KafkaMemberShare]));
  const topics = new Set([...members.values()].flatMap((member) => member.topics ?? []));
  let turn = 0;
  for (const topic of [...topics].toSorted()) {
    const readers = ids.filter((id) => members.get(id)?.topics?.includes(topic));
    const count = metadata.topics.get(topic)?.partitionsCount ?? 0;
    for (let partition = 0; partition < count; partition++) {
      const { assignments } = shares.get(readers[turn++ % readers.length]!)!;
      const own = assignments.get(topic) ?? { topic, partitions: [] };
      own.partitions.push(partition);
      assignments.set(topic, own);
    }
  }
  return [...shares.values()];
}

import {
  type KafkaConsumer,
  type KafkaFetchResponse,
  type KafkaPartitionAnswer,
  type KafkaRecordSet,
  kafkaErrorMessage,
} from "#brokers";
import { pause } from "#resilience";
import { type ComponentContext, limitedLog } from "../../plugin.js";
import type { KafkaReceiverConfig } from "./config.js";
import type { Partition } from "./partition.js";

interface FetcherParts {
  readonly reader: KafkaConsumer;
  readonly config: KafkaReceiverConfig;
  readonly context: ComponentContext;
  readonly onRecords: (partition: Partition, records: readonly KafkaRecordSet[]) => void;
  /** Called when a broker has failed to answer several times in a row. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Fetches records of the partitions it is told to read, with one request at a time to each broker that leads some of
 * them. A partition with too many unsettled bytes is left out of requests until they are settled.
 */
export class PartitionFetcher {
  private readonly parts: FetcherParts;
  private readonly logFault: (message: string) => void;
  private readonly stopped = new AbortController();
  private partitions: readonly Partition[] = [];
  /** Ids of the brokers with a request in progress. */
  private readonly busy = new Set<number>();
  private isLooking = false;
  private lookAgain = false;

  constructor(parts: FetcherParts) {
    this.parts = parts;
    const { clock, logger } = parts.context;
    this.logFault = limitedLog(clock, (reason, suppressed) =>
      logger.warn({ reason, suppressed }, "could not read from the broker; retrying"),
    );
  }

  /** Reads these partitions from now on. Records fetched for other partitions are discarded. */
  read(partitions: readonly Partition[]): void {
    this.partitions = partitions;
    this.wake();
  }

  /** Checks which partitions can be read now. */
  wake(): void {
    if (this.isLooking) this.lookAgain = true;
    else void this.look();
  }

  stop(): void {
    this.stopped.abort();
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    do {
      this.lookAgain = false;
      for (const [leader, ready] of await this.readyByLeader()) {
        if (this.stopped.signal.aborted || this.busy.has(leader)) continue;
        this.busy.add(leader);
        void this.fetch(leader, ready).then(() => {
          this.busy.delete(leader);
          this.wake();
        });
      }
    } while (this.lookAgain);
    this.isLooking = false;
  }

  private async readyByLeader(): Promise<ReadonlyMap<number, readonly Partition[]>> {
    const ready = this.partitions.filter(
      (partition) => partition.unsettledBytes < this.parts.config.max_unsettled_size,
    );
    const leaders = new Map<number, Partition[]>();
    if (ready.length === 0 || this.stopped.signal.aborted) return leaders;
    try {
      const { topics } = await this.parts.reader.metadata({ topics: [...new Set(ready.map(({ topic }) => topic))] });
      for (const partition of ready) {
        const leader = topics.get(partition.topic)?.partitions[partition.index]?.leader ?? -1;
        leaders.set(leader, [...(leaders.get(leader) ?? []), partition]);
      }
    } catch (error) {
      await this.fault(error);
      this.lookAgain = true;
    }
    return leaders;
  }

  private failures = 0;

  /** Never rejects. */
  private async fetch(leader: number, partitions: readonly Partition[]): Promise<void> {
    const { config, reader } = this.parts;
    const requested = new Map(partitions.map((partition) => [partition, partition.position]));
    try {
      const response = await reader.fetch({
        node: leader,
        minBytes: config.min_fetch_size,
        maxBytes: config.max_fetch_size,
        maxWaitTime: config.max_fetch_wait,
        topics: [...requested].map(([{ topicId, index }, fetchOffset]) => ({
          topicId,
          partitions: [
            {
              partition: index,
              fetchOffset,
              partitionMaxBytes: config.max_partition_fetch_size,
              currentLeaderEpoch: -1,
              lastFetchedEpoch: -1,
            },
          ],
        })),
      });
      this.failures = 0;
      this.handOver(response, requested);
    } catch (error) {
      if (this.stopped.signal.aborted) return;
      const { response } = error as { readonly response?: KafkaFetchResponse };
      if (response === undefined) return this.fault(error);
      // Some partitions could not be read; the response contains the others.
      this.handOver(response, requested);
      await this.repair(response, requested, error);
    }
  }

  private handOver(response: KafkaFetchResponse, requested: ReadonlyMap<Partition, bigint>): void {
    for (const [partition, answer] of this.answers(response, requested)) {
      partition.end = answer.highWatermark;
      if (answer.errorCode === 0 && answer.records !== undefined) this.parts.onRecords(partition, answer.records);
    }
  }

  /**
   * Yields only responses for partitions that are still read from the requested offset: the group may have rebalanced
   * meanwhile.
   */
  private *answers(
    response: KafkaFetchResponse,
    requested: ReadonlyMap<Partition, bigint>,
  ): Iterable<[Partition, KafkaPartitionAnswer]> {
    if (this.stopped.signal.aborted) return;
    for (const { topicId, partitions } of response.responses) {
      for (const answer of partitions) {
        const partition = this.partitions.find(
          (each) => each.topicId === topicId && each.index === answer.partitionIndex,
        );
        if (partition !== undefined && requested.get(partition) === partition.position) yield [partition, answer];
      }
    }
  }

  private async repair(
    response: KafkaFetchResponse,
    requested: ReadonlyMap<Partition, bigint>,
    error: unknown,
  ): Promise<void> {
    for (const [partition, { errorCode }] of this.answers(response, requested)) {
      if (errorCode === OFFSET_OUT_OF_RANGE) await this.resetOffset(partition);
    }
    await this.fault(error);
  }

  /** The wanted offset no longer exists: the broker deleted it by age or size, or lost it. */
  private async resetOffset(partition: Partition): Promise<void> {
    const { topic, index, position } = partition;
    try {
      const offsets = await this.parts.reader.listOffsets({
        topics: [topic],
        partitions: { [topic]: [index] },
        timestamp: -2n,
      });
      const begin = offsets.get(topic)?.[index];
      if (begin === undefined) return;
      const fields = { topic, partition: index, position: String(position), begin: String(begin) };
      this.parts.context.logger.error(
        fields,
        "the broker has deleted messages that were not read yet; continuing with the oldest it has",
      );
      partition.beginAt(begin);
    } catch {
      // The next request finds out again.
    }
  }

  private async fault(error: unknown): Promise<void> {
    if (this.stopped.signal.aborted) return;
    this.logFault(kafkaErrorMessage(error));
    this.parts.reader.clearMetadata();
    if (++this.failures >= MAX_FAILURES) this.parts.onFailure(error);
    await pause(FAULT_PAUSE_MS, this.parts.context.clock, this.stopped.signal);
  }
}

const OFFSET_OUT_OF_RANGE = 1;
const FAULT_PAUSE_MS = 500;
/** The number of consecutive failures before the group is joined again with new connections. */
const MAX_FAILURES = 10;

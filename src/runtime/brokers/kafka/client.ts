import type { ConnectionOptions } from "node:tls";

/**
 * Types for the parts of @platformatic/kafka 1.35 that we use. Only users of Kafka install the package, so neither the
 * build nor Sluice's types may need it.
 */
export interface KafkaClient {
  readonly Consumer: new (options: KafkaConsumerOptions) => KafkaConsumer;
  readonly Producer: new (options: KafkaProducerOptions) => KafkaProducer;
  readonly Admin: new (options: KafkaConnectionOptions) => KafkaAdmin;
}

/** How to connect to a cluster. Times are in milliseconds. */
export interface KafkaConnectionOptions {
  readonly clientId: string;
  readonly bootstrapBrokers: string[];
  readonly connectTimeout?: number;
  readonly timeout?: number;
  readonly requestTimeout?: number;
  readonly retries?: number;
  readonly retryDelay?: number;
  readonly autocreateTopics?: boolean;
  readonly metadataMaxAge?: number;
  readonly tls?: ConnectionOptions;
  /** The name expected in a broker's certificate; true: the name used to connect. */
  readonly tlsServerName?: boolean | string;
  readonly sasl?: KafkaSaslOptions;
}

export interface KafkaSaslOptions {
  readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
  readonly username: string;
  readonly password: string;
}

export interface KafkaConsumerOptions extends KafkaConnectionOptions {
  readonly groupId: string;
  readonly groupInstanceId?: string;
  readonly sessionTimeout?: number;
  readonly heartbeatInterval?: number;
  readonly rebalanceTimeout?: number;
  readonly maxBytes?: number;
  readonly maxWaitTime?: number;
  readonly partitionAssigner?: (
    self: string,
    members: ReadonlyMap<string, KafkaGroupMember>,
    topics: ReadonlySet<string>,
    metadata: KafkaMetadata,
  ) => KafkaMemberShare[];
}

/** A member of a group, and the topics that it reads. */
export interface KafkaGroupMember {
  readonly topics?: readonly string[];
}

/** The partitions of a topic that are assigned to a member. */
export interface KafkaAssignment {
  readonly topic: string;
  readonly partitions: number[];
}

export interface KafkaMemberShare {
  readonly memberId: string;
  readonly assignments: Map<string, KafkaAssignment>;
}

interface KafkaMetadata {
  /** The id of the cluster. */
  readonly id: string;
  readonly brokers: ReadonlyMap<number, unknown>;
  readonly topics: ReadonlyMap<string, KafkaTopicMetadata>;
}

export interface KafkaTopicMetadata {
  readonly id: string;
  readonly partitionsCount: number;
  /** `leader` is a broker's id. */
  readonly partitions: readonly {
    readonly leader: number;
    /** Ids of brokers. */
    readonly replicas: readonly number[];
    /** Those of the replicas that are in sync. */
    readonly isr: readonly number[];
  }[];
}

/** The methods of every client of a cluster. */
interface KafkaConnection {
  metadata(options: { readonly topics: string[]; readonly forceUpdate?: boolean }): Promise<KafkaMetadata>;
  /** Forces a new metadata request the next time. */
  clearMetadata(): void;
  close(): Promise<void>;
}

/** The offset of each partition, by topic. */
type KafkaOffsets = ReadonlyMap<string, readonly bigint[]>;

export interface KafkaConsumer extends KafkaConnection {
  /** The topics that the client announces to the group. */
  readonly topics: { trackAll(...topics: string[]): void };
  joinGroup(options: object): Promise<string>;
  fetch(request: KafkaFetchRequest): Promise<KafkaFetchResponse>;
  commit(options: { readonly offsets: KafkaCommit[] }): Promise<void>;
  listCommittedOffsets(options: { readonly topics: KafkaAssignment[] }): Promise<KafkaOffsets>;
  /** The timestamp in milliseconds; -2 means the oldest offsets, -1 the newest. */
  listOffsets(options: {
    readonly topics: string[];
    readonly partitions?: Record<string, number[]>;
    readonly timestamp?: bigint;
  }): Promise<KafkaOffsets>;
  /** With `force`, also closes a consumer that is a member of a group, and leaves the group. */
  close(force?: boolean): Promise<void>;
  on(event: "error", listener: (error: unknown) => void): void;
  on(
    event: "consumer:group:join",
    listener: (payload: { readonly assignments?: readonly KafkaAssignment[] }) => void,
  ): void;
  on(event: "consumer:group:rebalance", listener: () => void): void;
  on(event: "consumer:heartbeat:error", listener: (payload: { readonly error: Error }) => void): void;
}

/** Questions about a cluster. */
export interface KafkaAdmin extends KafkaConnection {
  /** Topics that are not internal. */
  listTopics(): Promise<string[]>;
  listGroups(): Promise<ReadonlyMap<string, { readonly id: string; readonly groupType: string }>>;
  describeGroups(options: {
    readonly groups: string[];
  }): Promise<ReadonlyMap<string, { readonly members: ReadonlyMap<string, unknown> }>>;
  listConsumerGroupOffsets(options: { readonly groups: string[] }): Promise<
    readonly {
      readonly topics: readonly {
        readonly name: string;
        readonly partitions: readonly { readonly partitionIndex: number; readonly committedOffset: bigint }[];
      }[];
    }[]
  >;
  /** The timestamp as for a consumer. */
  listOffsets(options: {
    readonly topics: {
      readonly name: string;
      readonly partitions: { readonly partitionIndex: number; readonly timestamp: bigint }[];
    }[];
  }): Promise<
    readonly {
      readonly name: string;
      readonly partitions: readonly { readonly partitionIndex: number; readonly offset: bigint }[];
    }[]
  >;
  /** Settings of topics (resource type 2) and brokers (4). */
  describeConfigs(options: {
    readonly resources: {
      readonly resourceType: number;
      readonly resourceName: string;
      readonly configurationKeys: string[];
    }[];
  }): Promise<
    readonly {
      readonly resourceName: string;
      readonly configs: readonly { readonly name: string; readonly value: string | null }[];
    }[]
  >;
}

interface KafkaFetchRequest {
  /** The id of the broker that leads these partitions. */
  readonly node: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly maxWaitTime: number;
  readonly topics: {
    readonly topicId: string;
    readonly partitions: {
      readonly partition: number;
      readonly fetchOffset: bigint;
      readonly partitionMaxBytes: number;
      readonly currentLeaderEpoch: number;
      readonly lastFetchedEpoch: number;
    }[];
  }[];
}

export interface KafkaFetchResponse {
  readonly responses: readonly {
    readonly topicId: string;
    readonly partitions: readonly KafkaPartitionAnswer[];
  }[];
}

export interface KafkaPartitionAnswer {
  readonly partitionIndex: number;
  readonly errorCode: number;
  readonly highWatermark: bigint;
  readonly records?: readonly KafkaRecordSet[];
}

/** Records that were written together. */
export interface KafkaRecordSet {
  readonly firstOffset: bigint;
  readonly firstTimestamp: bigint;
  readonly lastOffsetDelta: number;
  readonly attributes: number;
  readonly records: readonly KafkaRecord[];
}

export interface KafkaRecord {
  readonly offsetDelta: number;
  readonly timestampDelta: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

interface KafkaCommit {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly leaderEpoch: number;
}

export interface KafkaProducerOptions extends KafkaConnectionOptions {
  readonly compression?: "none" | "gzip" | "snappy" | "lz4" | "zstd";
  readonly idempotent?: boolean;
  readonly acks?: 1 | -1;
}

export interface KafkaProducer extends KafkaConnection {
  send(options: { readonly messages: KafkaMessage[]; readonly acks: 1 | -1 }): Promise<unknown>;
}

export interface KafkaMessage {
  readonly topic: string;
  readonly partition?: number;
  readonly key?: Buffer;
  readonly value?: Buffer;
  readonly headers?: Map<Buffer, Buffer>;
}

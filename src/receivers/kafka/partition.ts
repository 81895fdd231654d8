/**
 * A partition that this receiver reads.
 *
 * Invariants:
 * - `position` is the offset after the last message taken from the broker.
 * - Every message from `start` to `position` is settled or in `unsettled`.
 * - So everything before `commitOffset` is on disk at every exporter, or was there before we started.
 */
export class Partition {
  readonly topic: string;
  readonly index: number;
  /** The topic's id. A topic that is deleted and created again has another id, and its offsets mean something else. */
  readonly topicId: string;
  position: bigint;
  /** The offset last committed to the broker. */
  committed: bigint;
  /** The offset after the last message that the broker has, as far as it is known. */
  end = 0n;
  /** In offset order, because messages are added as they are read. */
  private readonly unsettled = new Set<UnsettledMessage>();
  unsettledBytes = 0;

  constructor(topic: string, index: number, topicId: string, position: bigint, committed: bigint) {
    this.topic = topic;
    this.index = index;
    this.topicId = topicId;
    this.position = position;
    this.committed = committed;
  }

  get key(): string {
    return partitionKey(this.topic, this.index);
  }

  /** Records a message taken from the broker. Call it in offset order. */
  take(offset: bigint, bytes: number): UnsettledMessage {
    const message = { offset, bytes };
    this.unsettled.add(message);
    this.unsettledBytes += bytes;
    this.position = offset + 1n;
    return message;
  }

  settle(message: UnsettledMessage): void {
    if (this.unsettled.delete(message)) this.unsettledBytes -= message.bytes;
  }

  /** The broker has no messages for us before this offset: they were compacted or belong to an aborted transaction. */
  skipTo(offset: bigint): void {
    if (offset > this.position) this.position = offset;
  }

  /**
   * The wanted messages are gone and the broker continues here, so the offsets of messages in flight no longer mean
   * anything.
   */
  beginAt(offset: bigint): void {
    this.unsettled.clear();
    this.unsettledBytes = 0;
    this.position = offset;
  }

  /** Number of messages that are not read, or not on disk at every exporter. */
  get lag(): number {
    return this.end > this.commitOffset ? Number(this.end - this.commitOffset) : 0;
  }

  /** Where the next reader of the partition must start. */
  get commitOffset(): bigint {
    for (const first of this.unsettled) return first.offset;
    return this.position;
  }

  /** Whether there is an offset to commit. */
  get isCommitDue(): boolean {
    return this.commitOffset > this.committed;
  }
}

/** A message that was read and is not on disk at every exporter yet. */
export interface UnsettledMessage {
  readonly offset: bigint;
  readonly bytes: number;
}

export function partitionKey(topic: string, index: number): string {
  return `${topic}:${index}`;
}

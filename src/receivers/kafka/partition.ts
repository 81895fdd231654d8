/**
 * A partition that this receiver reads.
 *
 * Invariants:
 * - `position` is the offset behind the last message that was taken from the broker.
 * - Every message from `start` to `position` was settled, or is in `unsettled`.
 * - So everything in front of `commitOffset` is on disk behind every exporter, or was there before we began.
 */
export class Partition {
  readonly topic: string;
  readonly index: number;
  /** The id of the topic: one that is deleted and made again has another, and offsets that mean something else. */
  readonly topicId: string;
  position: bigint;
  /** What the broker has last been told. */
  committed: bigint;
  /** In the order of their offsets: they are added as they are read. */
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

  /** A message was taken from the broker. Give them in order. */
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

  /** The broker has nothing for us in front of this offset: what was there is compacted, or of a transaction that was aborted. */
  skipTo(offset: bigint): void {
    if (offset > this.position) this.position = offset;
  }

  /** What was to be read is gone, and the broker goes on here: the offsets of what is on its way mean nothing any more. */
  beginAt(offset: bigint): void {
    this.unsettled.clear();
    this.unsettledBytes = 0;
    this.position = offset;
  }

  /** Where whoever reads the partition next has to begin. */
  get commitOffset(): bigint {
    for (const first of this.unsettled) return first.offset;
    return this.position;
  }

  /** Whether there is something to tell the broker. */
  get isCommitDue(): boolean {
    return this.commitOffset > this.committed;
  }
}

/** A message that was read, and is not on disk behind every exporter yet. */
export interface UnsettledMessage {
  readonly offset: bigint;
  readonly bytes: number;
}

export function partitionKey(topic: string, index: number): string {
  return `${topic}:${index}`;
}

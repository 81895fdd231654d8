import type { Message } from "../bytes/messages.js";
import { WireWriter } from "../bytes/writer.js";
import type { Signal } from "../signals/signal.js";
import { DroppableView } from "./message-view.js";
import type { MetricView, ResourceView, ScopeView } from "./owner-views.js";

/** Gives a record access to its owners; called only when they are needed. */
export interface RecordOwners {
  resource(): ResourceView;
  scope(): ScopeView;
  metric(): MetricView;
}

/**
 * One log record, span or data point, for reading and editing in place. Valid until the function it was passed to
 * returns. Ids are lower-case hex (empty if absent), times are nanoseconds as bigint (0n if absent).
 */
export abstract class RecordView extends DroppableView {
  abstract readonly signal: Signal;
  /** The name of the event, span or metric. */
  abstract name: string;
  protected readonly owners: RecordOwners;
  private splitViews: this[] | undefined;

  constructor(message: Message, bytes: Uint8Array, start: number, end: number, owners: RecordOwners) {
    super(message, bytes, start, end);
    this.owners = owners;
  }

  /** Shared by all records of the resource: a change applies to every one of them. */
  get resource(): ResourceView {
    return this.owners.resource();
  }

  get scope(): ScopeView {
    return this.owners.scope();
  }

  /**
   * Splits this record: for each item, `edit` gets a copy of it with the changes made so far. The copies replace the
   * record; without items it is dropped. Later changes to the record itself have no effect. `edit` may return "drop" to
   * leave a part out; it must not be asynchronous.
   */
  split<T>(items: readonly T[], edit: (part: this, item: T, index: number) => unknown): void {
    const [bytes, start, end] = this.changed ? this.rewrittenBytes() : [this.bytes, this.start, this.end];
    this.splitViews = items.map((item, index) => {
      const part = this.viewOf(bytes, start, end);
      const answer = edit(part, item, index);
      if (answer === "drop") part.drop();
      if (answer instanceof Promise) throw new TypeError(SPLIT_IS_SYNCHRONOUS);
      return part;
    });
  }

  /** @internal The parts of a split record; undefined if it was not split. */
  get splitRecords(): readonly this[] | undefined {
    return this.splitViews;
  }

  /** A view of the same kind on other bytes. */
  protected abstract viewOf(bytes: Uint8Array, start: number, end: number): this;

  private rewrittenBytes(): [bytes: Uint8Array, start: number, end: number] {
    const writer = new WireWriter(this.end - this.start + 256);
    this.encodeInto(writer);
    return [writer.written(), 0, writer.length];
  }

  protected get owningMetric(): MetricView {
    return this.owners.metric();
  }

  protected text(tag: number): string {
    return (this.read(tag) as string | undefined) ?? "";
  }

  protected time(tag: number): bigint {
    return (this.read(tag) as bigint | undefined) ?? 0n;
  }

  protected number(tag: number): number {
    return (this.read(tag) as number | undefined) ?? 0;
  }
}

const SPLIT_IS_SYNCHRONOUS = "the function passed to split is asynchronous; fetch what it needs first, and then split";

/** An id as lower-case hex, whether it was read from the bytes or set as text. */
export function hex(bytes: unknown): string {
  if (typeof bytes === "string") return bytes.toLowerCase();
  return bytes === undefined ? "" : Buffer.from(bytes as Uint8Array).toString("hex");
}

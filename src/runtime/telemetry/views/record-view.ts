import type { Message } from "../messages.js";
import type { Signal } from "../signal.js";
import { PartView } from "./message-view.js";
import type { MetricView, ResourceView, ScopeView } from "./owners.js";

/** Where a record finds what it shares with its neighbours; asked only when somebody looks. */
export interface Owners {
  resource(): ResourceView;
  scope(): ScopeView;
  metric(): MetricView;
}

/**
 * One log record, span or data point, for reading and editing in place. Valid until the function it was given to is
 * done. Ids are lower-case hex (empty when absent), times are nanoseconds as bigint (0n when absent).
 */
export abstract class RecordView extends PartView {
  abstract readonly signal: Signal;
  /** The event's name, the span's name or the metric's name. */
  abstract name: string;
  private readonly owners: Owners;

  constructor(message: Message, bytes: Uint8Array, start: number, end: number, owners: Owners) {
    super(message, bytes, start, end);
    this.owners = owners;
  }

  /** Shared by all records of the resource: a change shows in every one of them. */
  get resource(): ResourceView {
    return this.owners.resource();
  }

  get scope(): ScopeView {
    return this.owners.scope();
  }

  protected get owningMetric(): MetricView {
    return this.owners.metric();
  }

  protected text(number: number): string {
    return (this.read(number) as string | undefined) ?? "";
  }

  protected time(number: number): bigint {
    return (this.read(number) as bigint | undefined) ?? 0n;
  }

  protected number(number: number): number {
    return (this.read(number) as number | undefined) ?? 0;
  }
}

/** An id as lower-case hex, whether it was read from the bytes or has just been set as text. */
export function hex(bytes: unknown): string {
  if (typeof bytes === "string") return bytes.toLowerCase();
  return bytes === undefined ? "" : Buffer.from(bytes as Uint8Array).toString("hex");
}

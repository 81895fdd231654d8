import { decodeMessage } from "../bytes/decode.js";
import type { Message } from "../bytes/messages.js";
import { DATA_POINT_START_TIME_TAG, DATA_POINT_TIME_TAG } from "../bytes/metric-tags.generated.js";
import type { MetricType, MetricView } from "./owner-views.js";
import { type RecordOwners, RecordView } from "./record-view.js";

/** One point of a metric of any type. `fields()` gives what only some types have, such as buckets and quantiles. */
export class DataPointView extends RecordView {
  readonly signal = "metrics";
  protected readonly attributesTag: number;

  constructor(message: Message, bytes: Uint8Array, start: number, end: number, owners: RecordOwners) {
    super(message, bytes, start, end, owners);
    this.attributesTag = message.attributesTag;
  }

  protected override viewOf(bytes: Uint8Array, start: number, end: number): this {
    return new DataPointView(this.message, bytes, start, end, this.owners) as this;
  }

  /** Shared by all points of the metric. */
  get metric(): MetricView {
    return this.owningMetric;
  }

  get type(): MetricType {
    return this.metric.type;
  }

  /** The metric's name. Setting it renames the metric with all its points. */
  get name(): string {
    return this.metric.name;
  }

  set name(value: string) {
    this.metric.name = value;
  }

  get startTimeUnixNano(): bigint {
    return this.time(DATA_POINT_START_TIME_TAG);
  }

  set startTimeUnixNano(value: bigint) {
    this.write(DATA_POINT_START_TIME_TAG, value);
  }

  get timeUnixNano(): bigint {
    return this.time(DATA_POINT_TIME_TAG);
  }

  set timeUnixNano(value: bigint) {
    this.write(DATA_POINT_TIME_TAG, value);
  }

  get flags(): number {
    return (this.get("flags") as number | undefined) ?? 0;
  }

  set flags(value: number) {
    this.setField("flags", value);
  }

  /** The value of a gauge or sum: a double as number, an integer as bigint; undefined if there is none. */
  get value(): number | bigint | undefined {
    return (this.get("asDouble") ?? this.get("asInt")) as number | bigint | undefined;
  }

  /** A number is written as a double, a bigint as an integer. */
  set value(value: number | bigint) {
    this.setField("asDouble", typeof value === "number" ? value : undefined);
    this.setField("asInt", typeof value === "bigint" ? value : undefined);
  }

  /** Set for histograms and summaries. */
  get count(): bigint | undefined {
    return this.get("count") as bigint | undefined;
  }

  /** Set for histograms and summaries. */
  get sum(): number | undefined {
    return this.get("sum") as number | undefined;
  }

  /** Every field of the point by its OTLP/JSON name, as in a tree, without the changes. */
  fields(): { readonly [field: string]: unknown } {
    return decodeMessage(this.message, this.bytes, this.start, this.end);
  }

  /** Sets any field of the point, except the attributes, by its OTLP/JSON name. */
  setField(name: string, value: unknown): void {
    if (name === "attributes")
      throw new TypeError("attributes are changed one by one: point.attributes.set(key, value)");
    const field = this.message.byName.get(name);
    if (field === undefined) {
      if (value !== undefined) throw new TypeError(`a ${this.message.name} has no field ${name}`);
      return;
    }
    this.write(field.tag, value);
  }

  private get(name: string): unknown {
    const field = this.message.byName.get(name);
    return field === undefined ? undefined : this.read(field.tag);
  }
}

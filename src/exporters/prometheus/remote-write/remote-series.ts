import type { Label } from "../labels.js";
import type { MetricOwner } from "../owners.js";

let lastId = 0;

/** The labels of one Prometheus series, including its name, in order, and its state within the present request. */
export class SampleLabels {
  readonly id = ++lastId;
  readonly labels: readonly Label[];
  /** The bytes before a sample's value in remote write 1.0, made on first use. */
  head: Uint8Array | undefined;
  /** The same as part of a Snappy block, valid after a sample of the series `packedAfter`. */
  packed: DataView | undefined;
  packedAfter = 0;
  request = 0;
  lastTimeMs = 0;

  constructor(labels: readonly Label[]) {
    this.labels = labels;
  }
}

/** Cached data of one OTLP series. A histogram or summary becomes several Prometheus series. */
export class RemoteSeries {
  readonly metric: MetricOwner;
  private readonly labels: readonly Label[];
  private readonly parts = new Map<string, SampleLabels>();
  private whole: SampleLabels | undefined;

  constructor(metric: MetricOwner, labels: readonly Label[]) {
    this.metric = metric;
    this.labels = labels;
  }

  /** The series with the metric's own name and no additional label. */
  get plain(): SampleLabels {
    return (this.whole ??= this.create("", undefined));
  }

  /** Returns the series with a suffix, and with a label in addition to the others. */
  part(suffix: string, label?: Label): SampleLabels {
    const key = label === undefined ? suffix : `${suffix} ${label[1]}`;
    const known = this.parts.get(key);
    if (known !== undefined) return known;
    const made = this.create(suffix, label);
    if (this.parts.size < MAX_PARTS) this.parts.set(key, made);
    return made;
  }

  private create(suffix: string, label: Label | undefined): SampleLabels {
    return labelsOf(`${this.metric.name}${suffix}`, label === undefined ? this.labels : [...this.labels, label]);
  }
}

/** Histograms with more buckets get their labels made anew for every point. */
const MAX_PARTS = 256;

export function labelsOf(name: string, labels: readonly Label[]): SampleLabels {
  const all: Label[] = [["__name__", name], ...labels];
  return new SampleLabels(all.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

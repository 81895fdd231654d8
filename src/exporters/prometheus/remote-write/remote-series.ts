import type { Label } from "../labels.js";
import type { MetricOwner } from "../owners.js";

let lastId = 0;

/** The labels of one series of Prometheus, name and all, in order; and how far the present request has come with it. */
export class SampleLabels {
  readonly id = ++lastId;
  readonly labels: readonly Label[];
  /** What remote write 1.0 has in front of the value of a sample, made when it is first needed. */
  head: Uint8Array | undefined;
  /** The same as a piece of a Snappy block, for where it stands behind a sample of the series `packedAfter`. */
  packed: DataView | undefined;
  packedAfter = 0;
  request = 0;
  lastTimeMs = 0;

  constructor(labels: readonly Label[]) {
    this.labels = labels;
  }
}

/** What was found out about a series of OTLP, which is several of Prometheus if it is a histogram or a summary. */
export class RemoteSeries {
  readonly metric: MetricOwner;
  private readonly labels: readonly Label[];
  private readonly parts = new Map<string, SampleLabels>();
  private whole: SampleLabels | undefined;

  constructor(metric: MetricOwner, labels: readonly Label[]) {
    this.metric = metric;
    this.labels = labels;
  }

  /** The series that has the metric's own name and nothing else. */
  get plain(): SampleLabels {
    return (this.whole ??= this.create("", undefined));
  }

  /** The one with a suffix, and with a label beside the others. */
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

/** Histograms with more buckets have their labels made anew for every point. */
const MAX_PARTS = 256;

export function labelsOf(name: string, labels: readonly Label[]): SampleLabels {
  const all: Label[] = [["__name__", name], ...labels];
  return new SampleLabels(all.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

import { encodeSnappyBlock } from "#codecs/compression";
import { WireWriter } from "#otlp/bytes";
import type { Label } from "../labels.js";
import type { MetricOwner } from "../owners.js";
import type { SampleLabels } from "./remote-series.js";
import { encodeLabels, SampleStream } from "./sample-stream.js";
import {
  EXEMPLAR_TIMESTAMP_TAG,
  EXEMPLAR_VALUE_TAG,
  SAMPLE_TIMESTAMP_TAG,
  SAMPLE_VALUE_TAG,
  V1_EXEMPLARS_TAG,
  V1_HISTOGRAMS_TAG,
  V1_METADATA_HELP_TAG,
  V1_METADATA_NAME_TAG,
  V1_METADATA_TAG,
  V1_METADATA_TYPE_TAG,
  V1_METADATA_UNIT_TAG,
  V1_SAMPLES_TAG,
  V1_TIMESERIES_TAG,
  V2_EXEMPLARS_TAG,
  V2_HISTOGRAMS_TAG,
  V2_LABELS_REFS_TAG,
  V2_METADATA_HELP_REF_TAG,
  V2_METADATA_TAG,
  V2_METADATA_TYPE_TAG,
  V2_METADATA_UNIT_REF_TAG,
  V2_SAMPLES_TAG,
  V2_SYMBOLS_TAG,
  V2_TIMESERIES_TAG,
} from "./tags.js";

/** A Prometheus exemplar. */
export interface RemoteExemplar {
  readonly labels: readonly Label[];
  readonly value: number;
  readonly timeMs: number;
}

/** One sample of one series: a number, or a native histogram. */
export interface RemoteSample {
  readonly labels: SampleLabels;
  readonly value: number;
  readonly timeMs: number;
  /** True if the series has ended. Prometheus marks that with a special NaN that a JavaScript number cannot hold. */
  readonly isStale: boolean;
  readonly histogram: Uint8Array | undefined;
  readonly exemplars: readonly RemoteExemplar[] | undefined;
  readonly metric: MetricOwner | undefined;
}

/** Writes the body of one request. */
export interface WriteRequestBody {
  /** Bytes before compression. */
  readonly size: number;
  add(sample: RemoteSample): void;
  /** Returns the body as a Snappy block. */
  finish(): Uint8Array;
}

const TYPES = { counter: 1, gauge: 2, histogram: 3, summary: 5 } as const;
const STALE_NAN = Buffer.from("020000000000f07f", "hex");
/** Up to this many bytes that are not plain numbers are compressed together. */
const MAX_GATHERED_BYTES = 65_536;

/** prometheus.WriteRequest of remote write 1.0. Labels are encoded once per series. */
export class WriteRequestV1 implements WriteRequestBody {
  private readonly samples = new SampleStream();
  /** Series with more than a number that are not in `samples` yet. */
  private readonly others = new WireWriter(1024);
  private readonly described: Set<string> | undefined;
  private readonly metadata = new WireWriter(1024);

  constructor(sendMetadata: boolean) {
    this.described = sendMetadata ? new Set() : undefined;
  }

  get size(): number {
    return this.samples.size + this.others.length + this.metadata.length;
  }

  add(sample: RemoteSample): void {
    const { labels, value, timeMs, isStale, metric } = sample;
    const isNumber = sample.histogram === undefined && sample.exemplars === undefined;
    if (isNumber && this.others.length > 0) this.addOthers();
    if (!isNumber || !this.samples.addNumber(labels, value, timeMs, isStale)) this.gather(sample);
    if (this.described !== undefined && metric !== undefined) this.describe(metric, this.described);
  }

  finish(): Uint8Array {
    if (this.others.length > 0) this.addOthers();
    if (this.metadata.length > 0) this.samples.addFields(this.metadata.written());
    return this.samples.finish();
  }

  private addOthers(): void {
    this.samples.addFields(this.others.written());
    this.others.clear();
  }

  private gather(sample: RemoteSample): void {
    const { others: out } = this;
    const labels = encodeLabels(sample.labels.labels);
    out.byte(V1_TIMESERIES_TAG);
    out.begin(labels.length + 24);
    out.copy(labels, 0, labels.length);
    writeValue(out, sample, V1_SAMPLES_TAG, V1_HISTOGRAMS_TAG);
    for (const exemplar of sample.exemplars ?? []) {
      out.byte(V1_EXEMPLARS_TAG);
      out.begin(64);
      const bytes = encodeLabels(exemplar.labels);
      out.copy(bytes, 0, bytes.length);
      writeExemplarValue(out, exemplar);
      out.end();
    }
    out.end();
    if (out.length >= MAX_GATHERED_BYTES) this.addOthers();
  }

  private describe({ name, type, help, unit }: MetricOwner, described: Set<string>): void {
    if (described.has(name)) return;
    described.add(name);
    const out = this.metadata;
    out.byte(V1_METADATA_TAG);
    out.begin();
    out.byte(V1_METADATA_TYPE_TAG);
    out.varint(TYPES[type]);
    for (const [tag, text] of [
      [V1_METADATA_NAME_TAG, name],
      [V1_METADATA_HELP_TAG, help],
      [V1_METADATA_UNIT_TAG, unit],
    ] as const) {
      out.byte(tag);
      out.text(text);
    }
    out.end();
  }
}

/** io.prometheus.write.v2.Request of remote write 2.0: each text is stored once and referred to by number. */
export class WriteRequestV2 implements WriteRequestBody {
  private readonly out = new WireWriter(65_536);
  private readonly symbols = new Map<string, number>([["", 0]]);
  private symbolBytes = 0;

  get size(): number {
    return this.out.length + this.symbolBytes;
  }

  add(sample: RemoteSample): void {
    const { out } = this;
    out.byte(V2_TIMESERIES_TAG);
    out.begin(64);
    this.writeRefs(sample.labels.labels);
    writeValue(out, sample, V2_SAMPLES_TAG, V2_HISTOGRAMS_TAG);
    for (const exemplar of sample.exemplars ?? []) {
      out.byte(V2_EXEMPLARS_TAG);
      out.begin(32);
      this.writeRefs(exemplar.labels);
      writeExemplarValue(out, exemplar);
      out.end();
    }
    if (sample.metric !== undefined) this.describe(sample.metric);
    out.end();
  }

  finish(): Uint8Array {
    const head = new WireWriter(this.symbolBytes + this.symbols.size * 4 + this.out.length);
    for (const symbol of this.symbols.keys()) {
      head.byte(V2_SYMBOLS_TAG);
      head.text(symbol);
    }
    head.copy(this.out.bytes, 0, this.out.length);
    return encodeSnappyBlock(head.written());
  }

  private writeRefs(labels: readonly Label[]): void {
    const { out } = this;
    out.byte(V2_LABELS_REFS_TAG);
    out.begin(labels.length * 2);
    for (const [name, value] of labels) {
      out.varint(this.ref(name));
      out.varint(this.ref(value));
    }
    out.end();
  }

  private describe({ type, help, unit }: MetricOwner): void {
    const { out } = this;
    out.byte(V2_METADATA_TAG);
    out.begin(8);
    out.byte(V2_METADATA_TYPE_TAG);
    out.varint(TYPES[type]);
    out.byte(V2_METADATA_HELP_REF_TAG);
    out.varint(this.ref(help));
    out.byte(V2_METADATA_UNIT_REF_TAG);
    out.varint(this.ref(unit));
    out.end();
  }

  private ref(text: string): number {
    const known = this.symbols.get(text);
    if (known !== undefined) return known;
    const ref = this.symbols.size;
    this.symbols.set(text, ref);
    this.symbolBytes += text.length + 2;
    return ref;
  }
}

function writeValue(out: WireWriter, sample: RemoteSample, sampleTag: number, histogramTag: number): void {
  const { histogram } = sample;
  if (histogram !== undefined) {
    out.byte(histogramTag);
    out.lengthDelimited(histogram);
    return;
  }
  out.byte(sampleTag);
  out.begin(16);
  out.byte(SAMPLE_VALUE_TAG);
  if (sample.isStale) out.copy(STALE_NAN, 0, 8);
  else out.double(sample.value);
  out.byte(SAMPLE_TIMESTAMP_TAG);
  out.varintOfNumber(sample.timeMs);
  out.end();
}

function writeExemplarValue(out: WireWriter, { value, timeMs }: RemoteExemplar): void {
  out.byte(EXEMPLAR_VALUE_TAG);
  out.double(value);
  out.byte(EXEMPLAR_TIMESTAMP_TAG);
  out.varintOfNumber(timeMs);
}

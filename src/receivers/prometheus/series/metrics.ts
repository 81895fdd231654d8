import { isIP } from "node:net";
import { nextOwnerId, ucumUnit } from "#metrics";
import { WireWriter, writeKeyValue } from "#otlp/bytes";
import {
  EXPONENTIAL_ATTRIBUTES_TAG,
  EXPONENTIAL_FLAGS_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  GAUGE_TAG,
  HISTOGRAM_ATTRIBUTES_TAG,
  HISTOGRAM_FLAGS_TAG,
  HISTOGRAM_TAG,
  METRIC_DESCRIPTION_TAG,
  METRIC_METADATA_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  NUMBER_ATTRIBUTES_TAG,
  NUMBER_FLAGS_TAG,
  SUM_TAG,
  SUMMARY_ATTRIBUTES_TAG,
  SUMMARY_FLAGS_TAG,
  SUMMARY_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import { RESOURCE_ATTRIBUTES_TAG, SCOPE_ATTRIBUTES_TAG, SCOPE_NAME_TAG, SCOPE_VERSION_TAG } from "#otlp/tags";
import type { LabelPair } from "../exposition/series-text.js";
import type { ScrapedType } from "./families.js";

/**
 * The parts of an OTLP metric: the tag of its data, the tags of attributes and flags in its points, and the data's
 * fields besides points.
 */
interface MetricShape {
  readonly dataTag: number;
  readonly attributesTag: number;
  readonly flagsTag: number;
  readonly rest: readonly number[];
  /** Whether its points have a start time. */
  readonly isCumulative: boolean;
}

/** The encoded field AggregationTemporality: CUMULATIVE. */
const CUMULATIVE = [TEMPORALITY_TAG, 2];

const NUMBER_POINTS = { attributesTag: NUMBER_ATTRIBUTES_TAG, flagsTag: NUMBER_FLAGS_TAG };

const METRIC_SHAPES = {
  gauge: { dataTag: GAUGE_TAG, ...NUMBER_POINTS, rest: [], isCumulative: false },
  counter: { dataTag: SUM_TAG, ...NUMBER_POINTS, rest: [...CUMULATIVE, MONOTONIC_TAG, 1], isCumulative: true },
  /** A sum that may decrease, as the Collector writes OpenMetrics's `info` and `stateset`. */
  upDown: { dataTag: SUM_TAG, ...NUMBER_POINTS, rest: CUMULATIVE, isCumulative: false },
  histogram: {
    dataTag: HISTOGRAM_TAG,
    attributesTag: HISTOGRAM_ATTRIBUTES_TAG,
    flagsTag: HISTOGRAM_FLAGS_TAG,
    rest: CUMULATIVE,
    isCumulative: true,
  },
  exponential: {
    dataTag: EXPONENTIAL_HISTOGRAM_TAG,
    attributesTag: EXPONENTIAL_ATTRIBUTES_TAG,
    flagsTag: EXPONENTIAL_FLAGS_TAG,
    rest: CUMULATIVE,
    isCumulative: true,
  },
  summary: {
    dataTag: SUMMARY_TAG,
    attributesTag: SUMMARY_ATTRIBUTES_TAG,
    flagsTag: SUMMARY_FLAGS_TAG,
    rest: [],
    isCumulative: true,
  },
} as const satisfies Readonly<Record<string, MetricShape>>;

export type ShapeName = keyof typeof METRIC_SHAPES;

/** The resource of metrics, from a job and an instance: the target's, unless labels of its series are honoured. */
export class ScrapedResource {
  /** An id that is unique in this process. */
  readonly id = nextOwnerId();
  private readonly base: ReadonlyMap<string, string>;
  private info: readonly LabelPair[] | undefined;
  private infoScrape = -1;
  private encoded: Buffer | undefined;

  constructor(job: string, instance: string, scheme: string, more: readonly LabelPair[]) {
    this.base = new Map([...resourceAttributes(job, instance, scheme), ...more]);
  }

  /** Sets the attributes that the target reports about itself in this scrape, with `target_info`. */
  setTargetInfo(info: readonly LabelPair[], scrape: number): void {
    this.infoScrape = scrape;
    if (info !== this.info) this.encoded = undefined;
    this.info = info;
  }

  /** The body of a Resource. */
  bytes(scrape: number): Buffer {
    if (this.info !== undefined && this.infoScrape !== scrape) this.info = this.encoded = undefined;
    this.encoded ??= Buffer.from(
      encodeAttributes(new Map([...this.base, ...(this.info ?? [])]), RESOURCE_ATTRIBUTES_TAG),
    );
    return this.encoded;
  }
}

function* resourceAttributes(job: string, instance: string, scheme: string): Generator<LabelPair> {
  const [host, port] = splitAddress(instance);
  yield ["service.name", job];
  if (identifiesHost(host)) yield ["server.address", host];
  yield ["service.instance.id", instance];
  if (port !== "") yield ["server.port", port];
  yield ["url.scheme", scheme];
}

function splitAddress(address: string): [host: string, port: string] {
  const match = /^(.*):(\d*)$/.exec(address);
  if (match === null) return [address, ""];
  const [, host = "", port = ""] = match;
  return [host.replace(/^\[(.*)\]$/, "$1"), port];
}

/** Whether the address identifies a machine. Loopback and wildcard addresses do not. */
function identifiesHost(host: string): boolean {
  if (host === "" || host === "localhost") return false;
  return isIP(host) === 0 || !/^(127\.|0\.0\.0\.0$|::1?$)/.test(host);
}

/** A scope of a resource, and its metrics. */
export class ScrapedScope {
  readonly resource: ScrapedResource;
  readonly scope: Buffer;
  readonly schemaUrl: string;
  readonly metrics = new Map<string, Metric>();

  constructor(
    resource: ScrapedResource,
    name: string,
    version: string,
    schemaUrl: string,
    attributes: readonly LabelPair[],
  ) {
    this.resource = resource;
    this.schemaUrl = schemaUrl;
    const writer = new WireWriter(64);
    if (name !== "") {
      writer.byte(SCOPE_NAME_TAG);
      writer.text(name);
    }
    if (version !== "") {
      writer.byte(SCOPE_VERSION_TAG);
      writer.text(version);
    }
    this.scope = Buffer.concat([writer.written(), encodeAttributes(attributes, SCOPE_ATTRIBUTES_TAG)]);
  }
}

/** Metadata of a metric. */
export interface FamilyMetadata {
  readonly type: ScrapedType;
  readonly help: string;
  readonly unit: string;
  /** Increases when help or unit change. */
  readonly version: number;
}

/** An OTLP metric: the data shared by all of its points, encoded once. */
export class Metric {
  readonly id: number;
  readonly owner: ScrapedScope;
  readonly name: string;
  readonly shapeName: ShapeName;
  readonly shape: MetricShape;
  /** The number of its cached point series. */
  series = 0;
  /** While a scrape is written: the number of its points, and the index for its next point in the sorted list. */
  points = 0;
  next = 0;
  private readonly type: ScrapedType;
  private readonly family: FamilyMetadata | undefined;
  private version = -1;
  private encoded: Buffer = Buffer.alloc(0);

  constructor(
    id: number,
    owner: ScrapedScope,
    name: string,
    shape: ShapeName,
    type: ScrapedType,
    family?: FamilyMetadata,
  ) {
    this.id = id;
    this.owner = owner;
    this.name = name;
    this.shapeName = shape;
    this.shape = METRIC_SHAPES[shape];
    this.type = type;
    this.family = family;
  }

  get key(): string {
    return metricKey(this.name, this.shapeName, this.type);
  }

  /** Name, description, unit and metadata of a Metric. */
  head(): Buffer {
    const version = this.family?.version ?? 0;
    if (version !== this.version) {
      this.version = version;
      this.encoded = this.encodeHead();
    }
    return this.encoded;
  }

  private encodeHead(): Buffer {
    const writer = new WireWriter(256);
    writer.byte(METRIC_NAME_TAG);
    writer.text(this.name);
    for (const [tag, text] of [
      [METRIC_DESCRIPTION_TAG, this.family?.help ?? ""],
      [METRIC_UNIT_TAG, ucumUnit(this.family?.unit ?? "")],
    ] as const) {
      if (text === "") continue;
      writer.byte(tag);
      writer.text(text);
    }
    writer.byte(METRIC_METADATA_TAG);
    writer.begin();
    writeKeyValue(writer, "prometheus.type", this.type === "nativehistogram" ? "histogram" : this.type);
    writer.end();
    return Buffer.from(writer.written());
  }
}

export function metricKey(name: string, shape: ShapeName, type: ScrapedType): string {
  return `${name}\0${shape}\0${type}`;
}

/** Encodes attributes as repeated KeyValue messages with this tag. The bytes are valid until the next call. */
export function encodeAttributes(attributes: Iterable<LabelPair>, tag: number): Uint8Array {
  attributeWriter.clear();
  for (const [name, value] of attributes) {
    attributeWriter.byte(tag);
    attributeWriter.begin();
    writeKeyValue(attributeWriter, name, value);
    attributeWriter.end();
  }
  return attributeWriter.written();
}

const attributeWriter = new WireWriter(1024);

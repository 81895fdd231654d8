import { isIP } from "node:net";
import { nextOwnerId, ucumUnit } from "#metrics";
import { WireWriter, writeKeyValue } from "#otlp/bytes";
import type { LabelPair } from "../exposition/series-text.js";
import type { ScrapedType } from "./families.js";

/** What a metric of OTLP is made of: the tag of its data, the tag of attributes in its points, and what its data says beside points. */
interface MetricShape {
  readonly dataTag: number;
  readonly attributesTag: number;
  readonly rest: readonly number[];
  /** Its points count from a start on. */
  readonly isCumulative: boolean;
}

/** AggregationTemporality is CUMULATIVE. */
const CUMULATIVE = [16, 2];

export const METRIC_SHAPES = {
  gauge: { dataTag: 42, attributesTag: 58, rest: [], isCumulative: false },
  counter: { dataTag: 58, attributesTag: 58, rest: [...CUMULATIVE, 24, 1], isCumulative: true },
  /** A sum that may go down, as OpenMetrics's `info` and `stateset` are in the Collector. */
  upDown: { dataTag: 58, attributesTag: 58, rest: CUMULATIVE, isCumulative: false },
  histogram: { dataTag: 74, attributesTag: 74, rest: CUMULATIVE, isCumulative: true },
  exponential: { dataTag: 82, attributesTag: 10, rest: CUMULATIVE, isCumulative: true },
  summary: { dataTag: 90, attributesTag: 58, rest: [], isCumulative: true },
} as const satisfies Readonly<Record<string, MetricShape>>;

export type ShapeName = keyof typeof METRIC_SHAPES;

/** Where metrics come from: a job and an instance, which are those of the target unless its own labels are honoured. */
export class ScrapedResource {
  /** Tells it from others of the same process. */
  readonly id = nextOwnerId();
  private readonly base: ReadonlyMap<string, string>;
  private info: readonly LabelPair[] | undefined;
  private infoScrape = -1;
  private encoded: Buffer | undefined;

  constructor(job: string, instance: string, scheme: string, more: readonly LabelPair[]) {
    this.base = new Map([...resourceAttributes(job, instance, scheme), ...more]);
  }

  /** Attributes that the target tells of itself, as `target_info`, in this scrape. */
  tell(info: readonly LabelPair[], scrape: number): void {
    this.infoScrape = scrape;
    if (info !== this.info) this.encoded = undefined;
    this.info = info;
  }

  /** The body of a Resource. */
  bytes(scrape: number): Buffer {
    if (this.info !== undefined && this.infoScrape !== scrape) this.info = this.encoded = undefined;
    this.encoded ??= Buffer.from(encodeAttributes(new Map([...this.base, ...(this.info ?? [])]), 10));
    return this.encoded;
  }
}

function* resourceAttributes(job: string, instance: string, scheme: string): Generator<LabelPair> {
  const [host, port] = splitAddress(instance);
  yield ["service.name", job];
  if (isTelling(host)) yield ["server.address", host];
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

/** An address that means another machine on every machine says nothing. */
function isTelling(host: string): boolean {
  if (host === "" || host === "localhost") return false;
  return isIP(host) === 0 || !/^(127\.|0\.0\.0\.0$|::1?$)/.test(host);
}

/** A scope of a resource, and its metrics. */
export class ScrapedScope {
  readonly resource: ScrapedResource;
  readonly scope: Buffer;
  readonly schemaUrl: string;
  readonly metrics = new Map<string, Metric>();

  constructor(resource: ScrapedResource, name: string, version: string, schemaUrl: string) {
    this.resource = resource;
    this.schemaUrl = schemaUrl;
    const writer = new WireWriter(64);
    if (name !== "") {
      writer.byte(10);
      writer.text(name);
    }
    if (version !== "") {
      writer.byte(18);
      writer.text(version);
    }
    this.scope = Buffer.from(writer.written());
  }
}

/** What a metric is told of itself. */
export interface FamilyMetadata {
  readonly type: ScrapedType;
  readonly help: string;
  readonly unit: string;
  /** Grows when help or unit change. */
  readonly version: number;
}

/** A metric of OTLP: what all of its points share, encoded once. */
export class Metric {
  readonly id: number;
  readonly owner: ScrapedScope;
  readonly name: string;
  readonly shapeName: ShapeName;
  readonly shape: MetricShape;
  /** How many cached series of points it has. */
  series = 0;
  /** Of the scrape that is being written: how many points it has, and where the next of them is listed. */
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
    writer.byte(10);
    writer.text(this.name);
    for (const [tag, text] of [
      [18, this.family?.help ?? ""],
      [26, ucumUnit(this.family?.unit ?? "")],
    ] as const) {
      if (text === "") continue;
      writer.byte(tag);
      writer.text(text);
    }
    writer.byte(98);
    writer.begin();
    writeKeyValue(writer, "prometheus.type", this.type === "nativehistogram" ? "histogram" : this.type);
    writer.end();
    return Buffer.from(writer.written());
  }
}

export function metricKey(name: string, shape: ShapeName, type: ScrapedType): string {
  return `${name}\0${shape}\0${type}`;
}

/** Attributes as repeated KeyValue messages, each behind this tag. The bytes are good until the next call. */
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

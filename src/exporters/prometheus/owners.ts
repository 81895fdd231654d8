import { AttributeKey, type MetricKind, metricName, nextOwnerId, OwnerTable, type PrometheusNameRules } from "#metrics";
import { after, decodeText, skip, varint } from "#otlp/bytes";
import { RESOURCE_ATTRIBUTES_TAG, SCOPE_ATTRIBUTES_TAG } from "#otlp/tags";
import { type MetricData, message } from "#otlp/views";
import { type Label, LabelSet, type RawAttribute, readAttributes } from "./labels.js";

/** How resources, scopes and metrics become names and labels. */
export interface OwnerSettings {
  readonly rules: PrometheusNameRules;
  /** Make labels of resource attributes; of service.* too. */
  readonly resourceToLabels: boolean;
  readonly excludeServiceAttributes: boolean;
  readonly withScope: boolean;
  /** Added where nothing else has the name. */
  readonly constLabels: readonly Label[];
}

export interface ResourceOwner {
  readonly id: number;
  /** What of it every series gets as attributes, over their own. */
  readonly attributes: readonly RawAttribute[];
  /** `job` and `instance`. */
  readonly identity: readonly Label[];
  /** The same for those of the same identity. */
  readonly targetKey: string;
  /** All its other attributes as labels, with its identity: those of `target_info`. */
  readonly targetLabels: readonly Label[];
  readonly hasOtherAttributes: boolean;
}

interface ScopeOwner {
  readonly id: number;
  readonly resource: ResourceOwner;
  readonly labels: readonly Label[];
}

/** The types that Prometheus knows. */
export type FamilyType = "gauge" | "counter" | "histogram" | "summary";

export interface MetricOwner {
  readonly id: number;
  readonly resource: ResourceOwner;
  readonly scopeLabels: readonly Label[];
  /** As Prometheus calls it; empty when nothing of its name can stay. */
  readonly name: string;
  readonly originalName: string;
  readonly type: FamilyType;
  readonly help: string;
  readonly unit: string;
  readonly dataTag: number;
  readonly isDelta: boolean;
  /** Why its points cannot be shown at all. */
  readonly problem: string | undefined;
}

const GAUGE = 42;
const SUM = 58;
const SUMMARY = 90;
const CUMULATIVE = 2;
const DELTA = 1;
/** So many schema URLs are told apart at no cost. */
const MAX_URLS = 1024;

/** Reads what points share, once for the same bytes. */
export class OwnerReader {
  private readonly settings: OwnerSettings;
  private readonly resources = new OwnerTable<ResourceOwner>();
  private readonly scopes = new OwnerTable<ScopeOwner>();
  private readonly metrics = new OwnerTable<MetricOwner>();
  private readonly attributeKey = new AttributeKey();
  private readonly urls = new Map<string, number>();

  constructor(settings: OwnerSettings) {
    this.settings = settings;
  }

  resource(b: Uint8Array, start: number, end: number): ResourceOwner {
    const known = this.resources.find(0, b, start, end);
    return known ?? this.resources.add(0, b, start, end, this.readResource(b, start, end));
  }

  /** `schemaUrl` is a range of text. */
  scope(
    resource: ResourceOwner,
    b: Uint8Array,
    start: number,
    end: number,
    urlStart: number,
    urlEnd: number,
  ): ScopeOwner {
    const url = this.settings.withScope ? decodeText(b, urlStart, urlEnd) : "";
    const parent = resource.id + this.urlNumber(url) / MAX_URLS; // the same scope with another URL is another one
    const known = this.scopes.find(parent, b, start, end);
    if (known !== undefined && hasUrl(known, url)) return known;
    const owner = { id: nextOwnerId(), resource, labels: this.scopeLabels(b, start, end, url) };
    return known === undefined ? this.scopes.add(parent, b, start, end, owner) : owner;
  }

  metric(scope: ScopeOwner, b: Uint8Array, start: number, end: number, data: MetricData): MetricOwner {
    const { temporality, isMonotonic } = readSumKind(b, data.start, data.end);
    // Whatever stands behind the data makes a difference only where it is a name, which it never is in practice.
    const isPlain = data.end === end;
    const parent = ((scope.id * 128 + data.tag) * 4 + (temporality & 3)) * 2 + (isMonotonic ? 1 : 0);
    const known = isPlain ? this.metrics.find(parent, b, start, data.at) : undefined;
    if (known !== undefined) return known;
    const owner = this.readMetric(scope, b, start, end, data.tag, temporality, isMonotonic);
    return isPlain ? this.metrics.add(parent, b, start, data.at, owner) : owner;
  }

  /** The labels of a series: its attributes lie in a run of fields. */
  labels(metric: MetricOwner, b: Uint8Array, start: number, end: number): Label[] {
    const own = readAttributes(b, start, end);
    const { attributes } = metric.resource;
    const all = attributes.length === 0 ? own : [...new Map([...own, ...attributes])];
    return new LabelSet(this.settings.rules)
      .add(metric.resource.identity)
      .add(metric.scopeLabels)
      .addAttributes(all)
      .add(this.settings.constLabels)
      .sorted();
  }

  private urlNumber(url: string): number {
    if (url === "") return 0;
    const known = this.urls.get(url);
    if (known !== undefined) return known;
    const number = Math.min(this.urls.size + 1, MAX_URLS - 1);
    if (number < MAX_URLS - 1) this.urls.set(url, number);
    return number;
  }

  private readResource(b: Uint8Array, start: number, end: number): ResourceOwner {
    const { rules, resourceToLabels, excludeServiceAttributes, constLabels } = this.settings;
    const all = this.attributesOf(b, start, end, RESOURCE_ATTRIBUTES_TAG);
    const others = all.filter(([key]) => !SERVICE_ATTRIBUTES.has(key));
    const identity = identityOf(new Map(all));
    const converted = excludeServiceAttributes ? others : all;
    return {
      id: nextOwnerId(),
      attributes: resourceToLabels ? converted : [],
      identity,
      targetKey: JSON.stringify(identity),
      targetLabels: new LabelSet(rules).add(identity).addAttributes(others).add(constLabels).sorted(),
      hasOtherAttributes: others.length > 0,
    };
  }

  private scopeLabels(b: Uint8Array, start: number, end: number, url: string): Label[] {
    if (!this.settings.withScope) return [];
    const text = (tag: number) => decodeText(b, ...message(b, start, end, tag));
    const attributes = this.attributesOf(b, start, end, SCOPE_ATTRIBUTES_TAG)
      .filter(([key]) => key !== "name" && key !== "version" && key !== "schema_url")
      .map(([key, value]): RawAttribute => [`otel_scope_${key}`, value]);
    return new LabelSet(this.settings.rules)
      .add([
        ["otel_scope_name", text(10)],
        ["otel_scope_version", text(18)],
        ["otel_scope_schema_url", url],
      ])
      .addAttributes(attributes)
      .sorted();
  }

  private readMetric(
    { id: _, resource, labels }: ScopeOwner,
    b: Uint8Array,
    start: number,
    end: number,
    dataTag: number,
    temporality: number,
    isMonotonic: boolean,
  ): MetricOwner {
    const text = (tag: number) => decodeText(b, ...message(b, start, end, tag));
    const originalName = text(10);
    const unit = text(26);
    const type = familyType(dataTag, isMonotonic);
    const kind: MetricKind = type === "counter" ? "counter" : dataTag === GAUGE ? "gauge" : "other";
    const name = metricName(originalName, unit, kind, this.settings.rules);
    return {
      id: nextOwnerId(),
      resource,
      scopeLabels: labels,
      name,
      originalName,
      type,
      help: text(18),
      unit,
      dataTag,
      isDelta: temporality === DELTA,
      problem: problemOf(name, dataTag, temporality),
    };
  }

  private attributesOf(b: Uint8Array, start: number, end: number, attributesTag: number): RawAttribute[] {
    const key = this.attributeKey;
    key.begin(b);
    for (let p = start; p < end; ) {
      const at = p;
      const tag = varint(b, p);
      const lengthAt = after;
      p = skip(b, lengthAt, tag);
      if (tag !== attributesTag) continue;
      varint(b, lengthAt);
      key.add(at, after, p);
    }
    key.finish();
    return readAttributes(key.bytes, key.start, key.end);
  }
}

const SERVICE_ATTRIBUTES: ReadonlySet<string> = new Set(["service.name", "service.namespace", "service.instance.id"]);

function identityOf(attributes: ReadonlyMap<string, string>): Label[] {
  const name = attributes.get("service.name") ?? "";
  const namespace = attributes.get("service.namespace");
  const job = name === "" || namespace === undefined ? name : `${namespace}/${name}`;
  const instance = attributes.get("service.instance.id") ?? "";
  return (
    [
      ["job", job],
      ["instance", instance],
    ] as const
  ).filter(([, value]) => value !== "");
}

function hasUrl({ labels }: ScopeOwner, url: string): boolean {
  return (labels.find(([name]) => name === "otel_scope_schema_url")?.[1] ?? "") === url;
}

function familyType(dataTag: number, isMonotonic: boolean): FamilyType {
  if (dataTag === GAUGE) return "gauge";
  if (dataTag === SUM) return isMonotonic ? "counter" : "gauge";
  return dataTag === SUMMARY ? "summary" : "histogram";
}

function problemOf(name: string, dataTag: number, temporality: number): string | undefined {
  if (name === "") return "its name has no character that Prometheus knows";
  if (dataTag === GAUGE || dataTag === SUMMARY || temporality === CUMULATIVE || temporality === DELTA) return undefined;
  return "it does not say whether it is cumulative or delta";
}

/** The temporality of sums and histograms, and whether a sum only grows. */
function readSumKind(b: Uint8Array, start: number, end: number): { temporality: number; isMonotonic: boolean } {
  let temporality = 0;
  let isMonotonic = false;
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag === 16) temporality = varint(b, at);
    else if (tag === 24) isMonotonic = varint(b, at) !== 0;
  }
  return { temporality, isMonotonic };
}

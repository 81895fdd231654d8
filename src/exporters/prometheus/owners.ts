import { AttributeKey, type MetricKind, metricName, nextOwnerId, OwnerTable, type PrometheusNameRules } from "#metrics";
import { decodeText, fieldTag, message, stepOver, valueAt, varint } from "#otlp/bytes";
import {
  GAUGE_TAG,
  METRIC_DESCRIPTION_TAG,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  SUM_TAG,
  SUMMARY_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import { RESOURCE_ATTRIBUTES_TAG, SCOPE_ATTRIBUTES_TAG, SCOPE_NAME_TAG, SCOPE_VERSION_TAG } from "#otlp/tags";
import type { MetricData } from "#otlp/views";
import { type Label, LabelSet, type RawAttribute, readAttributes } from "./labels.js";

/** Settings for turning resources, scopes and metrics into names and labels. */
export interface OwnerSettings {
  readonly rules: PrometheusNameRules;
  /** Whether resource attributes become labels, and whether service.* attributes are excluded from that. */
  readonly resourceToLabels: boolean;
  readonly excludeServiceAttributes: boolean;
  readonly withScope: boolean;
  /** Labels added where no other label has the name. */
  readonly constLabels: readonly Label[];
  /** Those that `target_info` has too: external labels, but not constant ones. */
  readonly targetConstLabels: readonly Label[];
}

export interface ResourceOwner {
  readonly id: number;
  /** Resource attributes that every series gets. They win over the series' own attributes. */
  readonly attributes: readonly RawAttribute[];
  /** `job` and `instance`. */
  readonly identity: readonly Label[];
  /** Equal for resources with the same identity. */
  readonly targetKey: string;
  /** All other attributes as labels, together with the identity: the labels of `target_info`. */
  readonly targetLabels: readonly Label[];
  readonly hasOtherAttributes: boolean;
}

interface ScopeOwner {
  readonly id: number;
  readonly resource: ResourceOwner;
  readonly labels: readonly Label[];
}

/** The metric types of Prometheus. */
export type FamilyType = "gauge" | "counter" | "histogram" | "summary";

export interface MetricOwner {
  readonly id: number;
  readonly resource: ResourceOwner;
  readonly scopeLabels: readonly Label[];
  /** The Prometheus name; empty if nothing of the original name is valid. */
  readonly name: string;
  readonly originalName: string;
  readonly type: FamilyType;
  readonly help: string;
  readonly unit: string;
  readonly dataTag: number;
  readonly isDelta: boolean;
  /** The reason why its points cannot be shown at all. */
  readonly problem: string | undefined;
}

const CUMULATIVE = 2;
const DELTA = 1;
/** Up to this many schema URLs are told apart by a number. */
const MAX_URLS = 1024;

/** Reads the properties that points share, once for equal bytes. */
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
    const parent = resource.id + this.urlNumber(url) / MAX_URLS; // the same scope with another schema URL is a different scope
    const known = this.scopes.find(parent, b, start, end);
    if (known !== undefined && hasSchemaUrl(known, url)) return known;
    const owner = { id: nextOwnerId(), resource, labels: this.scopeLabels(b, start, end, url) };
    return known === undefined ? this.scopes.add(parent, b, start, end, owner) : owner;
  }

  metric(scope: ScopeOwner, b: Uint8Array, start: number, end: number, data: MetricData): MetricOwner {
    const { temporality, isMonotonic } = readSumKind(b, data.start, data.end);
    // Fields after the data matter only if they include a name, which does not occur in practice.
    const isPlain = data.end === end;
    const parent = ((scope.id * 128 + data.tag) * 4 + (temporality & 3)) * 2 + (isMonotonic ? 1 : 0);
    const known = isPlain ? this.metrics.find(parent, b, start, data.at) : undefined;
    if (known !== undefined) return known;
    const owner = this.readMetric(scope, b, start, end, data.tag, temporality, isMonotonic);
    return isPlain ? this.metrics.add(parent, b, start, data.at, owner) : owner;
  }

  /** Returns the labels of a series, whose attributes lie in a run of fields. */
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
    const { rules, resourceToLabels, excludeServiceAttributes, targetConstLabels } = this.settings;
    const all = this.attributesOf(b, start, end, RESOURCE_ATTRIBUTES_TAG);
    const others = all.filter(([key]) => !SERVICE_ATTRIBUTES.has(key));
    const identity = identityOf(new Map(all));
    const converted = excludeServiceAttributes ? others : all;
    return {
      id: nextOwnerId(),
      attributes: resourceToLabels ? converted : [],
      identity,
      targetKey: JSON.stringify(identity),
      targetLabels: new LabelSet(rules).add(identity).addAttributes(others).add(targetConstLabels).sorted(),
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
        ["otel_scope_name", text(SCOPE_NAME_TAG)],
        ["otel_scope_version", text(SCOPE_VERSION_TAG)],
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
    const originalName = text(METRIC_NAME_TAG);
    const unit = text(METRIC_UNIT_TAG);
    const type = familyType(dataTag, isMonotonic);
    const kind: MetricKind = type === "counter" ? "counter" : dataTag === GAUGE_TAG ? "gauge" : "other";
    const name = metricName(originalName, unit, kind, this.settings.rules);
    return {
      id: nextOwnerId(),
      resource,
      scopeLabels: labels,
      name,
      originalName,
      type,
      help: text(METRIC_DESCRIPTION_TAG),
      unit,
      dataTag,
      isDelta: temporality === DELTA,
      problem: problemOf(name, dataTag, temporality),
    };
  }

  private attributesOf(b: Uint8Array, start: number, end: number, attributesTag: number): RawAttribute[] {
    const key = this.attributeKey;
    key.begin(b);
    key.addAll(start, end, attributesTag);
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

function hasSchemaUrl({ labels }: ScopeOwner, url: string): boolean {
  return (labels.find(([name]) => name === "otel_scope_schema_url")?.[1] ?? "") === url;
}

function familyType(dataTag: number, isMonotonic: boolean): FamilyType {
  if (dataTag === GAUGE_TAG) return "gauge";
  if (dataTag === SUM_TAG) return isMonotonic ? "counter" : "gauge";
  return dataTag === SUMMARY_TAG ? "summary" : "histogram";
}

function problemOf(name: string, dataTag: number, temporality: number): string | undefined {
  if (name === "") return "its name has no character that Prometheus allows";
  if (dataTag === GAUGE_TAG || dataTag === SUMMARY_TAG || temporality === CUMULATIVE || temporality === DELTA)
    return undefined;
  return "it does not say whether it is cumulative or delta";
}

/** Reads the temporality of sums and histograms, and whether a sum is monotonic. */
function readSumKind(b: Uint8Array, start: number, end: number): { temporality: number; isMonotonic: boolean } {
  let temporality = 0;
  let isMonotonic = false;
  for (let p = start; p < end; ) {
    p = stepOver(b, p);
    if (fieldTag === TEMPORALITY_TAG) temporality = varint(b, valueAt);
    else if (fieldTag === MONOTONIC_TAG) isMonotonic = varint(b, valueAt) !== 0;
  }
  return { temporality, isMonotonic };
}

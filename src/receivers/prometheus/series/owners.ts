import type { LabelPair } from "../exposition/series-text.js";
import type { Labels } from "../relabel.js";
import { type FamilyMetadata, Metric, metricKey, ScrapedResource, ScrapedScope, type ShapeName } from "./metrics.js";

/** With `honor_labels` the series of a target may name other jobs and instances; this limits their number. */
const MAX_RESOURCES = 100_000;

/** The scope of series that name none. Backends group by it, so it has the Collector's name. */
const RECEIVER_SCOPE = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/prometheusreceiver";

/** Labels that begin with this are attributes of the scope. */
const SCOPE_PREFIX = "otel_scope_";

/** The resources, scopes and metrics of a target's series. */
export class Owners {
  private readonly scheme: string;
  private readonly extraAttributes: readonly LabelPair[];
  private readonly resources = new Map<string, ScrapedResource>();
  private readonly owners = new Map<string | number, ScrapedScope>();
  private metricIds = 0;
  /** The resource of the previous series, which the next one mostly shares. */
  private last: { job: string; instance: string; resource: ScrapedResource } | undefined;

  constructor(scheme: string, extraAttributes: readonly LabelPair[]) {
    this.scheme = scheme;
    this.extraAttributes = extraAttributes;
  }

  /** Returns the resource and removes the labels that name resource and scope. */
  resource(labels: Labels): ScrapedResource {
    const job = take(labels, "job");
    const instance = take(labels, "instance");
    const { last } = this;
    if (last !== undefined && last.job === job && last.instance === instance) return last.resource;
    const key = `${job}\0${instance}`;
    let resource = this.resources.get(key);
    if (resource === undefined) {
      if (this.resources.size >= MAX_RESOURCES) this.resources.clear();
      resource = new ScrapedResource(job, instance, this.scheme, this.extraAttributes);
      this.resources.set(key, resource);
    }
    this.last = { job, instance, resource };
    return resource;
  }

  owner(resource: ScrapedResource, labels: Labels): ScrapedScope {
    const name = take(labels, "otel_scope_name");
    const version = take(labels, "otel_scope_version");
    const url = take(labels, "otel_scope_schema_url");
    const attributes = takeScopeAttributes(labels);
    const isPlain = name === "" && version === "" && url === "" && attributes.length === 0;
    const key = isPlain ? resource.id : [resource.id, name, version, url, ...attributes.flat()].join("\0");
    let owner = this.owners.get(key);
    if (owner === undefined) {
      owner = new ScrapedScope(resource, isPlain ? RECEIVER_SCOPE : name, version, url, attributes);
      this.owners.set(key, owner);
    }
    return owner;
  }

  metric(owner: ScrapedScope, name: string, shape: ShapeName, family: FamilyMetadata | undefined): Metric {
    const type = family?.type ?? "unknown";
    const key = metricKey(name, shape, type);
    let metric = owner.metrics.get(key);
    if (metric === undefined) {
      metric = new Metric(this.metricIds++, owner, name, shape, type, family);
      owner.metrics.set(key, metric);
    }
    return metric;
  }

  /** Yields the scopes that have metrics and forgets the others. */
  *all(): Generator<ScrapedScope> {
    for (const [key, owner] of this.owners) {
      if (owner.metrics.size > 0) yield owner;
      else this.owners.delete(key);
    }
  }
}

function takeScopeAttributes(labels: Labels): LabelPair[] {
  const taken: LabelPair[] = [];
  for (const [name, value] of labels) {
    if (!name.startsWith(SCOPE_PREFIX)) continue;
    labels.delete(name);
    if (value !== "") taken.push([name.slice(SCOPE_PREFIX.length), value]);
  }
  return taken.length < 2 ? taken : taken.sort(([a], [b]) => (a < b ? -1 : 1));
}

function take(labels: Labels, name: string): string {
  const value = labels.get(name);
  if (value === undefined) return "";
  labels.delete(name);
  return value;
}

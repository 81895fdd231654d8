import { KeySet, type PlainAttributes, plainValueText, type TreeOwner } from "#otlp/json";
import type { Signal } from "../../../plugin.js";
import { strftime } from "../times.js";
import type { ElasticsearchConfig } from "./config.js";

/** The index of a document. A document for a data stream also contains the parts of its name. */
export interface DocumentRoute {
  readonly index: string;
  readonly dataStream?: { readonly type: string; readonly dataset: string; readonly namespace: string };
}

/** Attributes that select the index and are left out of documents. */
export const ROUTING: ReadonlySet<string> = new Set([
  "elasticsearch.index",
  "elasticsearch.document_id",
  "elasticsearch.document_pipeline",
  "elasticsearch.mapping.hints",
  "data_stream.type",
  "data_stream.dataset",
  "data_stream.namespace",
]);
export const ROUTING_KEYS = new KeySet(ROUTING);

/** Returns the attributes that a document contains. */
export function withoutRouting(attributes: PlainAttributes): PlainAttributes {
  const keys = Object.keys(attributes);
  if (!keys.some((key) => ROUTING.has(key))) return attributes;
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => !ROUTING.has(key)));
}

/**
 * Returns the index of a record: from the config, from the attribute elasticsearch.index, or a data stream. Returns
 * undefined if the name is not valid.
 */
export function routeOf(
  signal: Signal,
  attributes: PlainAttributes,
  owner: TreeOwner,
  config: ElasticsearchConfig,
  now: number,
): DocumentRoute | undefined {
  const route = plainRoute(signal, attributes, owner, config);
  const { enabled, prefix_separator: separator, date_format: format } = config.logstash_format;
  if (!enabled || route === undefined) return route;
  return { index: `${route.index}${separator}${strftime(format, now)}` };
}

function plainRoute(
  signal: Signal,
  attributes: PlainAttributes,
  owner: TreeOwner,
  config: ElasticsearchConfig,
): DocumentRoute | undefined {
  const named = signal === "logs" ? config.logs_index || config.index : config[`${signal}_index`];
  if (named !== "") return { index: named };
  const attributeText = (key: string) => {
    const value = attributes[key] ?? owner.scopeAttributes[key] ?? owner.resource[key];
    return value === undefined ? undefined : plainValueText(value);
  };
  const own = attributeText("elasticsearch.index");
  if (own !== undefined) {
    const index = lower(own, INDEX_CHARACTERS)
      .replace(/^[-_+]+/, "")
      .slice(0, 255);
    return /^\.{0,2}$/.test(index) ? undefined : { index };
  }
  const suffix = config.mapping.mode === "otel" ? ".otel" : "";
  const dataset = lower(
    attributeText("data_stream.dataset") ?? receiverOf(owner) ?? "generic",
    DATASET_CHARACTERS,
  ).slice(0, 100 - suffix.length);
  const namespace = lower(attributeText("data_stream.namespace") ?? "default", INDEX_CHARACTERS).slice(0, 100);
  const type = signal;
  return {
    index: `${type}-${dataset}${suffix}-${namespace}`,
    dataStream: { type, dataset: `${dataset}${suffix}`, namespace },
  };
}

const INDEX_CHARACTERS = /[\\/*?"<>| ,#:]/g;
const DATASET_CHARACTERS = /[-\\/*?"<>| ,#:]/g;

function lower(text: string, disallowed: RegExp): string {
  return text.replace(disallowed, "_").toLowerCase();
}

/** Data made by a Collector receiver is recognised by its scope, and gets a data stream of its own. */
function receiverOf({ scopeName }: TreeOwner): string | undefined {
  return /\/receiver\/(\w+receiver)/.exec(scopeName)?.[1];
}

/** Returns the parameters of the action that stores a log record. */
export function logTarget(
  route: DocumentRoute,
  attributes: PlainAttributes,
  config: ElasticsearchConfig,
): Record<string, unknown> {
  const pipeline = config.logs_dynamic_pipeline.enabled ? attributes["elasticsearch.document_pipeline"] : undefined;
  const target = targetOf(route, attributes, config.logs_dynamic_id.enabled);
  return pipeline === undefined ? target : { ...target, pipeline };
}

/** Does the same for any record; `hasId` tells whether an attribute is the id of its document. */
export function targetOf(
  { index }: DocumentRoute,
  attributes: PlainAttributes,
  hasId: boolean,
): Record<string, unknown> {
  const id = hasId ? plainValueText(attributes["elasticsearch.document_id"]) : "";
  return { _index: index, ...(id !== "" && { _id: id }) };
}

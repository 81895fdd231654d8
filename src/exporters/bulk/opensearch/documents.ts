import type { WireWriter } from "#otlp/bytes";
import {
  jsonText,
  logTime,
  type OwnedTree,
  ownedRecords,
  type PlainAttributes,
  plainAttributes,
  plainValue,
  plainValueText,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treeText,
} from "#otlp/json";
import { LOG_ATTRIBUTES_TAG, SPAN_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Batch, Tree } from "../../../plugin.js";
import type { BulkDocument, DocumentSource, UnfitRecords } from "../bulk-sender.js";
import { addFlat, withoutClashes } from "../elasticsearch/flat-documents.js";
import { isMap } from "../elasticsearch/otel-documents.js";
import { formatDate, isoTime } from "../times.js";
import type { OpenSearchConfig } from "./config.js";
import { SsoWriter } from "./sso-writer.js";

const NO_MAP = "the body is not a map, which the mode bodymap requires";

/** Makes the documents of a batch of logs or spans one by one. */
export function* documentsOf(
  batch: Batch,
  config: OpenSearchConfig,
  now: number,
): Iterable<BulkDocument | UnfitRecords> {
  const signal = batch.signal === "logs" ? "logs" : "traces";
  const date = config[`${signal}_index_time_format`];
  const suffix = date === "" ? "" : `-${formatDate(date, now)}`;
  if (signal === "traces" || config.mapping.mode === "ss4o") return yield* ssoDocuments(batch, config, now, suffix);
  for (const owned of ownedRecords(batch)) {
    const records = [owned.place];
    const attributes = treeAttributes(owned.tree);
    const source = logSource(owned, attributes, config);
    const target = { _index: indexOf(signal, owned.owner, attributes, config) + suffix };
    if (source === undefined) yield { records, problem: NO_MAP };
    else yield { records, action: config.bulk_action, target, source };
  }
}

function* ssoDocuments(
  batch: Batch,
  config: OpenSearchConfig,
  now: number,
  suffix: string,
): Iterable<BulkDocument | UnfitRecords> {
  const signal = batch.signal === "logs" ? "logs" : "traces";
  const tag = signal === "logs" ? LOG_ATTRIBUTES_TAG : SPAN_ATTRIBUTES_TAG;
  const writer = new SsoWriter(batch.bytes, config, now);
  const isSameIndex = !config[`${signal}_index`].includes("%{");
  let action: Uint8Array | undefined;
  for (const { place, owner, start, end } of ownedRecords(batch)) {
    if (action === undefined || !isSameIndex) {
      const attributes = isSameIndex ? {} : plainAttributes(batch.bytes, start, end, tag);
      const target = { _index: indexOf(signal, owner, attributes, config) + suffix };
      action = Buffer.from(`${jsonText({ [config.bulk_action]: target })}\n`);
    }
    const own = action;
    const write = (out: WireWriter) => {
      out.copy(own, 0, own.length);
      if (signal === "logs") writer.writeLog(out, start, end, owner);
      else writer.writeSpan(out, start, end, owner);
    };
    yield { records: [place], write };
  }
}

function indexOf(
  signal: "logs" | "traces",
  owner: TreeOwner,
  attributes: PlainAttributes,
  config: OpenSearchConfig,
): string {
  const pattern = config[`${signal}_index`];
  if (pattern === "") return `ss4o_${signal}-${config.dataset}-${config.namespace}`;
  return pattern.replace(/%\{([^{}]+)\}/g, (_whole, key: string) => {
    const ownNames: PlainAttributes = {
      "scope.name": owner.scopeName || undefined,
      "scope.version": owner.scopeVersion || undefined,
    };
    const text = plainValueText(attributes[key] ?? ownNames[key] ?? owner.scopeAttributes[key] ?? owner.resource[key]);
    return SEGMENT.test(text) ? text : config[`${signal}_index_fallback`] || "unknown";
  });
}

/** The allowed form of a part of an index name. It keeps senders from choosing other indexes with `../` or a list. */
const SEGMENT = /^[a-z0-9][a-z0-9._-]*$/;

function logSource(
  owned: OwnedTree,
  attributes: PlainAttributes,
  config: OpenSearchConfig,
): DocumentSource | undefined {
  if (config.mapping.mode !== "bodymap") return dataModelLog(owned, attributes, config);
  const body = plainValue(owned.tree["body"] as Tree | undefined);
  return isMap(body) ? body : undefined;
}

/**
 * Returns a document of the modes ecs and flatten_attributes: the record's own fields, with attributes under a field of
 * their own or next to them.
 */
function dataModelLog(
  { tree, owner }: OwnedTree,
  attributes: PlainAttributes,
  { mapping }: OpenSearchConfig,
): DocumentSource {
  const prefix = mapping.mode === "flatten_attributes" ? "" : "Attributes";
  const source: DocumentSource = {};
  addFlat(source, prefix, owner.resource);
  const time = logTime(tree);
  source[mapping.timestamp_field || "@timestamp"] = mapping.unix_timestamp ? Number(time / 1_000_000n) : isoTime(time);
  const own = {
    TraceId: treeHex(tree["traceId"]),
    SpanId: treeHex(tree["spanId"]),
    SeverityText: treeText(tree["severityText"]),
    EventName: treeText(tree["eventName"]),
  };
  for (const [key, text] of Object.entries(own)) if (text !== "") source[key] = text;
  source["TraceFlags"] = tree["flags"] ?? 0;
  source["SeverityNumber"] = tree["severityNumber"] ?? 0;
  addFlat(source, "Body", plainValue(tree["body"] as Tree | undefined));
  addFlat(source, prefix, attributes);
  return withoutClashes(source);
}

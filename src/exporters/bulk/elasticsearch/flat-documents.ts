import {
  logTime,
  type OwnedTree,
  type PlainAttributes,
  plainValue,
  type TreeOwner,
  treeAttributes,
  treeHex,
  treesIn,
  treeText,
} from "#otlp/json";
import { SPAN_KIND_SYMBOLS, SPAN_KINDS } from "#otlp/signals";
import type { Tree } from "../../../plugin.js";
import type { DocumentSource } from "../bulk-sender.js";
import { isoTime } from "../times.js";
import { durationOf, isMap } from "./otel-documents.js";
import { type DocumentRoute, withoutRouting } from "./route.js";

/** New names of resource attributes in the mode ecs; undefined removes the attribute. All others keep their names. */
const ECS_RESOURCE: Readonly<Record<string, string | undefined>> = {
  "service.instance.id": "service.node.name",
  "deployment.environment": "service.environment",
  "deployment.environment.name": "service.environment",
  "telemetry.sdk.name": undefined,
  "telemetry.sdk.language": "service.language.name",
  "telemetry.sdk.version": "service.language.version",
  "telemetry.distro.name": undefined,
  "telemetry.distro.version": undefined,
  "cloud.platform": "cloud.service.name",
  "container.image.tags": "container.image.tag",
  "host.arch": "host.architecture",
  "process.parent_pid": "process.parent.pid",
  "process.executable.name": "process.title",
  "process.executable.path": "process.executable",
  "process.command_line": "process.args",
  "process.runtime.name": "service.runtime.name",
  "process.runtime.version": "service.runtime.version",
  "os.name": "host.os.name",
  "os.type": "host.os.platform",
  "os.description": "host.os.full",
  "os.version": "host.os.version",
  "client.address": "client.ip",
  "source.address": "source.ip",
  "k8s.deployment.name": "kubernetes.deployment.name",
  "k8s.namespace.name": "kubernetes.namespace",
  "k8s.node.name": "kubernetes.node.name",
  "k8s.pod.name": "kubernetes.pod.name",
  "k8s.pod.uid": "kubernetes.pod.uid",
  "k8s.job.name": "kubernetes.job.name",
  "k8s.cronjob.name": "kubernetes.cronjob.name",
  "k8s.statefulset.name": "kubernetes.statefulset.name",
  "k8s.replicaset.name": "kubernetes.replicaset.name",
  "k8s.daemonset.name": "kubernetes.daemonset.name",
  "k8s.container.name": "kubernetes.container.name",
  "k8s.cluster.name": "orchestrator.cluster.name",
  "faas.instance": "faas.id",
  "faas.trigger": "faas.trigger.type",
};

const ECS_LOG: typeof ECS_RESOURCE = {
  "event.name": "event.action",
  "exception.message": "error.message",
  "exception.stacktrace": "error.stacktrace",
  "exception.type": "error.type",
  "exception.escaped": "event.error.exception.handled",
  "http.response.body.size": "http.response.encoded_body_size",
};

const ECS_SPAN: typeof ECS_RESOURCE = {
  "db.system": "span.db.type",
  "db.namespace": "span.db.instance",
  "db.query.text": "span.db.statement",
  "http.response.body.size": "http.response.encoded_body_size",
};

export function ecsLog({ tree, owner }: OwnedTree, attributes: PlainAttributes, route: DocumentRoute): DocumentSource {
  const source = ecsOwner(owner, route);
  addRenamed(source, attributes, ECS_LOG);
  const eventName = treeText(tree["eventName"]);
  const own = {
    "@timestamp": isoTime(logTime(tree)),
    "trace.id": treeHex(tree["traceId"]),
    "span.id": treeHex(tree["spanId"]),
    "log.level": treeText(tree["severityText"]),
    "event.action": eventName,
  };
  for (const [key, text] of Object.entries(own)) if (text !== "") source[key] = text;
  if (tree["severityNumber"]) source["event.severity"] = tree["severityNumber"];
  const body = plainValue(tree["body"] as Tree | undefined);
  if (isMap(body)) addFlat(source, "", body);
  else if (body !== null) source["message"] = body;
  return withoutClashes(source);
}

export function ecsSpan(
  { tree: span, owner }: OwnedTree,
  attributes: PlainAttributes,
  route: DocumentRoute,
): DocumentSource {
  const source = ecsOwner(owner, route);
  addRenamed(source, attributes, ECS_SPAN);
  const own = {
    "@timestamp": isoTime(span["startTimeUnixNano"]),
    "trace.id": treeHex(span["traceId"]),
    "span.id": treeHex(span["spanId"]),
    "parent.id": treeHex(span["parentSpanId"]),
    "span.name": treeText(span["name"]),
    "span.kind": Number(span["kind"] ?? 0) === 0 ? "" : (SPAN_KINDS[Number(span["kind"])]?.toUpperCase() ?? ""),
  };
  for (const [key, text] of Object.entries(own)) if (text !== "") source[key] = text;
  source["span.duration.us"] = Number(durationOf(span) / 1000n);
  const code = Number((span["status"] as Tree | undefined)?.["code"] ?? 0);
  source["event.outcome"] = code === 1 ? "success" : code === 2 ? "failure" : "unknown";
  addLinks(source, span);
  return withoutClashes(source);
}

function addLinks(source: DocumentSource, span: Tree): void {
  const links = treesIn(span, "links");
  if (links.length === 0) return;
  source["span.links"] = links.map((link) => ({
    trace: { id: treeHex(link["traceId"]) },
    span: { id: treeHex(link["spanId"]) },
  }));
}

/** Returns the fields that documents of the mode ecs share with others of their resource and scope. */
export function ecsOwner({ resource, scopeAttributes }: TreeOwner, route: DocumentRoute): DocumentSource {
  const source: DocumentSource = {};
  addRenamed(source, resource, ECS_RESOURCE);
  if (resource["host.name"] !== undefined && source["host.hostname"] === undefined)
    source["host.hostname"] = resource["host.name"];
  addRenamed(source, scopeAttributes, {});
  const language = resource["telemetry.sdk.language"];
  source["agent.name"] = `${resource["telemetry.sdk.name"] ?? "otlp"}${language === undefined ? "" : `/${language}`}`;
  if (route.dataStream !== undefined)
    for (const [key, text] of Object.entries(route.dataStream)) source[`data_stream.${key}`] = text;
  return source;
}

function addRenamed(source: DocumentSource, attributes: PlainAttributes, names: typeof ECS_RESOURCE): void {
  for (const [key, value] of Object.entries(withoutRouting(attributes))) {
    const name = Object.hasOwn(names, key) ? names[key] : key;
    if (name !== undefined) addFlat(source, name, value);
  }
}

/**
 * Returns a document of the modes none and raw. In raw the attributes are top-level fields, in none they are under a
 * field of their own.
 */
export function plainLog({ tree, owner }: OwnedTree, attributes: PlainAttributes, isRaw: boolean): DocumentSource {
  const source: DocumentSource = { "@timestamp": isoTime(logTime(tree)) };
  addIds(source, tree);
  source["TraceFlags"] = tree["flags"] ?? 0;
  source["SeverityText"] = treeText(tree["severityText"]) || undefined;
  source["SeverityNumber"] = tree["severityNumber"] ?? 0;
  const body = plainValue(tree["body"] as Tree | undefined);
  if (body !== null) addFlat(source, "Body", body);
  return finishPlain(source, owner, attributes, isRaw);
}

export function plainSpan(
  { tree: span, owner }: OwnedTree,
  attributes: PlainAttributes,
  isRaw: boolean,
): DocumentSource {
  const status = (span["status"] ?? {}) as Tree;
  const source: DocumentSource = {
    "@timestamp": isoTime(span["startTimeUnixNano"]),
    EndTimestamp: isoTime(span["endTimeUnixNano"]),
    Name: treeText(span["name"]),
    Kind: SPAN_KIND_SYMBOLS[Number(span["kind"] ?? 0)],
    TraceStatus: Number(status["code"] ?? 0),
    TraceStatusDescription: treeText(status["message"]) || undefined,
    Duration: Number(durationOf(span) / 1000n),
    Link: JSON.stringify(
      treesIn(span, "links").map((link) => ({ spanID: treeHex(link["spanId"]), traceID: treeHex(link["traceId"]) })),
    ),
  };
  addIds(source, span);
  const parent = treeHex(span["parentSpanId"]);
  if (parent !== "") source["ParentSpanId"] = parent;
  for (const event of treesIn(span, "events")) {
    const name = `${isRaw ? "" : "Events."}${treeText(event["name"])}`;
    addFlat(source, `${name}.time`, isoTime(event["timeUnixNano"]));
    addFlat(source, name, treeAttributes(event));
  }
  return finishPlain(source, owner, attributes, isRaw);
}

function addIds(source: DocumentSource, tree: Tree): void {
  const [trace, span] = [treeHex(tree["traceId"]), treeHex(tree["spanId"])];
  if (trace !== "") source["TraceId"] = trace;
  if (span !== "") source["SpanId"] = span;
}

export function finishPlain(
  source: DocumentSource,
  owner: TreeOwner,
  attributes: PlainAttributes,
  isRaw: boolean,
): DocumentSource {
  addFlat(source, isRaw ? "" : "Attributes", withoutRouting(attributes));
  addFlat(source, "Resource", withoutRouting(owner.resource));
  addFlat(source, "Scope", {
    ...owner.scopeAttributes,
    ...(owner.scopeName && { name: owner.scopeName, version: owner.scopeVersion }),
  });
  return withoutClashes(source);
}

/** Flattens maps: each value in them becomes a field that is named by its path. */
export function addFlat(source: DocumentSource, key: string, value: unknown): void {
  if (value === null || value === undefined) return;
  if (!isMap(value)) {
    source[key] = value;
    return;
  }
  for (const [inner, each] of Object.entries(value)) addFlat(source, key === "" ? inner : `${key}.${inner}`, each);
}

/** A field cannot be a value and have fields too. So if both `a` and `a.b` exist, the value is renamed to `a.value`. */
export function withoutClashes(source: DocumentSource): DocumentSource {
  const owners = new Set<string>();
  for (const key of Object.keys(source))
    for (let dot = key.indexOf("."); dot > 0; dot = key.indexOf(".", dot + 1)) owners.add(key.slice(0, dot));
  const clashes = Object.keys(source).filter((key) => owners.has(key));
  for (const key of clashes) {
    source[`${key}.value`] ??= source[key];
    delete source[key];
  }
  return source;
}

import { LogEntry, type LogMap, type LogValue, setValue } from "#logs/entries";
import type { KubernetesObject } from "#net/kubernetes";
import { fieldsOf, textOf } from "#text/json";

const SCOPE = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver";
/** Objects of the API are nested about ten deep. */
const MAX_DEPTH = 60;

/** An object as a log record; for a watch with the type of its change. */
export function objectEntry(object: KubernetesObject, resource: string, change?: string): LogEntry {
  const { name, namespace } = object.metadata;
  const value = logValue(object, MAX_DEPTH);
  const body = change === undefined ? value : { type: change, object: value };
  const attributes: LogMap = { "k8s.resource.name": resource };
  if (change !== undefined && name !== "") Object.assign(attributes, { "event.domain": "k8s", "event.name": name });
  const entry = new LogEntry(body, attributes, namespace ? { "k8s.namespace.name": namespace } : {}, undefined);
  entry.scopeName = `${SCOPE}/k8sobjectsreceiver`;
  return entry;
}

/** Whole numbers are integers. */
function logValue(value: unknown, depth: number): LogValue {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== "object" || value === null) return value as LogValue;
  if (depth === 0) return "nested too deep";
  if (Array.isArray(value)) return value.map((each) => logValue(each, depth - 1));
  const members = value as Readonly<Record<string, unknown>>;
  const map: LogMap = {};
  for (const key in members) setValue(map, key, logValue(members[key], depth - 1));
  return map;
}

const SEVERITIES: ReadonlyMap<string, number> = new Map([
  ["normal", 9],
  ["warning", 13],
  ["error", 17],
  ["critical", 21],
]);

/** An event of the cluster as a log record. */
export function eventEntry(event: KubernetesObject): LogEntry {
  const involved = fieldsOf(event, "involvedObject");
  const { count } = event as { readonly count?: unknown };
  const attributes: LogMap = {
    "k8s.event.reason": textOf(event, "reason"),
    "k8s.event.action": textOf(event, "action"),
    "k8s.event.start_time": startTime(textOf(event, "metadata", "creationTimestamp")),
    "k8s.event.name": event.metadata.name,
    "k8s.event.uid": textOf(event, "metadata", "uid"),
    "k8s.namespace.name": textOf(involved, "namespace"),
    "k8s.event.reporting_controller": textOf(event, "reportingComponent"),
    "k8s.event.reporting_instance": textOf(event, "reportingInstance"),
  };
  if (Number.isSafeInteger(count) && count !== 0) attributes["k8s.event.count"] = BigInt(count as number);
  const resource: LogMap = {
    "k8s.node.name": textOf(event, "source", "host"),
    "k8s.object.kind": textOf(involved, "kind"),
    "k8s.object.name": textOf(involved, "name"),
    "k8s.object.uid": textOf(involved, "uid"),
    "k8s.object.fieldpath": textOf(involved, "fieldPath"),
    "k8s.object.api_version": textOf(involved, "apiVersion"),
    "k8s.object.resource_version": textOf(involved, "resourceVersion"),
  };
  const entry = new LogEntry(textOf(event, "message"), attributes, resource, undefined);
  entry.scopeName = `${SCOPE}/k8seventsreceiver`;
  entry.timestamp = eventTime(event);
  const type = textOf(event, "type");
  const severity = SEVERITIES.get(type.toLowerCase());
  if (severity !== undefined) {
    entry.severityNumber = severity;
    entry.severityText = type;
  }
  return entry;
}

/** When the event happened for the last time, in nanoseconds; undefined if it does not say. */
export function eventTime(event: unknown): bigint | undefined {
  for (const key of ["eventTime", "lastTimestamp", "firstTimestamp"]) {
    const text = textOf(event, key);
    const ms = Date.parse(text);
    if (!(ms >= 0)) continue;
    const fraction = /\.(\d{1,9})/.exec(text)?.[1] ?? "";
    return BigInt(Math.floor(ms / 1000)) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
  }
  return undefined;
}

/** The form of a time in the Collector's records. */
function startTime(text: string): string {
  const ms = Date.parse(text);
  if (!(ms >= 0)) return "0001-01-01 00:00:00 +0000 UTC";
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} +0000 UTC`;
}

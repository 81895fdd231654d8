import type { DurableIntake, PipelineErrorMode } from "#contract";
import type { ConfigPath } from "#contract/schema";
import { alternatives, didYouMean } from "#contract/schema";
import { SIGNALS, type Signal } from "#otlp/signals";
import { parseId } from "../schema/component-id.js";
import {
  pipelineErrorModeSchema,
  pipelineIntakeSchema,
  type ServiceSettings,
  serviceSchema,
} from "../schema/service-schema.js";
import type { Findings } from "../text/findings.js";
import { isNull, isScalar, type MapNode, mapNode, type Node, type Span, withCorrectedKeys } from "../text/node.js";
import { parseNode } from "./parse-component.js";

/** A component named in a list, and its place. */
export interface ComponentReference {
  readonly id: string;
  readonly span: Span;
  readonly path: ConfigPath;
}

export interface PipelineDefinition {
  readonly id: string;
  readonly signal: Signal;
  readonly key: Span;
  readonly path: ConfigPath;
  readonly receivers: readonly ComponentReference[];
  readonly processors: readonly ComponentReference[];
  readonly exporters: readonly ComponentReference[];
  readonly durableIntake: DurableIntake;
  readonly errorMode: PipelineErrorMode;
}

export interface ServiceDefinition {
  readonly settings: ServiceSettings | undefined;
  readonly extensions: readonly ComponentReference[];
  readonly pipelines: readonly PipelineDefinition[];
}

/** Reads `service:`. The names in it are resolved elsewhere. */
export function readService(root: MapNode, findings: Findings): ServiceDefinition {
  const entry = root.entries.get("service");
  if (entry === undefined || isNull(entry.value)) {
    const message = 'there is no "service" with pipelines, so nothing would run';
    findings.error("missing_key", entry?.key ?? root, ["service"], message, { suggestion: PIPELINE_EXAMPLE });
    return { settings: undefined, extensions: [], pipelines: [] };
  }
  if (entry.value.kind !== "map") {
    findings.error("wrong_type", entry.value, ["service"], 'expected a map with "pipelines"');
    return { settings: undefined, extensions: [], pipelines: [] };
  }
  const service = withCorrectedKeys(entry.value, ["extensions", "pipelines"]);
  return {
    settings: readSettings(entry.value, entry.key, findings),
    extensions: readReferences(service, "extensions", ["service", "extensions"], findings),
    pipelines: readPipelines(service, entry.key, findings),
  };
}

const PIPELINE_EXAMPLE = "service: {pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}";

function readSettings(service: MapNode, key: Span, findings: Findings): ServiceSettings | undefined {
  const rest = new Map([...service.entries].filter(([key]) => key !== "extensions" && key !== "pipelines"));
  const siblings = ["extensions", "pipelines"];
  const parsed = parseNode(mapNode(service, rest), serviceSchema, ["service"], findings, { key, siblings });
  return parsed?.value as ServiceSettings | undefined;
}

function readPipelines(service: MapNode, serviceKey: Span, findings: Findings): PipelineDefinition[] {
  const entry = service.entries.get("pipelines");
  const path = ["service", "pipelines"];
  if (entry?.value.kind === "map" && entry.value.entries.size > 0) {
    const names = [...entry.value.entries.keys()];
    if (names.every((name) => parseId(name)?.type === "profiles")) {
      const message = "there are only pipelines of profiles, which Sluice does not carry, so nothing would run";
      findings.error("missing_key", entry.key, path, message, { suggestion: PIPELINE_EXAMPLE });
      return [];
    }
    return [...entry.value.entries].flatMap(([name, pipeline]) =>
      readPipeline(name, pipeline.key, pipeline.value, [...path, name], findings),
    );
  }
  const isEmpty = entry === undefined || isNull(entry.value) || entry.value.kind === "map";
  const message = isEmpty ? "there is no pipeline, so nothing would run" : "expected a map of pipelines";
  const code = isEmpty ? "missing_key" : "wrong_type";
  findings.error(code, entry?.key ?? serviceKey, path, message, { suggestion: PIPELINE_EXAMPLE });
  return [];
}

function readPipeline(name: string, key: Span, node: Node, path: ConfigPath, findings: Findings): PipelineDefinition[] {
  const id = parseId(name);
  if (id?.type === "profiles") {
    findings.warn("no_effect", key, path, "Sluice does not carry profiles; this pipeline is left out");
    return [];
  }
  if (id === undefined || !(SIGNALS as readonly string[]).includes(id.type)) {
    const message = `expected logs, traces or metrics, or one of these with a name, such as ${SIGNALS[0]}/audit`;
    findings.error("unknown_signal", key, path, message, didYouMean(id?.type ?? name, SIGNALS));
    return [];
  }
  if (node.kind !== "map" && !isNull(node)) {
    findings.error("wrong_type", node, path, "expected a map with receivers, processors and exporters");
    return [];
  }
  if (node.kind === "map") reportUnknownKeys(node, path, findings);
  const corrected = node.kind === "map" ? withCorrectedKeys(node, PIPELINE_KEYS) : node;
  const references = (list: string) => readReferences(corrected, list, [...path, list], findings);
  return [
    {
      id: id.id,
      signal: id.type as Signal,
      key,
      path,
      receivers: references("receivers"),
      processors: references("processors"),
      exporters: references("exporters"),
      durableIntake: readDurableIntake(corrected, path, findings),
      errorMode: readErrorMode(corrected, path, findings),
    },
  ];
}

const PIPELINE_KEYS = ["receivers", "processors", "exporters", "intake", "error_mode"];

function readDurableIntake(node: Node, path: ConfigPath, findings: Findings): DurableIntake {
  const entry = node.kind === "map" ? node.entries.get("intake") : undefined;
  if (entry === undefined || isNull(entry.value)) return "auto";
  const parsed = parseNode(entry.value, pipelineIntakeSchema, [...path, "intake"], findings, { key: entry.key });
  return (parsed?.value as { durable: DurableIntake } | undefined)?.durable ?? "auto";
}

function readErrorMode(node: Node, path: ConfigPath, findings: Findings): PipelineErrorMode {
  const entry = node.kind === "map" ? node.entries.get("error_mode") : undefined;
  if (entry === undefined || isNull(entry.value)) return "propagate";
  const parsed = parseNode(entry.value, pipelineErrorModeSchema, [...path, "error_mode"], findings, { key: entry.key });
  return (parsed?.value as PipelineErrorMode | undefined) ?? "propagate";
}

function reportUnknownKeys(node: MapNode, path: ConfigPath, findings: Findings): void {
  for (const [name, { key }] of node.entries) {
    if (PIPELINE_KEYS.includes(name)) continue;
    const message = `unknown key "${name}"; expected ${alternatives(PIPELINE_KEYS)}`;
    findings.error("unknown_key", key, [...path, name], message, didYouMean(name, PIPELINE_KEYS));
  }
}

function readReferences(owner: Node, key: string, path: ConfigPath, findings: Findings): ComponentReference[] {
  const list = owner.kind === "map" ? owner.entries.get(key)?.value : undefined;
  if (list === undefined || isNull(list)) return [];
  if (list.kind !== "list") {
    const suggestion = isScalar(list) && !list.substituted ? { suggestion: `write a list: [${list.text}]` } : {};
    findings.error("wrong_type", list, path, "expected a list of component ids", suggestion);
    return [];
  }
  return list.items.flatMap((item, i) => readReference(item, [...path, i], findings));
}

function readReference(item: Node, path: ConfigPath, findings: Findings): ComponentReference[] {
  if (isNull(item)) return [];
  const id = isScalar(item) ? parseId(item.text) : undefined;
  if (id !== undefined) return [{ id: id.id, span: item, path }];
  findings.error("invalid_id", item, path, "expected a component id: type or type/name, such as otlp or otlp/second");
  return [];
}

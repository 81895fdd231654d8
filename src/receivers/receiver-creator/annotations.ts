import { parse } from "yaml";
import type { ReceiverCreatorConfig } from "./config.js";
import type { EndpointVariables } from "./templates.js";

/** A receiver that a pod's annotations ask for. */
interface HintedReceiver {
  readonly id: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly signal: "metrics" | "logs";
}

const PREFIX = "io.opentelemetry.discovery";

/**
 * Reads the annotations that belong to an endpoint: a port may ask for a receiver of metrics, a container for its logs.
 * Undefined if they ask for nothing; throws if they ask for something impossible, such as the endpoint of another pod.
 */
export function hintedReceiver(
  variables: EndpointVariables,
  discovery: ReceiverCreatorConfig["discovery"],
): HintedReceiver | undefined {
  const pod = variables["pod"] as HintedPod | undefined;
  if (pod === undefined) return undefined;
  const annotations = { ...discovery.default_annotations, ...pod.annotations };
  if (variables["type"] === "port") return metricsReceiver(annotations, pod, variables, discovery);
  return variables["type"] === "pod.container" ? logsReceiver(annotations, pod, variables, discovery) : undefined;
}

interface HintedPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
}

type Annotations = Readonly<Record<string, string>>;

/** An annotation of one port or container comes before that of the pod. */
function hint(annotations: Annotations, signal: string, scope: string, name: string): string | undefined {
  return annotations[`${PREFIX}.${signal}.${scope}/${name}`] ?? annotations[`${PREFIX}.${signal}/${name}`];
}

function metricsReceiver(
  annotations: Annotations,
  pod: HintedPod,
  variables: EndpointVariables,
  { ignore_receivers: ignored }: ReceiverCreatorConfig["discovery"],
): HintedReceiver | undefined {
  const port = String(variables["port"]);
  if (hint(annotations, "metrics", port, "enabled") !== "true") return undefined;
  const type = hint(annotations, "metrics", port, "scraper") ?? "";
  if (type === "" || ignored.includes(type)) return undefined;
  const config = configIn(hint(annotations, "metrics", port, "config"));
  const { endpoint } = config;
  const target = String(variables["endpoint"]);
  if (endpoint !== undefined && hostIn(String(endpoint).replaceAll("`endpoint`", target)) !== target)
    throw new Error(`the endpoint of the annotation is not that of the pod, ${target}`);
  return { id: `${type}/${pod.uid}_${port}`, config, signal: "metrics" };
}

function logsReceiver(
  annotations: Annotations,
  pod: HintedPod,
  variables: EndpointVariables,
  discovery: ReceiverCreatorConfig["discovery"],
): HintedReceiver | undefined {
  if (discovery.ignore_receivers.some((type) => type === "file_log" || type === "filelog")) return undefined;
  const container = String(variables["container_name"]);
  if (hint(annotations, "logs", container, "enabled") !== "true") return undefined;
  const config = configIn(hint(annotations, "logs", container, "config"));
  const include = [`/var/log/pods/${pod.namespace}_${pod.name}_${pod.uid}/${container}/*.log`];
  return {
    id: `file_log/${pod.uid}_${container}`,
    config: { ...discovery.default_file_log_config, ...config, include },
    signal: "logs",
  };
}

function configIn(text: string | undefined): Readonly<Record<string, unknown>> {
  const config: unknown = parse(text ?? "") ?? {};
  if (typeof config === "object" && !Array.isArray(config)) return config as Record<string, unknown>;
  throw new Error("expected a map of keys in the annotation of the config");
}

/** The host and port of an endpoint, with or without a scheme. */
function hostIn(endpoint: string): string {
  const text = endpoint.includes("://") ? endpoint : `http://${endpoint}`;
  return /^[^:]+:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";
}

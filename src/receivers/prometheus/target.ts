import type { LabelPair } from "./exposition/series-text.js";
import type { CompleteJob, JobConfig } from "./job-config.js";
import { type Labels, type RelabelRule, relabel } from "./relabel.js";
import { parsePrometheusDuration } from "./schema.js";

/** An endpoint to scrape. */
export interface Target {
  /** Equal for the same URL and labels, whichever discovery found it. */
  readonly key: string;
  readonly url: URL;
  /** Labels that its series get, including `job` and `instance`. */
  readonly labels: readonly LabelPair[];
  /** Resource attributes from its discovery. */
  readonly resource: readonly LabelPair[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/**
 * Builds a target from discovered labels and the job's rules; returns undefined if the rules drop it. Throws an error
 * with the reason if the remaining labels cannot be scraped.
 */
export function makeTarget(
  found: Labels,
  job: JobConfig,
  complete: CompleteJob,
  rules: readonly RelabelRule[],
): Target | undefined {
  const labels: Labels = new Map([
    ["job", job.job_name],
    ["__scrape_interval__", `${complete.interval}ms`],
    ["__scrape_timeout__", `${complete.timeout}ms`],
    ["__metrics_path__", job.metrics_path],
    ["__scheme__", job.scheme],
    ...Object.entries(job.params ?? {}).flatMap(([name, [first]]): LabelPair[] =>
      first === undefined ? [] : [[`__param_${name}`, first]],
    ),
    ...found,
  ]);
  for (const [name, value] of labels) if (value === "") labels.delete(name);
  const resource = kubernetesResource(labels);
  if (!relabel(labels, rules)) return undefined;
  const address = labels.get("__address__");
  if (address === undefined) return undefined;
  const url = targetUrl(address, labels, job);
  const intervalMs = durationLabel(labels, "__scrape_interval__");
  const timeoutMs = durationLabel(labels, "__scrape_timeout__");
  if (timeoutMs > intervalMs) throw new Error("its __scrape_timeout__ is longer than its __scrape_interval__");
  const kept = [...labels].filter(([name]) => !name.startsWith("__"));
  if (!labels.has("instance")) kept.push(["instance", address]);
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    key: JSON.stringify([url.href, kept, intervalMs, timeoutMs]),
    url,
    labels: kept,
    resource,
    intervalMs,
    timeoutMs,
  };
}

function targetUrl(address: string, labels: Labels, job: JobConfig): URL {
  const scheme = labels.get("__scheme__") ?? "http";
  if (scheme !== "http" && scheme !== "https") throw new Error(`there is no scheme ${scheme}`);
  if (/[/?#@\s]/.test(address)) throw new Error(`${address} is not host and port`);
  const [path, query] = (labels.get("__metrics_path__") ?? "/").split(/\?(.*)/s) as [string, string?];
  const url = new URL(`${scheme}://${address}${path.startsWith("/") ? "" : "/"}${path}`);
  for (const [name, value] of new URLSearchParams(query ?? "")) url.searchParams.append(name, value);
  for (const [name, values] of Object.entries(job.params ?? {})) {
    for (const value of values.slice(1)) url.searchParams.append(name, value);
  }
  for (const [name, value] of labels) {
    if (!name.startsWith("__param_")) continue;
    const param = name.slice("__param_".length);
    const rest = url.searchParams.getAll(param);
    url.searchParams.delete(param);
    for (const each of [value, ...rest]) url.searchParams.append(param, each);
  }
  return url;
}

function durationLabel(labels: Labels, name: string): number {
  const ms = parsePrometheusDuration(labels.get(name) ?? "");
  if (ms === undefined || ms <= 0) throw new Error(`its label ${name} is not a duration`);
  return ms;
}

const KUBERNETES_ATTRIBUTES: Readonly<Record<string, string>> = {
  __meta_kubernetes_pod_name: "k8s.pod.name",
  __meta_kubernetes_pod_uid: "k8s.pod.uid",
  __meta_kubernetes_pod_container_name: "k8s.container.name",
  __meta_kubernetes_namespace: "k8s.namespace.name",
};

/** Facts from Kubernetes about a target, under the names of the semantic conventions. */
function kubernetesResource(labels: Labels): LabelPair[] {
  const found: LabelPair[] = [];
  for (const [label, attribute] of Object.entries(KUBERNETES_ATTRIBUTES)) {
    const value = labels.get(label);
    if (value !== undefined) found.push([attribute, value]);
  }
  const node =
    labels.get("__meta_kubernetes_pod_node_name") ??
    labels.get("__meta_kubernetes_node_name") ??
    labels.get("__meta_kubernetes_endpoint_node_name");
  if (node !== undefined) found.push(["k8s.node.name", node]);
  const kind = labels.get("__meta_kubernetes_pod_controller_kind");
  const name = labels.get("__meta_kubernetes_pod_controller_name");
  if (kind !== undefined && name !== undefined && CONTROLLERS.has(kind))
    found.push([`k8s.${kind.toLowerCase()}.name`, name]);
  return found;
}

const CONTROLLERS = new Set(["ReplicaSet", "DaemonSet", "StatefulSet", "Job", "CronJob"]);

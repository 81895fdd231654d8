import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { loadConfig } from "../../src/runtime/config/load.js";
import { Registry } from "../../src/runtime/config/resolve/registry.js";
import { builtins } from "../support/builtins.js";
import { project } from "./packed.js";

// Whether the API server would take them was tried with a validator that has its schemas; here is held what that cannot see: that
// the parts fit each other and the configs in them.

const folder = join(project, "packaging/kubernetes");
// biome-ignore lint/suspicious/noExplicitAny: what is in a manifest has no type here
type Manifest = Record<string, any> & {
  kind: string;
  apiVersion: string;
  metadata: { name: string; namespace?: string };
};
const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
const manifests = files.flatMap((name) =>
  parseAllDocuments(readFileSync(join(folder, name), "utf8")).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  }),
);
const find = (kind: string, name: string) => {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
};

const API_VERSIONS: Readonly<Record<string, string>> = {
  Namespace: "v1",
  ServiceAccount: "v1",
  ConfigMap: "v1",
  Service: "v1",
  Role: "rbac.authorization.k8s.io/v1",
  RoleBinding: "rbac.authorization.k8s.io/v1",
  DaemonSet: "apps/v1",
  StatefulSet: "apps/v1",
  PodDisruptionBudget: "policy/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  Kustomization: "kustomize.config.k8s.io/v1beta1",
};

const WORKLOADS = [
  ["DaemonSet", "sluice-agent"],
  ["StatefulSet", "gateway"],
] as const;

/** The config that a workload mounts, checked as the agent does it. */
function configOf(workload: Manifest) {
  const volume = workload["spec"].template.spec.volumes.find(({ name }: { name: string }) => name === "config");
  const text = find("ConfigMap", volume.configMap.name)["data"]["sluice.yaml"] as string;
  const { config, problems } = loadConfig({
    sources: [{ text, name: "sluice.yaml" }],
    registry: new Registry(builtins),
    addDefaults: true,
  });
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return { config: config!, text };
}

it("are of kinds and versions that clusters have, each once, all in one namespace and all applied together", () => {
  for (const { kind, apiVersion, metadata } of manifests) {
    expect([kind, apiVersion]).toEqual([kind, API_VERSIONS[kind]]);
    if (kind !== "Namespace" && kind !== "Kustomization") expect([kind, metadata.namespace]).toEqual([kind, "sluice"]);
  }
  const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata?.name}`);
  expect(new Set(names).size).toBe(names.length);
  const { resources } = manifests.find(({ kind }) => kind === "Kustomization") as unknown as { resources: string[] };
  expect(resources.toSorted()).toEqual(files.filter((name) => name !== "kustomization.yaml").toSorted());
});

describe.each(WORKLOADS)("the %s %s", (kind, name) => {
  const workload = find(kind, name);
  const { template, selector } = workload["spec"];
  const pod = template.spec;
  const [container] = pod.containers;

  it("selects its own pods, with an account that is there", () => {
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    find("ServiceAccount", pod.serviceAccountName);
  });

  it("runs a config without a mistake, whose ports are those of the container, and is probed at its health check", () => {
    const { config } = configOf(workload);
    const ports = container.ports.map(({ containerPort }: { containerPort: number }) => containerPort);
    const otlp = (
      config.receivers.get("otlp")!.config as { protocols: Record<string, { endpoint: string } | undefined> }
    ).protocols;
    const listening = Object.values(otlp).flatMap((protocol) =>
      protocol ? [Number(protocol.endpoint.split(":").at(-1))] : [],
    );
    expect(ports).toEqual(expect.arrayContaining([...listening, 8888, 13133]));
    const health = config.extensions.get("health_check")!.config as { endpoint: string };
    expect(health.endpoint).toBe("0.0.0.0:13133");
    const named = container.ports.find((port: { name: string }) => port.name === "health");
    expect(named.containerPort).toBe(13133);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
      expect(container[probe].httpGet).toEqual({ path: "/", port: "health" });
  });

  it("keeps the queue on a volume that outlives the pod", () => {
    const { config } = configOf(workload);
    const { directory } = config.extensions.get("reliability")!.config as { directory: string };
    const mount = container.volumeMounts.find(({ mountPath }: { mountPath: string }) =>
      directory.startsWith(`${mountPath}/`),
    );
    const claims = (workload["spec"].volumeClaimTemplates ?? []).map((claim: Manifest) => claim.metadata.name);
    const host = pod.volumes
      .filter((volume: Manifest) => "hostPath" in volume)
      .map((volume: { name: string }) => volume.name);
    expect([...claims, ...host]).toContain(mount.name);
    expect(mount.readOnly ?? false).toBe(false);
    const claim = workload["spec"].volumeClaimTemplates?.[0].spec.resources.requests.storage as string | undefined;
    if (claim === undefined) return;
    const { settings } = config.exporters.get("otlp_http")!;
    expect(Number(claim.replace("Gi", "")) * 2 ** 30).toBeGreaterThan(settings.sending_queue!.max_bytes! * 1.1);
  });

  it("has time to drain after it is out of the endpoints", () => {
    const { config } = configOf(workload);
    const waits = Number(container.lifecycle.preStop.exec.command[1]);
    const drains = config.service.shutdown_timeout / 1000;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(waits + drains);
    expect(drains).toBeGreaterThan(0);
  });

  it("runs as an unprivileged user, with files that it cannot change", () => {
    const context = { ...pod.securityContext, ...container.securityContext };
    expect(context).toMatchObject({
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    });
    expect(context.capabilities).toEqual({ drop: ["ALL"] });
    expect(container.resources.limits.memory).toBeDefined();
  });
});

describe("the gateways", () => {
  const gateway = find("StatefulSet", "gateway");

  it("are what the agents balance over, by names that the service gives them, with the right to ask for them", () => {
    const { config } = configOf(find("DaemonSet", "sluice-agent"));
    const { resolver } = config.exporters.get("load_balancing")!.config as {
      resolver: { k8s: { service: string; ports: number[] } };
    };
    const service = find("Service", resolver.k8s.service.split(".")[0]!);
    expect(resolver.k8s.service).toBe(`${service.metadata.name}.${service.metadata.namespace}`);
    expect(service["spec"]).toMatchObject({ clusterIP: "None", selector: gateway["spec"].selector.matchLabels });
    expect(gateway["spec"].serviceName).toBe(service.metadata.name);
    expect(resolver.k8s.ports).toEqual(service["spec"].ports.map(({ port }: { port: number }) => port));
    const binding = find("RoleBinding", "sluice-agent");
    expect(binding["subjects"][0].name).toBe(
      find("DaemonSet", "sluice-agent")["spec"].template.spec.serviceAccountName,
    );
    expect(find("Role", binding["roleRef"].name)["rules"]).toEqual([
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    ]);
  });

  it("are kept from going all at once, and from going with what they have not delivered", () => {
    expect(find("PodDisruptionBudget", "gateway")["spec"]).toMatchObject({
      maxUnavailable: 1,
      selector: gateway["spec"].selector,
    });
    const autoscaler = find("HorizontalPodAutoscaler", "gateway")["spec"];
    expect(autoscaler.scaleTargetRef).toEqual({ apiVersion: "apps/v1", kind: "StatefulSet", name: "gateway" });
    expect(autoscaler.behavior.scaleDown.selectPolicy).toBe("Disabled");
    expect(autoscaler.minReplicas).toBeLessThanOrEqual(gateway["spec"].replicas);
    expect(gateway["spec"].persistentVolumeClaimRetentionPolicy).toEqual({
      whenDeleted: "Retain",
      whenScaled: "Retain",
    });
  });
});

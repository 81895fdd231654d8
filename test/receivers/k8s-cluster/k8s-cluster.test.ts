import { describe, expect, it, onTestFinished } from "vitest";
import { decodeTree, type ReceiverFactory } from "../../../src/plugin.js";
import { k8sClusterReceiver } from "../../../src/receivers/k8s-cluster/component.js";
import { k8sClusterSchema } from "../../../src/receivers/k8s-cluster/config.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../support/servers/kubernetes-api.js";
import { pointsOf } from "../prometheus/harness.js";
import { startReceiver } from "../started-receiver.js";

const POD = {
  kind: "Pod",
  metadata: { name: "cart-1", namespace: "shop", uid: "pod-1" },
  spec: {
    nodeName: "node-1",
    containers: [
      {
        name: "app",
        image: "registry:5000/team/cart:1.2",
        resources: {
          requests: { cpu: "250m", memory: "64Mi" },
          limits: { memory: "128Mi", "ephemeral-storage": "1Gi" },
        },
      },
      { name: "sidecar" },
    ],
  },
  status: {
    phase: "Running",
    qosClass: "Burstable",
    containerStatuses: [
      {
        name: "app",
        image: "registry:5000/team/cart:1.2",
        containerID: "containerd://c2",
        restartCount: 3,
        ready: true,
        state: { waiting: { reason: "CrashLoopBackOff" } },
        lastState: { terminated: { reason: "OOMKilled" } },
      },
    ],
  },
};
const NODE = {
  kind: "Node",
  metadata: { name: "node-1", uid: "node-uid" },
  status: {
    allocatable: { cpu: "3920m", memory: "1Gi", "hugepages-1Gi": "0", pods: "110" },
    conditions: [
      { type: "Ready", status: "True" },
      { type: "PIDPressure", status: "False" },
    ],
    nodeInfo: { kubeletVersion: "v1.34.0", containerRuntimeVersion: "containerd://2.1", operatingSystem: "linux" },
  },
};
const named = (kind: string, spec: object, status: object, namespace: string | undefined = "shop") => ({
  kind,
  metadata: { name: `a-${kind.toLowerCase()}`, uid: `uid-${kind}`, ...(namespace && { namespace }) },
  spec,
  status,
});
const OBJECTS = [
  named("Namespace", {}, { phase: "Active" }, ""),
  named("Deployment", { replicas: 3 }, { availableReplicas: 2 }),
  named("ReplicaSet", { replicas: 3 }, {}),
  named("ReplicationController", { replicas: 1 }, { availableReplicas: 1 }),
  named(
    "DaemonSet",
    {},
    { currentNumberScheduled: 4, desiredNumberScheduled: 5, numberMisscheduled: 1, numberReady: 3 },
  ),
  named("StatefulSet", { replicas: 2 }, { readyReplicas: 1, currentReplicas: 2, updatedReplicas: 0 }),
  named("Job", { completions: 5, parallelism: 2 }, { active: 1, succeeded: 3, failed: 1 }),
  named("CronJob", {}, { active: [{ name: "j1" }, { name: "j2" }] }),
  named(
    "HorizontalPodAutoscaler",
    { minReplicas: 2, maxReplicas: 10, scaleTargetRef: { kind: "Deployment" } },
    { currentReplicas: 5, desiredReplicas: 7 },
  ),
  named(
    "ResourceQuota",
    {},
    { hard: { "requests.cpu": "2", pods: "10" }, used: { "requests.cpu": "500m", pods: "4" } },
  ),
];
const MORE = [
  named("PersistentVolume", { capacity: { storage: "10Gi" }, storageClassName: "fast" }, { phase: "Bound" }, ""),
  named("PersistentVolumeClaim", { resources: { requests: { storage: "5Gi" } } }, { phase: "Pending" }),
  named("Service", { type: "LoadBalancer" }, { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } }),
  {
    kind: "EndpointSlice",
    metadata: { name: "s1", namespace: "shop", labels: { "kubernetes.io/service-name": "a-service" } },
    addressType: "IPv4",
    endpoints: [
      { zone: "a", conditions: { ready: true } },
      { zone: "a", conditions: { ready: false, serving: true, terminating: true } },
    ],
  },
];

async function startApi(...objects: object[]): Promise<KubernetesApiServer> {
  const api = await startKubernetesApi();
  for (const object of objects) api.put(object as never);
  onTestFinished(() => api.close());
  return api;
}

const quick = { auth_type: "none", collection_interval: "20ms", initial_delay: 0 };

async function start(api: KubernetesApiServer, config: object = {}) {
  const intake = new TestIntake();
  const logger = listeningLogger();
  const factory = k8sClusterReceiver as ReceiverFactory;
  const receiver = await startReceiver(
    factory,
    { ...quick, api_server: api.url, ...config },
    intake,
    logger,
    "metrics",
  );
  onTestFinished(() => receiver.stop());
  /** The newest values, by name and labels. */
  const values = () =>
    Object.fromEntries(
      intake.batches.slice(-1).flatMap((batch) =>
        pointsOf(batch).map(({ name, labels, data }) => {
          const own = Object.values(labels).join(",");
          return [own === "" ? name : `${name}{${own}}`, Number(data["asInt"] ?? data["asDouble"])];
        }),
      ),
    );
  return { intake, logger, values };
}

const on = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { enabled: true }]));

describe("the k8s_cluster receiver", () => {
  it("measures all kinds of objects with the Collector's names", async () => {
    const { values, logger } = await start(await startApi(POD, NODE, ...OBJECTS));
    await expect.poll(values, { timeout: patienceMs }).toEqual({
      "k8s.pod.phase": 2,
      "k8s.container.cpu_request": 0.25,
      "k8s.container.memory_request": 64 * 2 ** 20,
      "k8s.container.memory_limit": 128 * 2 ** 20,
      "k8s.container.ephemeralstorage_limit": 2 ** 30,
      "k8s.container.ready": 1,
      "k8s.container.restarts": 3,
      "k8s.node.condition_ready": 1,
      "k8s.namespace.phase": 1,
      "k8s.deployment.desired": 3,
      "k8s.deployment.available": 2,
      "k8s.replicaset.desired": 3,
      "k8s.replicaset.available": 0,
      "k8s.replication_controller.desired": 1,
      "k8s.replication_controller.available": 1,
      "k8s.daemonset.current_scheduled_nodes": 4,
      "k8s.daemonset.desired_scheduled_nodes": 5,
      "k8s.daemonset.misscheduled_nodes": 1,
      "k8s.daemonset.ready_nodes": 3,
      "k8s.statefulset.desired_pods": 2,
      "k8s.statefulset.ready_pods": 1,
      "k8s.statefulset.current_pods": 2,
      "k8s.statefulset.updated_pods": 0,
      "k8s.job.active_pods": 1,
      "k8s.job.failed_pods": 1,
      "k8s.job.successful_pods": 3,
      "k8s.job.desired_successful_pods": 5,
      "k8s.job.max_parallel_pods": 2,
      "k8s.cronjob.active_jobs": 2,
      "k8s.hpa.max_replicas": 10,
      "k8s.hpa.min_replicas": 2,
      "k8s.hpa.current_replicas": 5,
      "k8s.hpa.desired_replicas": 7,
      "k8s.resource_quota.hard_limit{requests.cpu}": 2000,
      "k8s.resource_quota.hard_limit{pods}": 10,
      "k8s.resource_quota.used{requests.cpu}": 500,
      "k8s.resource_quota.used{pods}": 4,
    });
    expect(logger.lines).toEqual([]);
  });

  it("gives each object its own resource, with the optional attributes if they are on", async () => {
    const api = await startApi(POD, NODE);
    const attributes = on("k8s.pod.qos_class", "k8s.container.status.last_terminated_reason", "container.runtime");
    const { intake } = await start(api, { resource_attributes: attributes });
    await expect.poll(() => intake.batches.length).toBeGreaterThan(0);
    const { resourceMetrics } = decodeTree(intake.batches[0]!) as unknown as {
      resourceMetrics: {
        resource: { attributes: { key: string; value: { stringValue: string } }[] };
        scopeMetrics: { scope: { name: string }; metrics: { name: string; unit?: string }[] }[];
      }[];
    };
    const resources = resourceMetrics.map(({ resource }) =>
      Object.fromEntries(resource.attributes.map(({ key, value }) => [key, value.stringValue])),
    );
    const pod = {
      "k8s.pod.uid": "pod-1",
      "k8s.pod.name": "cart-1",
      "k8s.namespace.name": "shop",
      "k8s.node.name": "node-1",
    };
    expect(resources).toEqual([
      { ...pod, "k8s.pod.qos_class": "Burstable" },
      {
        ...pod,
        "container.id": "c2",
        "container.image.name": "registry:5000/team/cart",
        "container.image.tag": "1.2",
        "k8s.container.name": "app",
        "k8s.container.status.last_terminated_reason": "OOMKilled",
      },
      { "k8s.node.uid": "node-uid", "k8s.node.name": "node-1", "container.runtime": "containerd" },
    ]);
    expect(resourceMetrics[0]!.scopeMetrics[0]!.scope.name).toMatch(/\/k8sclusterreceiver$/);
  });

  it("measures optional metrics, and conditions and allocatable resources of nodes that the config names", async () => {
    const { values } = await start(await startApi(POD, NODE, ...MORE), {
      node_conditions_to_report: ["PIDPressure", "NetworkUnavailable"],
      allocatable_types_to_report: ["cpu", "memory", "hugepages-1Gi", "nvidia.com/gpu"],
      metrics: on(
        ...["k8s.container.status.state", "k8s.container.status.reason", "k8s.node.condition"],
        ...["k8s.persistentvolume.status.phase", "k8s.persistentvolume.storage.capacity"],
        ...["k8s.persistentvolumeclaim.storage.request", "k8s.persistentvolumeclaim.storage.capacity"],
        ...["k8s.service.endpoint.count", "k8s.service.load_balancer.ingress.count", "k8s.pod.status_reason"],
      ),
    });
    await expect.poll(values, { timeout: patienceMs }).toMatchObject({
      "k8s.pod.status_reason": 6,
      "k8s.container.status.state{waiting}": 1,
      "k8s.container.status.state{running}": 0,
      "k8s.container.status.reason{CrashLoopBackOff}": 1,
      "k8s.container.status.reason{OOMKilled}": 0,
      "k8s.node.condition{Ready}": 1,
      "k8s.node.condition{PIDPressure}": 0,
      "k8s.node.condition_pid_pressure": 0,
      "k8s.node.condition_network_unavailable": -1,
      "k8s.node.allocatable_cpu": 3.92,
      "k8s.node.allocatable_memory": 2 ** 30,
      "k8s.node.allocatable_hugepages_1_gi": 0,
      "k8s.persistentvolume.status.phase{Bound}": 1,
      "k8s.persistentvolume.status.phase{Failed}": 0,
      "k8s.persistentvolume.storage.capacity": 10 * 2 ** 30,
      "k8s.persistentvolumeclaim.storage.request": 5 * 2 ** 30,
      "k8s.service.load_balancer.ingress.count": 1,
      "k8s.service.endpoint.count{IPv4,ready,a}": 1,
      "k8s.service.endpoint.count{IPv4,serving,a}": 2,
      "k8s.service.endpoint.count{IPv4,terminating,a}": 1,
    });
    expect(Object.keys(values()).filter((name) => name.includes("gpu") || name.includes("condition_ready"))).toEqual(
      [],
    );
  });

  it("follows objects as they change and disappear", async () => {
    const api = await startApi(...OBJECTS);
    const { values } = await start(api);
    await expect.poll(() => values()["k8s.deployment.available"]).toBe(2);
    api.put(named("Deployment", { replicas: 3 }, { availableReplicas: 3 }) as never);
    await expect.poll(() => values()["k8s.deployment.available"]).toBe(3);
    api.remove("a-deployment", "Deployment");
    await expect.poll(() => values()["k8s.deployment.available"]).toBeUndefined();
    expect(values()["k8s.replicaset.desired"]).toBe(3);
  });

  it("asks only for objects of the namespaces that the config names, and for kinds that have a metric", async () => {
    const api = await startApi(POD, NODE, ...OBJECTS);
    const { values } = await start(api, {
      namespaces: ["shop"],
      metrics: { "k8s.hpa.max_replicas": { enabled: false }, "k8s.hpa.min_replicas": { enabled: false } },
    });
    await expect.poll(() => values()["k8s.pod.phase"]).toBe(2);
    const paths = new Set(api.requests.map(({ path }) => path));
    expect(paths).toContain("/apis/apps/v1/namespaces/shop/deployments");
    expect([...paths].filter((path) => !path.includes("/namespaces/shop/"))).toEqual([]);
    expect(paths).not.toContain("/api/v1/namespaces/shop/services");
  });

  it("measures the rest if the server does not have a kind, and says which", async () => {
    const api = await startApi(POD, ...OBJECTS);
    api.missing.add("/apis/autoscaling/v2/horizontalpodautoscalers");
    const { values, logger } = await start(api);
    await expect.poll(() => values()["k8s.pod.phase"], { timeout: patienceMs }).toBe(2);
    expect(values()["k8s.hpa.max_replicas"]).toBeUndefined();
    expect(logger.lines.map(({ fields }) => (fields as { path: string }).path)).toEqual([
      "/apis/autoscaling/v2/horizontalpodautoscalers",
    ]);
  });

  it("says why the API cannot be read, and recovers", async () => {
    const api = await startApi(POD);
    api.failWith = 403;
    const { values, logger } = await start(api);
    await expect.poll(() => logger.lines.length, { timeout: patienceMs }).toBeGreaterThan(0);
    expect(logger.lines[0]!.fields).toMatchObject({
      scraper: "/api/v1/pods",
      reason: expect.stringMatching(/HTTP 403: as told/),
    });
    api.failWith = undefined;
    await expect.poll(() => values()["k8s.pod.phase"], { timeout: patienceMs }).toBe(2);
  });

  it.each([
    ["no JSON", "<html>"],
    ["no list", "{}"],
    ["objects of any shape", '{"metadata":{},"items":[{"metadata":{"name":"x"},"spec":3,"status":[1]}]}'],
    [
      "huge numbers",
      '{"metadata":{},"items":[{"metadata":{"name":"x"},"spec":{"replicas":1e300},"status":{"hard":{"a":"1E"}}}]}',
    ],
  ])("survives a server that answers %s", async (_, answer) => {
    const api = await startApi(POD);
    api.answerWith = answer;
    const { values } = await start(api);
    await expect.poll(() => api.requests.length, { timeout: patienceMs }).toBeGreaterThan(10);
    api.answerWith = undefined;
    await expect.poll(() => values()["k8s.pod.phase"], { timeout: patienceMs }).toBe(2);
  });

  it("refuses settings that cannot work", () => {
    const problems = (config: object) =>
      k8sClusterSchema.safeParse(config).error?.issues.map(({ path }) => path.join());
    expect(problems({ auth_type: "kubeConfig" })).toEqual(["auth_type"]);
    expect(problems({ k8s_leader_elector: "" })).toEqual(["k8s_leader_elector"]);
    expect(problems({ distribution: "other" })).toEqual(["distribution"]);
    expect(problems({ metadata_exporters: ["signalfx"], kube_api_qps: 5 })).toBeUndefined();
  });
});

describe("the k8s_cluster receiver keeps the contract", () => {
  let url = "";
  for (const each of receiverConformance(k8sClusterReceiver as ReceiverFactory, {
    config: () => ({ ...quick, api_server: url }),
    patienceMs,
  }))
    it(each.name, async () => {
      ({ url } = await startApi(POD, NODE, ...OBJECTS));
      await each.run();
    });
});

import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { type Batch, batchFromJson, batchToJson, type Logger } from "../../../src/plugin.js";
import { k8sAttributes } from "../../../src/processors/k8s-attributes/component.js";
import { k8sAttributesSchema } from "../../../src/processors/k8s-attributes/config.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { feed, owed } from "../../support/deliveries.js";
import { CONDITION_LIMIT_MS as timeout } from "../../support/limits.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../support/servers/kubernetes-api.js";

afterEach(() => useEnvironment({}));

const POD = {
  kind: "Pod",
  metadata: {
    name: "cart-6c45f8d6f6-x2x9z",
    namespace: "shop",
    uid: "pod-1",
    labels: { app: "cart", "app.kubernetes.io/version": "1.2", "pod-template-hash": "6c45f8d6f6" },
    annotations: { team: "blue", "resource.opentelemetry.io/foo": "bar" },
    ownerReferences: [{ kind: "ReplicaSet", name: "cart-6c45f8d6f6", uid: "rs-1" }],
  },
  spec: {
    nodeName: "node-1",
    containers: [
      { name: "app", image: "registry:5000/team/cart:1.2@sha256:abc" },
      { name: "sidecar", image: "envoy" },
    ],
  },
  status: {
    podIP: "10.0.0.5",
    podIPs: [{ ip: "10.0.0.5" }, { ip: "fd00::5" }],
    startTime: "2026-01-02T03:04:05Z",
    containerStatuses: [
      {
        name: "app",
        containerID: "containerd://c2",
        restartCount: 1,
        imageID: "registry:5000/team/cart@sha256:abc",
        lastState: { terminated: { containerID: "containerd://c1" } },
      },
    ],
  },
};
const plain = (name: string, ip: string, more: object = {}) => ({
  kind: "Pod",
  metadata: { name, namespace: "shop", uid: `uid-${name}`, ...more },
  status: { podIP: ip, startTime: "2026-01-02T03:04:05Z" },
});

async function startApi(...objects: (typeof POD | ReturnType<typeof plain> | object)[]): Promise<KubernetesApiServer> {
  const api = await startKubernetesApi();
  for (const object of objects) api.put(object as never);
  onTestFinished(() => api.close());
  return api;
}

type Attributes = Readonly<Record<string, string>>;

function logsOf(...resources: Attributes[]): Batch {
  const resourceLogs = resources.map((attributes) => ({
    resource: { attributes: Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } })) },
    scopeLogs: [{ logRecords: [{ body: { stringValue: "x" } }] }],
  }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs }));
}

function attributesOf(batch: Batch): Record<string, unknown>[] {
  return JSON.parse(batchToJson(batch)).resourceLogs.map((container: { resource?: { attributes?: object[] } }) =>
    Object.fromEntries(
      (container.resource?.attributes ?? []).map((each) => {
        const { key, value } = each as { key: string; value: { stringValue?: string } };
        return [key, value.stringValue ?? value];
      }),
    ),
  );
}

/** A running processor: returns the resources of a batch from this address. */
function start(config: object, logger: Logger = silentLogger) {
  const context = { id: "k8s", kind: "processor", logger, metrics: noMetrics, clock: systemClock, random: () => 0.5 };
  const { out, source, unsubscribe } = feed(k8sAttributes.create(k8sAttributesSchema.parse(config), context as never));
  onTestFinished(unsubscribe);
  return async (address: string | undefined, ...resources: Attributes[]) => {
    const before = out.length;
    const { delivery, outcomes } = owed(logsOf(...resources), address === undefined ? {} : { address });
    source.next(delivery);
    await expect.poll(() => out.length + outcomes.length, { timeout }).toBe(before + 1);
    const [outcome] = outcomes;
    if (outcome !== undefined && !outcome.ok) throw outcome.refusal;
    return attributesOf(out[before]!.batch);
  };
}

const BY_UID = { pod_association: [{ sources: [{ from: "resource_attribute", name: "k8s.pod.uid" }] }] };

describe("the processor k8s_attributes", () => {
  it("adds the default attributes of the pod with the client's address", async () => {
    const api = await startApi(POD, plain("other", "10.0.0.6"));
    const send = start({ api_server: api.url });
    const expected = {
      "k8s.namespace.name": "shop",
      "k8s.pod.name": "cart-6c45f8d6f6-x2x9z",
      "k8s.pod.uid": "pod-1",
      "k8s.pod.start_time": "2026-01-02T03:04:05Z",
      "k8s.deployment.name": "cart",
      "k8s.node.name": "node-1",
    };
    expect(await send("10.0.0.5", {})).toEqual([expected]);
    expect(await send("fd00::5", {})).toEqual([expected]);
    expect(await send(undefined, { "k8s.pod.ip": "10.0.0.5" }, { "host.name": "10.0.0.6" }, { a: "b" })).toEqual([
      { "k8s.pod.ip": "10.0.0.5", ...expected },
      {
        "host.name": "10.0.0.6",
        "k8s.namespace.name": "shop",
        "k8s.pod.name": "other",
        "k8s.pod.uid": "uid-other",
        "k8s.pod.start_time": "2026-01-02T03:04:05Z",
      },
      { a: "b" },
    ]);
    // For a client that is not a pod, only the address is added.
    expect(await send("192.0.2.1", {})).toEqual([{ "k8s.pod.ip": "192.0.2.1" }]);
  });

  it("keeps existing attributes of a resource, unless they are empty", async () => {
    const api = await startApi(POD);
    const send = start({ api_server: api.url, extract: { metadata: ["k8s.pod.name", "k8s.node.name"] }, ...BY_UID });
    const own = { "k8s.pod.uid": "pod-1", "k8s.pod.name": "mine", "k8s.node.name": "" };
    expect(await send(undefined, own)).toEqual([{ ...own, "k8s.node.name": "node-1" }]);
  });

  it("associates by the first rule whose sources all match a pod", async () => {
    const api = await startApi(POD);
    const name = { from: "resource_attribute", name: "k8s.pod.name" };
    const namespace = { from: "resource_attribute", name: "k8s.namespace.name" };
    const label = { from: "resource_attribute", name: "app" };
    const send = start({
      api_server: api.url,
      extract: { metadata: ["k8s.pod.uid"], labels: [{ tag_name: "app", key: "app" }] },
      pod_association: [
        { sources: [name, namespace] },
        { from: "resource_attribute", name: "container.id" },
        { sources: [label] },
      ],
    });
    const uidsOf = (all: Record<string, unknown>[]) => all.map((each) => each["k8s.pod.uid"]);
    const podName = { "k8s.pod.name": POD.metadata.name };
    const found = await send(
      "10.0.0.5",
      { ...podName, "k8s.namespace.name": "shop" },
      { ...podName, "k8s.namespace.name": "else" },
      podName,
      { ...podName, "k8s.namespace.name": "else", "container.id": "c1" },
      { app: "cart" },
    );
    expect(uidsOf(found)).toEqual(["pod-1", undefined, undefined, "pod-1", "pod-1"]);
  });

  it("extracts labels and annotations of pods, namespaces and nodes, by name or pattern", async () => {
    const api = await startApi(
      { kind: "Namespace", metadata: { name: "shop", labels: { stage: "prod" }, annotations: { owner: "us" } } },
      { kind: "Namespace", metadata: { name: "kube-system", uid: "cluster-1" } },
      { kind: "Node", metadata: { name: "node-1", uid: "n-1", labels: { zone: "a" } } },
      {
        kind: "ReplicaSet",
        metadata: { name: "cart-6c45f8d6f6", namespace: "shop", ownerReferences: [{ kind: "Deployment", uid: "d-1" }] },
      },
      POD,
    );
    const send = start({
      api_server: api.url,
      ...BY_UID,
      extract: {
        metadata: ["k8s.deployment.uid", "k8s.node.uid", "k8s.cluster.uid", "k8s.replicaset.uid", "service.name"],
        labels: [
          { key: "app" },
          { tag_name: "$1", key_regex: "app\\.kubernetes\\.io/(.*)" },
          { tag_name: "stage", key: "stage", from: "namespace" },
          { key: "zone", from: "node" },
        ],
        annotations: [{ key_regex: "te.m" }, { tag_name: "owner", key: "owner", from: "namespace" }],
        otel_annotations: true,
      },
    });
    expect(await send(undefined, { "k8s.pod.uid": "pod-1" })).toEqual([
      {
        "k8s.pod.uid": "pod-1",
        "k8s.deployment.uid": "d-1",
        "k8s.node.uid": "n-1",
        "k8s.cluster.uid": "cluster-1",
        "k8s.replicaset.uid": "rs-1",
        "service.name": "cart",
        "k8s.pod.labels.app": "cart",
        version: "1.2",
        stage: "prod",
        "k8s.node.labels.zone": "a",
        "k8s.pod.annotations.team": "blue",
        owner: "us",
        foo: "bar",
      },
    ]);
    api.put({ kind: "Namespace", metadata: { name: "shop", labels: { stage: "test" } } } as never);
    await expect
      .poll(async () => (await send(undefined, { "k8s.pod.uid": "pod-1" }))[0]!["stage"], { timeout })
      .toBe("test");
  });

  it("adds the uid of the cron job that made a pod's job", async () => {
    const job = { kind: "Job", name: "report-29", uid: "j-1" };
    const api = await startApi(
      {
        kind: "Job",
        metadata: { name: job.name, namespace: "shop", ownerReferences: [{ kind: "CronJob", uid: "cj-1" }] },
      },
      { ...POD, metadata: { ...POD.metadata, ownerReferences: [job] } },
    );
    const metadata = ["k8s.job.uid", "k8s.cronjob.name", "k8s.cronjob.uid"];
    const send = start({ api_server: api.url, ...BY_UID, extract: { metadata } });
    expect(await send(undefined, { "k8s.pod.uid": "pod-1" })).toEqual([
      {
        "k8s.pod.uid": "pod-1",
        "k8s.job.uid": "j-1",
        "k8s.cronjob.name": "report",
        "k8s.cronjob.uid": "cj-1",
      },
    ]);
  });

  it("adds attributes of the container that a resource names", async () => {
    const api = await startApi(POD);
    const metadata = [
      ...["k8s.container.name", "container.id", "container.image.name", "container.image.tag"],
      ...["container.image.repo_digests", "service.version", "service.instance.id"],
    ];
    const send = start({ api_server: api.url, ...BY_UID, extract: { metadata } });
    const uid = { "k8s.pod.uid": "pod-1" };
    const app = {
      "k8s.container.name": "app",
      "container.image.name": "registry:5000/team/cart",
      "container.image.tag": "1.2",
      "container.image.repo_digests": {
        arrayValue: { values: [{ stringValue: "registry:5000/team/cart@sha256:abc" }] },
      },
      "service.version": "1.2@sha256:abc",
      "service.instance.id": `shop.${POD.metadata.name}.app`,
    };
    const restarted = { ...uid, "k8s.container.name": "app", "k8s.container.restart_count": "0" };
    expect(
      await send(undefined, { ...uid, "container.id": "c2" }, { ...uid, "k8s.container.name": "app" }, restarted),
    ).toEqual([
      { ...uid, "container.id": "c2", ...app },
      { ...uid, "container.id": "c2", ...app },
      { ...restarted, "container.id": "c1", ...app },
    ]);
    expect(await send(undefined, uid, { ...uid, "k8s.container.name": "sidecar" })).toEqual([
      uid,
      {
        ...uid,
        "k8s.container.name": "sidecar",
        "container.image.name": "envoy",
        "container.image.tag": "latest",
        "service.instance.id": `shop.${POD.metadata.name}.sidecar`,
      },
    ]);
  });

  it("follows pods as they appear, change and disappear, and through a restarted watch", async () => {
    const api = await startApi(plain("a", "10.0.0.1"));
    const send = start({ api_server: api.url, extract: { metadata: ["k8s.pod.name"] } });
    const nameAt = async (ip: string) => (await send(ip, {}))[0]!["k8s.pod.name"];
    expect(await nameAt("10.0.0.1")).toBe("a");
    await expect.poll(() => api.watches, { timeout }).toBe(1);
    api.put(plain("b", "10.0.0.2") as never);
    await expect.poll(() => nameAt("10.0.0.2"), { timeout }).toBe("b");
    api.put(plain("a", "10.0.0.3") as never);
    await expect.poll(() => nameAt("10.0.0.3"), { timeout }).toBe("a");
    expect(await nameAt("10.0.0.1")).toBeUndefined();
    api.forget();
    api.put(plain("c", "10.0.0.4") as never);
    await expect.poll(() => nameAt("10.0.0.4"), { timeout }).toBe("c");
    // Data of a deleted pod may still arrive; its address may belong to another pod by then.
    api.remove("b", "Pod");
    api.put({ ...plain("d", "10.0.0.2"), status: { podIP: "10.0.0.2", startTime: "2026-01-02T04:00:00Z" } } as never);
    await expect.poll(() => nameAt("10.0.0.2"), { timeout }).toBe("d");
    api.remove("c", "Pod");
    api.put(plain("e", "10.0.0.9") as never);
    await expect.poll(() => nameAt("10.0.0.9"), { timeout }).toBe("e");
    expect(await nameAt("10.0.0.4")).toBe("c");
  });

  it("requests pods by node, namespace, fields and labels", async () => {
    useEnvironment({ NODE: "node-7" });
    const api = await startApi();
    const send = start({
      api_server: api.url,
      filter: {
        node_from_env_var: "NODE",
        namespace: "shop",
        fields: [{ key: "status.phase", value: "Running" }],
        labels: [
          { key: "a", value: "1" },
          { key: "b", value: "2", op: "not-equals" },
          { key: "c", op: "exists" },
          { key: "d", op: "does-not-exist" },
        ],
      },
    });
    await send(undefined, {});
    expect(api.requests[0]).toMatchObject({ path: "/api/v1/namespaces/shop/pods" });
    const { query } = api.requests[0]!;
    expect([query.get("fieldSelector"), query.get("labelSelector")]).toEqual([
      "spec.nodeName=node-7,status.phase=Running",
      "a=1,b!=2,c,!d",
    ]);
  });

  it("ignores excluded pods and pods on the host network", async () => {
    const host = { ...plain("host", "10.0.0.7"), spec: { hostNetwork: true } };
    const api = await startApi(plain("jaeger-agent", "10.0.0.6"), host);
    const send = start({ api_server: api.url, exclude: { pods: [{ name: "jaeger-agent" }] } });
    expect(await send("10.0.0.6", {})).toEqual([{ "k8s.pod.ip": "10.0.0.6" }]);
    expect(await send("10.0.0.7", {})).toEqual([{ "k8s.pod.ip": "10.0.0.7" }]);
  });

  it("adds only the address, and asks no API, in passthrough", async () => {
    const api = await startApi(POD);
    const send = start({ api_server: api.url, passthrough: true });
    expect(await send("10.0.0.5", {}, { "k8s.pod.ip": "1.2.3.4" })).toEqual([
      { "k8s.pod.ip": "10.0.0.5" },
      { "k8s.pod.ip": "1.2.3.4" },
    ]);
    expect(await send(undefined, { a: "b" })).toEqual([{ a: "b" }]);
    expect(api.requests).toEqual([]);
  });

  it("lets data pass while the API cannot be read, or refuses it where the config says to wait", async () => {
    const api = await startApi(POD);
    api.failWith = 403;
    const said: unknown[] = [];
    const logger = Object.assign(Object.create(silentLogger) as Logger, {
      warn: (fields: unknown) => void said.push(fields),
    });
    const send = start({ api_server: api.url, wait_for_metadata_timeout: "50ms" }, logger);
    expect(await send("10.0.0.5", { a: "b" })).toEqual([{ a: "b", "k8s.pod.ip": "10.0.0.5" }]);
    const refused = { path: "/api/v1/pods", error: expect.stringContaining("HTTP 403: as told") };
    await expect.poll(() => said[0], { timeout }).toMatchObject(refused);
    const strict = start({ api_server: api.url, wait_for_metadata: true, wait_for_metadata_timeout: "50ms" });
    await expect(strict("10.0.0.5", {})).rejects.toMatchObject({ kind: "transient" });
    api.failWith = undefined;
    await expect.poll(async () => (await send("10.0.0.5", {}))[0]!["k8s.pod.uid"], { timeout }).toBe("pod-1");
    await expect
      .poll(() => strict("10.0.0.5", {}).catch(() => []), { timeout })
      .toMatchObject([{ "k8s.pod.uid": "pod-1" }]);
  });

  it.each([
    ["no JSON", "<html>"],
    ["null", "null"],
    ["a text", '"pods"'],
    ["no list", '{"items":{"a":1}}'],
    ["nameless objects", '{"items":[{}]}'],
    ["nothing", "{}"],
    [
      "pods of any shape",
      JSON.stringify({
        metadata: { resourceVersion: "1" },
        items: [
          { metadata: { name: "a", labels: [1], annotations: "x", ownerReferences: { a: 1 }, namespace: 7, uid: {} } },
          { metadata: { name: "b" }, spec: { containers: [null, 1, { name: 5, image: {} }], nodeName: [] }, status: 7 },
          {
            metadata: { name: "c" },
            spec: null,
            status: { podIP: 5, podIPs: [null, { ip: 1 }], containerStatuses: "x" },
          },
        ],
      }),
    ],
  ])("lets data pass while the API answers %s, and recovers when it answers correctly", async (_what, answer) => {
    const api = await startApi(POD);
    api.answerWith = answer;
    const send = start({ api_server: api.url, wait_for_metadata_timeout: "50ms" });
    expect(await send("10.0.0.5", {})).toEqual([{ "k8s.pod.ip": "10.0.0.5" }]);
    api.answerWith = undefined;
    api.forget();
    await expect.poll(async () => (await send("10.0.0.5", {}))[0]!["k8s.pod.uid"], { timeout }).toBe("pod-1");
  });
});

import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { kubeletStatsReceiver } from "../../../src/receivers/kubelet-stats/component.js";
import { TestIntake } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { TLS_FILES } from "../../runtime/net/tls/files.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { until } from "../../support/until.js";
import { type Point, pointsOf } from "../prometheus/harness.js";
import { startReceiver } from "../started-receiver.js";
import { PODS, refusal, SUMMARY, startKubelet } from "./kubelet-server.js";

async function start(config: object) {
  const intake = new TestIntake();
  const logger = listeningLogger();
  const quick = { collection_interval: "20ms", initial_delay: 0, auth_type: "none", ...config };
  const receiver = await startReceiver(kubeletStatsReceiver, quick, intake, logger, "metrics");
  onTestFinished(() => receiver.stop());
  return { intake, logger, receiver };
}

async function firstPoints(config: object): Promise<readonly Point[]> {
  const { intake } = await start(config);
  await until(() => expect(intake.batches.length).toBeGreaterThan(0));
  return pointsOf(intake.batches[0]!);
}

async function firstReason(config: object): Promise<string> {
  const { logger } = await start(config);
  await until(() => expect(logger.lines.length).toBeGreaterThan(0));
  const { scraper, reason } = logger.lines[0]!.fields as { scraper: string; reason: string };
  return `${scraper}: ${reason}`;
}

function valuesOf(points: readonly Point[]): Record<string, number> {
  const entries = points.map(({ name, labels, data }) => {
    const own = Object.values(labels).join(",");
    return [own === "" ? name : `${name}{${own}}`, Number(data["asInt"] ?? data["asDouble"])];
  });
  return Object.fromEntries(entries);
}

const enabled = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { enabled: true }]));

const USE = {
  "cpu.time": 2.5,
  "memory.available": 1000,
  "memory.usage": 600,
  "memory.rss": 400,
  "memory.working_set": 500,
  "memory.page_faults": 30,
  "memory.major_page_faults": 3,
  "filesystem.available": 70,
  "filesystem.capacity": 100,
  "filesystem.usage": 30,
};
const NETWORK = {
  "network.io{eth0,receive}": 10,
  "network.io{eth0,transmit}": 20,
  "network.errors{eth0,receive}": 1,
  "network.errors{eth0,transmit}": 2,
};
const VOLUME = { available: 70, capacity: 100, inodes: 10, "inodes.free": 7, "inodes.used": 3 };
const under = (prefix: string, values: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}.${name}`, value]));

describe("the kubelet_stats receiver", () => {
  it("measures the node, its pods and containers, with the Collector's names", async () => {
    const { endpoint, requests } = await startKubelet({ "/stats/summary": SUMMARY });
    expect(valuesOf(await firstPoints({ endpoint }))).toEqual({
      ...under("k8s.node", { ...USE, ...NETWORK, "cpu.usage": 0.5 }),
      ...under("k8s.pod", { ...USE, ...NETWORK, "cpu.usage": 0.25 }),
      ...under("container", { ...USE, "cpu.usage": 0.25 }),
    });
    expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(["/stats/summary"]));
  });

  it("has the Collector's units and kinds, and counters that begin with what they count", async () => {
    const { endpoint } = await startKubelet({ "/stats/summary": SUMMARY });
    const points = await firstPoints({ endpoint, metrics: enabled("container.uptime", "k8s.node.pid.usage") });
    const told = (name: string) => {
      const { metric, data, kind } = points.find((point) => point.name === name)!;
      const { isMonotonic, aggregationTemporality } = (metric["sum"] ?? {}) as Record<string, unknown>;
      const type = "asInt" in data ? "int" : "double";
      return [metric["unit"], kind, type, isMonotonic, aggregationTemporality];
    };
    expect(told("container.cpu.time")).toEqual(["s", "sum", "double", true, 2]);
    expect(told("k8s.pod.cpu.usage")).toEqual(["{cpu}", "gauge", "double", undefined, undefined]);
    expect(told("k8s.node.memory.page_faults")).toEqual(["1", "gauge", "int", undefined, undefined]);
    expect(told("k8s.pod.network.io")).toEqual(["By", "sum", "int", true, 2]);
    expect(told("container.uptime")).toEqual(["s", "sum", "int", true, 2]);
    expect(told("k8s.node.pid.usage").slice(0, 3)).toEqual(["{thread}", "sum", "int"]);
    const startOf = (name: string) => points.find((point) => point.name === name)!.data["startTimeUnixNano"];
    expect(startOf("k8s.node.cpu.time")).toBe(`${Date.parse("2024-01-01T00:00:00Z")}000000`);
    expect(startOf("container.cpu.time")).toBe(`${Date.parse("2024-02-02T00:00:00Z")}000000`);
  });

  it("measures the groups that are asked for, with all interfaces if wanted", async () => {
    const { endpoint } = await startKubelet({ "/stats/summary": SUMMARY });
    const all = await firstPoints({
      endpoint,
      metric_groups: ["volume", "pod"],
      collect_all_network_interfaces: { pod: true },
      metrics: enabled("k8s.pod.volume.usage"),
    });
    expect(valuesOf(all)).toEqual({
      ...under("k8s.pod", { ...USE, ...NETWORK, "cpu.usage": 0.25, "volume.usage": 30 }),
      ...under("k8s.pod.network", { "io{eth1,receive}": 5, "io{eth1,transmit}": 6 }),
      ...under("k8s.pod.network", { "errors{eth1,receive}": 0, "errors{eth1,transmit}": 0 }),
      ...under("k8s.volume", VOLUME),
    });
    const volumes = all.filter(({ name }) => name === "k8s.volume.inodes").map(({ resource }) => resource);
    expect(volumes).toEqual(
      ["data", "config"].map((name) => ({
        "k8s.pod.uid": "u-1",
        "k8s.pod.name": "web-1",
        "k8s.namespace.name": "shop",
        "k8s.volume.name": name,
      })),
    );
  });

  it("measures what is off unless enabled, of the node and its parts", async () => {
    const { endpoint } = await startKubelet({ "/stats/summary": SUMMARY });
    const metrics = {
      ...enabled("k8s.node.pid.limit", "k8s.node.filesystem.inode.free", "k8s.node.cpu.utilization"),
      ...enabled("k8s.node.system_container.cpu.usage", "k8s.container.ephemeral_storage.usage"),
      "k8s.node.cpu.time": { enabled: false },
    };
    const points = await firstPoints({ endpoint, metrics });
    expect(valuesOf(points)).toMatchObject({
      "k8s.node.pid.limit": 4194304,
      "k8s.node.filesystem.inode.free": 7,
      "k8s.node.cpu.utilization": 0.5,
      "k8s.node.system_container.cpu.usage": 0.1,
      "k8s.container.ephemeral_storage.usage{rootfs}": 30,
      "k8s.container.ephemeral_storage.usage{logs}": 4,
    });
    expect(valuesOf(points)).not.toHaveProperty("k8s.node.cpu.time");
    expect(points.find(({ name }) => name === "k8s.node.system_container.cpu.usage")!.resource).toEqual({
      "k8s.node.name": "node-1",
      "k8s.node.system_container.name": "kubelet",
    });
  });

  it("asks for pods to know the ids of containers, the types of volumes, limits and requests", async () => {
    const { endpoint } = await startKubelet({ "/stats/summary": SUMMARY, "/pods": PODS });
    const shares = ["cpu_limit", "cpu_request", "memory_limit", "memory_request"].map((each) => `${each}_utilization`);
    const points = await firstPoints({
      endpoint,
      metric_groups: ["pod", "container", "volume"],
      extra_metadata_labels: ["container.id", "k8s.volume.type"],
      metrics: enabled(...shares.flatMap((share) => [`k8s.pod.${share}`, `k8s.container.${share}`])),
      resource_attributes: { "k8s.pod.uid": { enabled: false } },
    });
    const parts = {
      cpu_limit_utilization: 0.5,
      cpu_request_utilization: 1,
      memory_limit_utilization: 0.5,
      memory_request_utilization: 0.6,
    };
    expect(valuesOf(points)).toMatchObject({ ...under("k8s.pod", parts), ...under("k8s.container", parts) });
    const resourceOf = (name: string) => points.filter((point) => point.name === name).map(({ resource }) => resource);
    const pod = { "k8s.pod.name": "web-1", "k8s.namespace.name": "shop" };
    expect(resourceOf("container.cpu.time")).toEqual([
      { ...pod, "k8s.container.name": "web", "container.id": "abc123" },
    ]);
    expect(resourceOf("k8s.volume.inodes")).toEqual([
      {
        ...pod,
        "k8s.volume.name": "data",
        "k8s.volume.type": "persistentVolumeClaim",
        "k8s.persistentvolumeclaim.name": "data-web",
      },
      { ...pod, "k8s.volume.name": "config", "k8s.volume.type": "configMap" },
    ]);
  });

  it("asks the API server for the volume behind a claim, once, and for the size of the node", async () => {
    const { endpoint } = await startKubelet({ "/stats/summary": SUMMARY, "/pods": PODS });
    const api = await startKubelet({
      "/api/v1/nodes/node-1": { status: { capacity: { cpu: "2", memory: "6Ki" } } },
      "/api/v1/namespaces/shop/persistentvolumeclaims/data-web": { spec: { volumeName: "pv-1" } },
      "/api/v1/persistentvolumes/pv-1": { spec: { gcePersistentDisk: { pdName: "disk", fsType: "ext4" } } },
    });
    const { intake } = await start({
      endpoint,
      node: "node-1",
      metric_groups: ["pod", "volume"],
      extra_metadata_labels: ["k8s.volume.type"],
      k8s_api_config: { auth_type: "none", api_server: `http://${api.endpoint}` },
      metrics: enabled("k8s.pod.cpu.node.utilization", "k8s.pod.memory.node.utilization"),
      resource_attributes: enabled("gce.pd.name", "fs.type", "partition"),
    });
    await until(() => expect(intake.batches.length).toBeGreaterThan(2));
    const points = pointsOf(intake.batches[2]!);
    expect(valuesOf(points)["k8s.pod.cpu.node.utilization"]).toBe(0.125);
    expect(valuesOf(points)["k8s.pod.memory.node.utilization"]).toBe(600 / 6144);
    expect(points.find(({ resource }) => resource["k8s.volume.name"] === "data")!.resource).toMatchObject({
      "k8s.volume.type": "gcePersistentDisk",
      "k8s.persistentvolumeclaim.name": "data-web",
      "gce.pd.name": "disk",
      "fs.type": "ext4",
      partition: "0",
    });
    expect(api.requests.filter(({ path }) => path === "/api/v1/persistentvolumes/pv-1")).toHaveLength(1);
  });

  it("measures what does not need /pods while that is refused, and containers once they are known", async () => {
    const kubelet = await startKubelet({
      "/stats/summary": SUMMARY,
      "/pods": refusal(403, "Forbidden (user=agent, verb=get, resource=nodes, subresource=proxy)"),
    });
    const { intake, logger } = await start({
      endpoint: kubelet.endpoint,
      extra_metadata_labels: ["container.id"],
      metric_groups: ["pod", "container"],
    });
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    const names = () => pointsOf(intake.batches.at(-1)!).map(({ name }) => name);
    expect(names()).toContain("k8s.pod.cpu.time");
    expect(names()).not.toContain("container.cpu.time");
    expect(logger.lines[0]!.fields).toMatchObject({
      scraper: "/pods",
      reason: expect.stringContaining("HTTP 403: Forbidden (user=agent"),
    });
    kubelet.answers["/pods"] = PODS;
    await until(() => expect(names()).toContain("container.cpu.time"));
  });

  it.each([
    ["container.id", "container", "container web of web-1"],
    ["k8s.volume.type", "volume", "volume data of web-1"],
  ])("says what it leaves out while /pods does not know it, and %s is wanted", async (label, group, what) => {
    const { endpoint } = await startKubelet({ "/stats/summary": SUMMARY, "/pods": { items: [] } });
    const config = { endpoint, metric_groups: [group], extra_metadata_labels: [label] };
    expect(await firstReason(config)).toBe(`${what}: /pods does not know it yet`);
  });
});

describe("what a kubelet may answer", () => {
  it.each([
    ["401", refusal(401, "Unauthorized"), /HTTP 401: Unauthorized$/],
    ["403", refusal(403, "Forbidden (user=system:anonymous)"), /HTTP 403: Forbidden \(user=system:anonymous\)$/],
    ["a page of a proxy", refusal(502, "<html>bad</html>"), /HTTP 502$/],
    ["garbage", refusal(200, "{ no json"), /: the answer to \/stats\/summary is not JSON$/],
    ["another object", { kind: "Status" }, /the answer is not a summary of a node and its pods$/],
    ["a list", [], /the answer is not a summary of a node and its pods$/],
  ])("says what is wrong with %s", async (_, answer, reason) => {
    const { endpoint } = await startKubelet({ "/stats/summary": answer });
    expect(await firstReason({ endpoint })).toMatch(reason);
  });

  it("times out on an answer that does not come or does not end, and continues", async () => {
    const kubelet = await startKubelet({ "/stats/summary": () => {} });
    const { intake, logger } = await start({ endpoint: kubelet.endpoint, timeout: "100ms" });
    const reason = { scraper: "/stats/summary", reason: "not finished within 100 ms" };
    await until(() => expect(logger.lines[0]?.fields).toMatchObject(reason));
    kubelet.answers["/stats/summary"] = (response) => void response.write('{"node":{');
    const asked = kubelet.requests.length;
    await until(() => expect(kubelet.requests.length).toBeGreaterThan(asked + 1));
    kubelet.answers["/stats/summary"] = SUMMARY;
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
  });

  it("takes no more of an endless answer than its limit", async () => {
    const { endpoint } = await startKubelet({
      "/stats/summary": (response) => {
        const chunk = Buffer.alloc(1024 * 1024, " ");
        const write = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on("drain", write);
        write();
      },
    });
    expect(await firstReason({ endpoint, timeout: "1m" })).toMatch(/the answer is longer than \d+ bytes$/);
  });

  it("does not expand an answer that consists of nested objects only", async () => {
    const text = `{"pods":[${"{},".repeat(1_000_000)}{}]}`;
    const { endpoint } = await startKubelet({ "/stats/summary": (response) => void response.end(text) });
    expect(await firstReason({ endpoint, timeout: "1m" })).toMatch(
      /: the answer has more than 1000000 objects and lists$/,
    );
  });

  it("stops at once while an answer is awaited", async () => {
    const kubelet = await startKubelet({ "/stats/summary": () => {} });
    const { receiver, logger } = await start({ endpoint: kubelet.endpoint, timeout: "1h" });
    await until(() => expect(kubelet.requests.length).toBe(1));
    await receiver.stop();
    expect(logger.lines).toEqual([]);
  });

  it("leaves out what is missing, of another type, or cannot be, and keeps the rest", async () => {
    const { endpoint } = await startKubelet({
      "/stats/summary": {
        node: {
          nodeName: "n",
          startTime: null,
          cpu: { usageNanoCores: "many", usageCoreNanoSeconds: 1e9 },
          memory: { availableBytes: 2 ** 64, usageBytes: -1, rssBytes: null, workingSetBytes: 5 },
          fs: [],
          network: { name: "eth0", rxBytes: 1 },
          systemContainers: [null],
        },
        pods: [
          null,
          7,
          { podRef: { uid: "u" }, startTime: "0001-01-01T00:00:00Z", containers: [null, "x"], volume: {} },
          { podRef: { uid: "v" }, startTime: "9999-01-01T00:00:00Z", memory: { usageBytes: 3 }, cpu: null },
        ],
      },
    });
    const metrics = enabled("k8s.pod.uptime", "k8s.node.uptime");
    const points = await firstPoints({ endpoint, metrics, metric_groups: ["node", "pod", "container", "volume"] });
    expect(valuesOf(points)).toEqual({
      "k8s.node.cpu.time": 1,
      "k8s.node.memory.working_set": 5,
      "k8s.node.network.io{eth0,receive}": 1,
      "k8s.pod.memory.usage": 3,
    });
    const { startTimeUnixNano, timeUnixNano } = points.find(({ name }) => name === "k8s.node.cpu.time")!.data;
    expect(BigInt(startTimeUnixNano as string)).toBeLessThanOrEqual(BigInt(timeUnixNano as string));
  });
});

describe("how a kubelet knows the agent", () => {
  it("sends the token of its account, reloaded for each request", async () => {
    const kubelet = await startKubelet({ "/stats/summary": SUMMARY }, true);
    const token_file = join(temporaryFolder(), "token");
    writeFileSync(token_file, "one\n");
    const config = { endpoint: kubelet.endpoint, auth_type: "serviceAccount", token_file, ca_file: TLS_FILES.ca };
    const { intake } = await start(config);
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
    expect(kubelet.requests[0]!.authorization).toBe("Bearer one");
    writeFileSync(token_file, "two\n");
    await until(() => expect(kubelet.requests.at(-1)!.authorization).toBe("Bearer two"));
  });

  it("does not give its token to a server whose certificate it does not trust, unless told so", async () => {
    const kubelet = await startKubelet({ "/stats/summary": SUMMARY }, true);
    const token_file = join(temporaryFolder(), "token");
    writeFileSync(token_file, "secret");
    const config = { endpoint: kubelet.endpoint, auth_type: "serviceAccount", token_file };
    expect(await firstReason({ ...config, ca_file: TLS_FILES.otherCa })).toMatch(/certificate/);
    expect(kubelet.requests).toEqual([]);
    expect((await firstPoints({ ...config, insecure_skip_verify: true })).length).toBeGreaterThan(0);
  });

  it("shows a certificate", async () => {
    const kubelet = await startKubelet({ "/stats/summary": SUMMARY }, true, true);
    const tls = {
      auth_type: "tls",
      ca_file: TLS_FILES.ca,
      cert_file: TLS_FILES.clientCert,
      key_file: TLS_FILES.clientKey,
    };
    expect((await firstPoints({ endpoint: kubelet.endpoint, ...tls })).length).toBeGreaterThan(0);
  });

  it("starts outside of a pod, and says that it has no token", async () => {
    const reason = await firstReason({ endpoint: "https://:1", auth_type: "serviceAccount" });
    expect(reason).toMatch(/serviceaccount\/(token|ca\.crt) cannot be read$/);
  });

  it("reads a certificate again that was renewed in its file", async () => {
    const kubelet = await startKubelet({ "/stats/summary": SUMMARY }, true);
    const ca_file = join(temporaryFolder(), "ca.crt");
    copyFileSync(TLS_FILES.otherCa, ca_file);
    const tls = { auth_type: "tls", ca_file, cert_file: TLS_FILES.clientCert, key_file: TLS_FILES.clientKey };
    const { intake, logger } = await start({ endpoint: kubelet.endpoint, ...tls });
    await until(() => expect(logger.lines.length).toBeGreaterThan(0));
    copyFileSync(TLS_FILES.ca, ca_file);
    await until(() => expect(intake.batches.length).toBeGreaterThan(0));
  });

  it.each([
    [{ auth_type: "kubeConfig" }, "kubeconfig files are not read"],
    [{ auth_type: "none", context: "c" }, "kubeconfig files are not read"],
    [{}, "tls needs cert_file and key_file"],
    [{ auth_type: "none", endpoint: "a b" }, "expected host:10250 or a URL"],
    [{ auth_type: "none", metric_groups: ["pods"] }, "metric_groups"],
    [{ auth_type: "none", metrics: enabled("k8s.pod.cpu.node.utilization") }, "needs the name of the node"],
    [{ auth_type: "none", k8s_api_config: { auth_type: "tls" } }, "client certificates are not read"],
  ])("refuses %o", (config, message) => {
    const { error } = kubeletStatsReceiver.schema.safeParse(config);
    expect(JSON.stringify(error?.issues)).toContain(message);
  });
});

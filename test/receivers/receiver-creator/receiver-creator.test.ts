import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { batchFromJson, batchToJson, defineReceiver, type Signal, StartError } from "../../../src/plugin.js";
import { receiverCreator } from "../../../src/receivers/receiver-creator/component.js";
import { receiverCreatorSchema } from "../../../src/receivers/receiver-creator/config.js";
import type { BuiltInReceiverFactory } from "../../../src/runtime/contract/built-in/component.js";
import { receiverConformance } from "../../../src/testing.js";
import { listeningLogger } from "../../exporters/support.js";
import { agentOf, resolve } from "../../support/agent.js";
import { type CollectingExporter, collectingExporter } from "../../support/collecting-exporter.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../support/servers/kubernetes-api.js";

/** A pod as the API shows it: one container named app, with a port. */
const pod = (name: string, more: { labels?: object; annotations?: object; phase?: string; port?: number } = {}) => ({
  kind: "Pod",
  metadata: {
    name,
    namespace: "shop",
    uid: `uid-${name}`,
    labels: more.labels ?? {},
    annotations: more.annotations ?? {},
  },
  spec: {
    containers: [{ name: "app", image: "shop/app:1", ports: [{ name: "web", containerPort: more.port ?? 80 }] }],
  },
  status: {
    phase: more.phase ?? "Running",
    podIP: "10.0.0.7",
    containerStatuses: [{ name: "app", containerID: "containerd://abc", state: { running: {} } }],
  },
});

interface Probe {
  readonly config: Record<string, unknown>;
  readonly id: string;
  isRunning: boolean;
}

/** A receiver type that hands in one metric or log record when it starts, and remembers its configs. */
function probeReceiver() {
  const probes: Probe[] = [];
  const factory = defineReceiver({
    type: "probe",
    signals: ["metrics", "logs"],
    schema: z.looseObject({
      endpoint: z.string().optional(),
      port: z.number().optional(),
      fails: z.boolean().optional(),
    }),
    create: (config, { intakes, id }) => {
      const probe: Probe = { config, id, isRunning: false };
      probes.push(probe);
      return {
        async start() {
          if (config.fails) throw new StartError("it is told to fail");
          probe.isRunning = true;
          await intakes.metrics?.accept(metricOf(id));
          await intakes.logs?.accept(batchFromJson("logs", JSON.stringify({ resourceLogs: [logsOf(id)] })));
        },
        async stop() {
          probe.isRunning = false;
        },
      };
    },
  }) as BuiltInReceiverFactory;
  return { factory, probes, running: () => probes.filter(({ isRunning }) => isRunning).map(({ config }) => config) };
}

const metricOf = (name: string) =>
  batchFromJson(
    "metrics",
    JSON.stringify({
      resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name, gauge: { dataPoints: [{ asInt: 1 }] } }] }] }],
    }),
  );
const logsOf = (body: string) => ({ scopeLogs: [{ logRecords: [{ body: { stringValue: body } }] }] });

/** The attributes of all resources that arrived. */
function resourcesOf({ batches }: CollectingExporter, signal: Signal = "metrics"): Record<string, unknown>[] {
  const key = signal === "metrics" ? "resourceMetrics" : "resourceLogs";
  return batches.flatMap((batch) => {
    const containers = (JSON.parse(batchToJson(batch))[key] ?? []) as { resource?: { attributes?: Attribute[] } }[];
    return containers.map(({ resource }) =>
      Object.fromEntries((resource?.attributes ?? []).map(({ key, value }) => [key, value.stringValue])),
    );
  });
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

async function startApi(...objects: object[]): Promise<KubernetesApiServer> {
  const api = await startKubernetesApi();
  for (const object of objects) api.put(object as never);
  onTestFinished(() => api.close());
  return api;
}

const configOf = (api: KubernetesApiServer, creator: object, observer: object = {}) =>
  JSON.stringify({
    extensions: { k8s_observer: { auth_type: "none", api_server: api.url, ...observer } },
    receivers: { receiver_creator: { watch_observers: ["k8s_observer"], ...creator } },
    exporters: { collect: {} },
    service: {
      extensions: ["k8s_observer"],
      pipelines: { metrics: { receivers: ["receiver_creator"], exporters: ["collect"] } },
    },
  });

async function start(config: string) {
  const probe = probeReceiver();
  const collected = collectingExporter();
  const logger = listeningLogger();
  const agent = agentOf(config, { components: [probe.factory, collected.factory], logger });
  await agent.start();
  onTestFinished(() => agent.stop());
  const lines = (level: string) => logger.lines.filter((line) => line.level === level);
  return { ...probe, collected, agent, lines };
}

describe("receiver_creator", () => {
  it("starts a receiver for each endpoint that matches, stops it with the endpoint, and starts it anew after a change", async () => {
    const api = await startApi(pod("a", { labels: { app: "cache" } }), pod("b", { labels: { app: "shop" } }));
    const receivers = { probe: { rule: 'type == "port" && pod.labels["app"] == "cache"' } };
    const { running, probes, collected } = await start(configOf(api, { receivers }));
    await expect.poll(running, { timeout: patienceMs }).toEqual([{ endpoint: "10.0.0.7:80" }]);
    expect(probes[0]!.id).toBe('probe/receiver_creator{endpoint="10.0.0.7:80"}/k8s_observer/uid-a/web(80)');
    await expect
      .poll(() => resourcesOf(collected))
      .toEqual([
        {
          "k8s.pod.name": "a",
          "k8s.pod.uid": "uid-a",
          "k8s.namespace.name": "shop",
          "k8s.container.name": "app",
          "container.id": "abc",
          "container.image.name": "shop/app:1",
        },
      ]);
    api.put(pod("b", { labels: { app: "cache" }, port: 81 }) as never);
    await expect
      .poll(running, { timeout: patienceMs })
      .toEqual([{ endpoint: "10.0.0.7:80" }, { endpoint: "10.0.0.7:81" }]);
    api.put(pod("a", { labels: { app: "cache", version: "2" } }) as never);
    await expect.poll(() => probes.length, { timeout: patienceMs }).toBe(3);
    api.remove("a", "Pod");
    await expect.poll(running, { timeout: patienceMs }).toEqual([{ endpoint: "10.0.0.7:81" }]);
    api.put(pod("b", { phase: "Succeeded" }) as never);
    await expect.poll(running, { timeout: patienceMs }).toEqual([]);
  });

  it("fills templates with the endpoint's values, and keeps their types", async () => {
    const api = await startApi(pod("a", { labels: { tier: "gold" } }));
    const config = {
      endpoint: "http://`host`:`port`/metrics",
      port: "`port`",
      list: ['`"tier" in pod.labels`', '`pod.labels["absent"]`', "\\`as it is\\`"],
    };
    const receivers = { probe: { rule: 'type == "port"', config } };
    const { running } = await start(configOf(api, { receivers }));
    await expect
      .poll(running, { timeout: patienceMs })
      .toEqual([{ endpoint: "http://10.0.0.7:80/metrics", port: 80, list: [true, "", "`as it is`"] }]);
  });

  it("adds attributes by type and by receiver, without those that are empty", async () => {
    const api = await startApi(pod("a"));
    const receivers = {
      probe: { rule: 'type == "pod"', resource_attributes: { team: "of `name`", "k8s.pod.uid": "" } },
    };
    const resource_attributes = { pod: { "k8s.pod.uid": "`uid`", ip: "`endpoint`" } };
    const { collected } = await start(configOf(api, { receivers, resource_attributes }));
    await expect
      .poll(() => resourcesOf(collected), { timeout: patienceMs })
      .toEqual([{ ip: "10.0.0.7", team: "of a" }]);
  });

  it("leaves the others running if a receiver's config is wrong, its type is unknown, or it does not start", async () => {
    const api = await startApi(pod("a"));
    const rule = 'type == "pod"';
    const receivers = {
      "probe/good": { rule, config: { n: 1 } },
      "probe/typo": { rule, config: { port: "eighty" } },
      "probe/failing": { rule, config: { fails: true } },
      "probe/lacking": { rule, config: { n: "`port`" } },
      unheard: { rule },
      zipkin: { rule, config: { endpoint: "127.0.0.1:9411" } },
    };
    const { running, lines, agent } = await start(configOf(api, { receivers }));
    await expect.poll(running, { timeout: patienceMs }).toEqual([{ endpoint: "10.0.0.7", n: 1 }]);
    await expect.poll(() => lines("error").length).toBe(4);
    const reasons = lines("error").map(({ fields }) => (fields as { reason: string }).reason);
    expect(reasons.join("\n")).toMatch(/port: expected a number/);
    expect(reasons).toContain("it is told to fail");
    expect(reasons).toContain('there is no receiver of type "unheard"');
    expect(reasons.join("\n")).toMatch(/there is no port/);
    expect(lines("warn").map(({ message }) => message)).toEqual([
      "there is no receiver of this type: it will not be started",
      "no pipeline reads the signals of this receiver: it is not started",
    ]);
    expect(agent.receivers()[0]).toMatchObject({ id: "receiver_creator", state: "DOWN" });
    expect(agent.receivers()[0]!.down).toHaveLength(4);
    api.remove("a", "Pod");
    await expect.poll(() => agent.receivers()[0]!.down, { timeout: patienceMs }).toEqual([]);
  });

  it("finds nodes, services and paths of ingresses if it is told to", async () => {
    const api = await startApi(
      {
        kind: "Node",
        metadata: { name: "n1", uid: "u1", labels: { zone: "a" } },
        status: {
          addresses: [
            { type: "Hostname", address: "node-1" },
            { type: "InternalIP", address: "10.1.0.1" },
          ],
          daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
        },
      },
      {
        kind: "Service",
        metadata: { name: "web", namespace: "shop", uid: "u2" },
        spec: { clusterIP: "10.2.0.1", type: "ClusterIP" },
      },
      {
        kind: "Ingress",
        metadata: { name: "in", namespace: "shop", uid: "u3" },
        spec: {
          tls: [{ hosts: ["*.shop.example"] }],
          rules: [{ host: "www.shop.example", http: { paths: [{ path: "/cart" }, { path: "/" }] } }],
        },
      },
    );
    const receivers = {
      "probe/node": { rule: 'type == "k8s.node"', config: { endpoint: "`endpoint`:`kubelet_endpoint_port`" } },
      "probe/service": { rule: 'type == "k8s.service" && service_type == "ClusterIP"' },
      "probe/ingress": { rule: 'type == "k8s.ingress" && scheme == "https"' },
    };
    const observed = { observe_pods: false, observe_nodes: true, observe_services: true, observe_ingresses: true };
    const { running } = await start(configOf(api, { receivers }, { ...observed, node: "n1", namespaces: ["shop"] }));
    const endpoints = () =>
      running()
        .map(({ endpoint }) => endpoint)
        .sort();
    await expect
      .poll(endpoints, { timeout: patienceMs })
      .toEqual([
        "10.1.0.1:10250",
        "https://www.shop.example/",
        "https://www.shop.example/cart",
        "web.shop.svc.cluster.local",
      ]);
    const paths = new Set(api.requests.map(({ path }) => path));
    expect([...paths].sort()).toEqual([
      "/api/v1/namespaces/shop/services",
      "/api/v1/nodes",
      "/apis/networking.k8s.io/v1/namespaces/shop/ingresses",
    ]);
    expect(api.requests.find(({ path }) => path === "/api/v1/nodes")!.query.get("fieldSelector")).toBe(
      "metadata.name=n1",
    );
  });

  it("asks for pods of one node, and only while it runs", async () => {
    const api = await startApi(pod("a"));
    const { running, agent } = await start(
      configOf(api, { receivers: { probe: { rule: 'type == "pod"' } } }, { node: "n1" }),
    );
    await expect.poll(running, { timeout: patienceMs }).toHaveLength(1);
    expect(api.requests[0]!.query.get("fieldSelector")).toBe("spec.nodeName=n1");
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    await agent.stop();
    expect(running()).toEqual([]);
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(0);
  });

  it("keeps its receivers while the API server is away", async () => {
    const api = await startApi(pod("a"));
    const { running, probes } = await start(configOf(api, { receivers: { probe: { rule: 'type == "pod"' } } }));
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.failWith = 500;
    api.dropWatches();
    const asked = api.requests.length;
    await expect.poll(() => api.requests.length, { timeout: patienceMs }).toBeGreaterThan(asked + 1);
    expect(running()).toHaveLength(1);
    api.failWith = undefined;
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    expect(probes).toHaveLength(1);
  });

  it("starts receivers that annotations ask for, at the pod's own port only", async () => {
    const asks = (more: object) => ({
      "io.opentelemetry.discovery.metrics/enabled": "true",
      "io.opentelemetry.discovery.metrics/scraper": "probe",
      ...more,
    });
    const config = "io.opentelemetry.discovery.metrics.80/config";
    const api = await startApi(
      pod("a", { annotations: asks({ [config]: "endpoint: http://`endpoint`/m\nn: 1" }) }),
      pod("b", { annotations: asks({ [config]: "endpoint: http://10.0.0.1:80" }) }),
      pod("c", { annotations: asks({ [config]: "[1, 2" }) }),
      pod("d", { annotations: { ...asks({}), "io.opentelemetry.discovery.metrics.80/enabled": "false" } }),
      pod("e", { annotations: asks({ "io.opentelemetry.discovery.metrics/scraper": "zipkin" }) }),
    );
    const discovery = { enabled: true, ignore_receivers: ["zipkin"] };
    const { running, lines } = await start(configOf(api, { discovery }));
    await expect.poll(running, { timeout: patienceMs }).toEqual([{ endpoint: "http://10.0.0.7:80/m", n: 1 }]);
    await expect.poll(() => lines("error").length).toBe(2);
    expect(lines("error")[0]!.fields).toMatchObject({ reason: expect.stringMatching(/not that of the pod/) });
  });

  it("reads logs of containers that annotations ask for with file_log", async () => {
    const api = await startApi(pod("a"));
    const discovery = {
      enabled: true,
      default_annotations: {
        "io.opentelemetry.discovery.logs/enabled": "true",
        "io.opentelemetry.discovery.logs/config": "{poll_interval: 1s, include: [/etc/passwd]}",
      },
    };
    const config = JSON.parse(configOf(api, { discovery }));
    config.service.pipelines = { logs: { receivers: ["receiver_creator"], exporters: ["collect"] } };
    const { lines } = await start(JSON.stringify(config));
    const started = () => lines("info").map(({ fields }) => (fields as { receiver?: string }).receiver);
    await expect
      .poll(started, { timeout: patienceMs })
      .toContain('file_log/uid-a_app/receiver_creator{endpoint="10.0.0.7"}/k8s_observer/uid-a/app');
    expect(lines("error")).toEqual([]);
  });

  it("reads a real server that host_observer finds", async () => {
    const server = createServer((_request, response) => response.end("up_and_running 1\n")).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const scrape = { job_name: "found", scrape_interval: "100ms", static_configs: [{ targets: ["`endpoint`"] }] };
    const receivers = {
      prometheus: {
        rule: `type == "hostport" && port == ${port} && transport == "TCP" && !is_ipv6 && process_name != ""`,
        config: { config: { scrape_configs: [scrape] } },
        resource_attributes: { "found.at": "`endpoint`" },
      },
    };
    const { collected } = await start(
      JSON.stringify({
        extensions: { host_observer: { refresh_interval: "100ms" } },
        receivers: { receiver_creator: { watch_observers: ["host_observer"], receivers } },
        exporters: { collect: {} },
        service: {
          extensions: ["host_observer"],
          pipelines: { metrics: { receivers: ["receiver_creator"], exporters: ["collect"] } },
        },
      }),
    );
    await expect
      .poll(() => resourcesOf(collected)[0], { timeout: patienceMs })
      .toMatchObject({ "found.at": `127.0.0.1:${port}`, "service.name": "found" });
  });

  it("is told by the config check if it names an extension that finds nothing", async () => {
    const api = await startApi();
    const wrong = JSON.parse(configOf(api, {}));
    wrong.receivers.receiver_creator.watch_observers = ["health_check"];
    wrong.extensions.health_check = { endpoint: "127.0.0.1:0" };
    wrong.service.extensions.push("health_check");
    const { factory } = collectingExporter();
    expect(() => resolve(JSON.stringify(wrong), [factory])).toThrow(/health_check" finds no endpoints/);
    wrong.receivers.receiver_creator.watch_observers = ["docker_observer"];
    expect(() => resolve(JSON.stringify(wrong), [factory])).toThrow(/docker_observer" is not defined/);
  });

  it.each([
    [{ receivers: { redis: { rule: "port == 6379" } } }, "begins with a type"],
    [{ receivers: { redis: { rule: 'type == "port" && (' } } }, "it ends too early"],
    [{ receivers: { redis: { rule: 'type == "port"', config: { a: ["`port"] } } } }, "a backtick is missing"],
    [{ receivers: { redis: { rule: 'type == "port"', config: { a: "`prot`" } } } }, "there is no prot"],
    [{ receivers: { redis: { rule: 'type == "port"', config: { a: "` `" } } } }, "is empty"],
    [{ receivers: { "/x": { rule: 'type == "port"' } } }, "Invalid key in record"],
    [{ resource_attributes: { pots: {} } }, "Unrecognized key"],
    [{ resource_attributes: { pod: { a: "`" } } }, "a backtick is missing"],
  ])("does not load with %j", (config, message) => {
    const { error } = receiverCreatorSchema.safeParse(config);
    expect(error?.issues.map((issue) => issue.message).join()).toContain(message);
  });

  /** With an observer that has found this machine, and a real receiver for it. */
  const onThisMachine: BuiltInReceiverFactory = {
    ...receiverCreator,
    signals: ["metrics"],
    create(config, context) {
      const endpoint = { id: "here", type: "hostport", target: "127.0.0.1:1", variables: {} } as const;
      const watch = (listener: (found: ReadonlyMap<string, typeof endpoint>) => void) => {
        listener(new Map([[endpoint.id, endpoint]]));
        return () => {};
      };
      const extensions = { observer: () => ({ watch }), leaderElection: () => expect.unreachable() };
      const { receiverTypes } = resolve(
        "{receivers: {nop: }, exporters: {nop: }, service: {pipelines: {logs: {receivers: [nop], exporters: [nop]}}}}",
      );
      return receiverCreator.create(config, { ...context, extensions, receiverTypes });
    },
  };
  const config = () => ({
    watch_observers: ["here"],
    receivers: {
      host_metrics: { rule: 'type == "hostport"', config: { collection_interval: "5ms", scrapers: { load: {} } } },
    },
  });
  for (const { name, run } of receiverConformance(onThisMachine, { config, patienceMs })) it(name, run);
});

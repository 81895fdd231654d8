import { readdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { batchToJson, type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { k8sEventsReceiver, k8sObjectsReceiver } from "../../../src/receivers/k8s-objects/component.js";
import { k8sEventsSchema, k8sObjectsSchema } from "../../../src/receivers/k8s-objects/config.js";
import { receiverConformance, TestIntake } from "../../../src/testing.js";
import { listeningLogger, temporaryDirectory } from "../../exporters/support.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../support/servers/kubernetes-api.js";
import { startReceiver } from "../started-receiver.js";

const pod = (name: string, namespace = "shop", more: object = {}) => ({
  kind: "Pod",
  metadata: { name, namespace, uid: `uid-${name}` },
  ...more,
});

let events = 0;
const event = (message: string, more: object = {}) => ({
  kind: "Event",
  metadata: {
    name: `e${++events}`,
    namespace: "shop",
    uid: `uid-e${events}`,
    creationTimestamp: "2026-01-02T03:04:05Z",
  },
  involvedObject: { kind: "Pod", name: "cart-1", namespace: "shop", uid: "pod-1", fieldPath: "spec.containers{app}" },
  source: { component: "kubelet", host: "node-1" },
  reason: "BackOff",
  type: "Warning",
  message,
  lastTimestamp: new Date(Date.now() + 1000).toISOString(),
  reportingComponent: "kubelet",
  ...more,
});

async function startApi(...objects: object[]): Promise<KubernetesApiServer> {
  const api = await startKubernetesApi();
  for (const object of objects) api.put(object as never);
  onTestFinished(() => api.close());
  return api;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly kvlistValue?: { readonly values?: readonly { readonly key: string; readonly value: Value }[] };
  readonly arrayValue?: { readonly values?: readonly Value[] };
}

function plain({ kvlistValue, arrayValue, intValue, ...others }: Value): unknown {
  if (kvlistValue) return mapOf(kvlistValue.values ?? []);
  if (arrayValue) return (arrayValue.values ?? []).map(plain);
  return intValue === undefined ? Object.values(others)[0] : Number(intValue);
}

function mapOf(list: KeyValues = []): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plain(value)]));
}

type KeyValues = readonly { readonly key: string; readonly value: Value }[];

interface ResourceJson {
  readonly resource?: { readonly attributes?: KeyValues };
  readonly scopeLogs: readonly {
    readonly logRecords: readonly {
      readonly attributes?: KeyValues;
      readonly body?: Value;
      readonly severityNumber?: number;
      readonly severityText?: string;
      readonly timeUnixNano?: string;
    }[];
  }[];
}

interface Read {
  readonly resource: Record<string, unknown>;
  readonly attributes: Record<string, unknown>;
  readonly body: unknown;
  readonly severity: readonly unknown[];
  readonly time: string | undefined;
}

function recordsOf(intake: TestIntake): Read[] {
  return intake.batches.flatMap((batch) =>
    (JSON.parse(batchToJson(batch)) as { resourceLogs: ResourceJson[] }).resourceLogs.flatMap((container) => {
      const { resource, scopeLogs } = container;
      return scopeLogs[0]!.logRecords.map((record) => ({
        resource: mapOf(resource?.attributes),
        attributes: mapOf(record.attributes),
        body: plain(record.body ?? {}),
        severity: [record.severityNumber, record.severityText],
        time: record.timeUnixNano,
      }));
    }),
  );
}

async function start(factory: unknown, api: KubernetesApiServer, config: object) {
  const intake = new TestIntake();
  const logger = listeningLogger();
  const all = { auth_type: "none", api_server: api.url, ...config };
  const receiver = await startReceiver(factory as ReceiverFactory, all, intake, logger, "logs");
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await receiver.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  return { intake, logger, stop, records: () => recordsOf(intake) };
}

const watching = (name: string, more: object = {}) => ({ objects: [{ name, mode: "watch", ...more }] });
const changes = (records: readonly Read[]) =>
  records.map(({ body, attributes }) => `${(body as { type: string }).type} ${attributes["event.name"]}`);

describe("the k8s_objects receiver", () => {
  it("pulls all objects at intervals, page by page, as the Collector writes them", async () => {
    const api = await startApi(
      pod("a", "shop", { spec: { n: 3, ratio: 0.5, list: ["x", true, null] } }),
      pod("b", "b"),
    );
    api.pageSize = 1;
    const { records } = await start(k8sObjectsReceiver, api, { objects: [{ name: "pods", interval: "20ms" }] });
    await expect.poll(() => records().length, { timeout: patienceMs }).toBeGreaterThanOrEqual(4);
    const [a, b, again] = records();
    expect(a).toMatchObject({
      resource: { "k8s.namespace.name": "shop" },
      attributes: { "k8s.resource.name": "pods" },
      body: { kind: "Pod", metadata: { name: "a", namespace: "shop" }, spec: { n: 3, ratio: 0.5 } },
    });
    expect(b!.resource).toEqual({ "k8s.namespace.name": "b" });
    expect(again!.body).toEqual(a!.body);
  });

  it("watches changes from now on, with their types", async () => {
    const api = await startApi(pod("old"));
    const { records } = await start(k8sObjectsReceiver, api, watching("pods"));
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.put(pod("new") as never);
    api.put(pod("new", "shop", { status: { phase: "Running" } }) as never);
    api.remove("old", "Pod");
    await expect.poll(() => changes(records())).toEqual(["ADDED new", "MODIFIED new", "DELETED old"]);
    expect(records()[1]).toMatchObject({
      resource: { "k8s.namespace.name": "shop" },
      attributes: { "k8s.resource.name": "pods", "event.domain": "k8s", "event.name": "new" },
      body: { type: "MODIFIED", object: { kind: "Pod", status: { phase: "Running" } } },
    });
  });

  it("begins with the objects there are if the config says so, and leaves out what it excludes", async () => {
    const api = await startApi(pod("old"), pod("hidden", "kube-system"), pod("other", "test-1"));
    const { records } = await start(k8sObjectsReceiver, api, {
      include_initial_state: true,
      ...watching("pods", {
        exclude_watch_type: ["DELETED"],
        exclude_namespaces: [{ regex: "^test-" }, { strict: "kube-system" }],
      }),
    });
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.remove("old", "Pod");
    api.put(pod("new") as never);
    await expect.poll(() => changes(records())).toEqual(["ADDED old", "ADDED new"]);
  });

  it("finds objects in their API group, also in the one that the config names", async () => {
    const api = await startApi();
    await start(k8sObjectsReceiver, api, {
      objects: [
        { name: "deployments", mode: "watch", namespaces: ["a", "b"], label_selector: "app=x" },
        { name: "events", group: "events.k8s.io", mode: "watch", field_selector: "type=Warning" },
      ],
    });
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(3);
    const watched = api.requests.filter(({ query }) => query.get("watch")).map(({ path }) => path);
    expect(watched.sort()).toEqual([
      "/apis/apps/v1/namespaces/a/deployments",
      "/apis/apps/v1/namespaces/b/deployments",
      "/apis/events.k8s.io/v1/events",
    ]);
    const selectors = api.requests.map(({ query }) => query.get("labelSelector") ?? query.get("fieldSelector"));
    expect(new Set(selectors)).toEqual(new Set([null, "app=x", "type=Warning"]));
  });

  it("goes on without objects that the server does not have, and says so", async () => {
    const api = await startApi();
    const { logger, records } = await start(k8sObjectsReceiver, api, {
      objects: [
        { name: "widgets", mode: "watch" },
        { name: "pods", mode: "watch" },
      ],
    });
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    expect(logger.lines[0]!.fields).toMatchObject({
      object: "widgets",
      reason: expect.stringContaining("such objects"),
    });
    api.put(pod("a") as never);
    await expect.poll(() => changes(records())).toEqual(["ADDED a"]);
  });

  it("has no gap and no doubles after a restart, with storage", async () => {
    const api = await startApi(pod("before"));
    const kept = { storage: "file_storage", offsets_directory: await temporaryDirectory(), ...watching("pods") };
    const first = await start(k8sObjectsReceiver, api, kept);
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.put(pod("one") as never);
    await expect.poll(() => changes(first.records())).toEqual(["ADDED one"]);
    await first.stop();
    expect(readdirSync(kept.offsets_directory)).toEqual(["k8s_objects.cursors"]);
    api.put(pod("two") as never);
    api.remove("before", "Pod");
    const second = await start(k8sObjectsReceiver, api, kept);
    await expect.poll(() => changes(second.records())).toEqual(["ADDED two", "DELETED before"]);
  });

  it("reads what has changed from the list if the server has forgotten the position", async () => {
    const api = await startApi(pod("old"));
    const { records } = await start(k8sObjectsReceiver, api, watching("pods"));
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.put(pod("seen") as never);
    await expect.poll(() => changes(records())).toEqual(["ADDED seen"]);
    api.dropWatches();
    api.put(pod("unseen") as never);
    api.forget();
    await expect.poll(() => changes(records()), { timeout: patienceMs }).toEqual(["ADDED seen", "ADDED unseen"]);
  });

  it("keeps objects that are refused for now until they are taken", async () => {
    const api = await startApi(pod("a"));
    const { intake } = await start(k8sObjectsReceiver, api, watching("pods"));
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    const taken = new TestIntake();
    let refusals = 3;
    intake.answer = (batch) =>
      refusals-- > 0 ? { ok: false, refusal: new Refusal("transient", "busy") } : taken.accept(batch);
    for (const name of ["x", "y", "z"]) api.put(pod(name) as never);
    await expect.poll(() => changes(recordsOf(taken))).toEqual(["ADDED x", "ADDED y", "ADDED z"]);
  });

  it("cuts what is nested too deep", async () => {
    const api = await startApi();
    const { records } = await start(k8sObjectsReceiver, api, watching("pods"));
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    const deep = JSON.parse(`${"[".repeat(1000)}${"]".repeat(1000)}`);
    api.put(pod("deep", "shop", { spec: deep }) as never);
    api.put(pod("next") as never);
    await expect.poll(() => changes(records())).toEqual(["ADDED deep", "ADDED next"]);
  });

  it.each(["<html>", "null", '{"groups":[{"name":1}]}'])("survives a server that answers %s", async (answer) => {
    const api = await startApi();
    api.answerWith = answer;
    const { stop } = await start(k8sObjectsReceiver, api, watching("pods"));
    await expect.poll(() => api.requests.length, { timeout: patienceMs }).toBeGreaterThan(0);
    await stop();
  });

  it("refuses settings that contradict each other", () => {
    const problems = (config: object) =>
      k8sObjectsSchema.safeParse(config).error?.issues.map(({ path }) => path.join("."));
    expect(problems({ objects: [{ name: "pods", exclude_watch_type: ["ADDED"] }] })).toEqual([
      "objects.0.exclude_watch_type",
    ]);
    expect(problems({ objects: [{ name: "pods", mode: "watch", initial_delay: "1s" }] })).toEqual([
      "objects.0.initial_delay",
    ]);
    expect(problems({ include_initial_state: true, objects: [{ name: "pods" }] })).toEqual(["include_initial_state"]);
    expect(problems({ storage: "x", objects: [{ name: "pods", mode: "watch", resource_version: "1" }] })).toEqual([
      "objects.0.resource_version",
    ]);
    expect(problems({ objects: [{ name: "pods", exclude_namespaces: [{ regex: "(" }] }] })).toEqual([
      "objects.0.exclude_namespaces.0.regex",
    ]);
  });
});

describe("the k8s_events receiver", () => {
  it("writes new events as the Collector does", async () => {
    const api = await startApi(event("before"));
    const { records } = await start(k8sEventsReceiver, api, {});
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    const time = Date.now() + 60_000;
    const times = { lastTimestamp: null, eventTime: new Date(time).toISOString().replace("Z", "456Z") };
    api.put(event("Back-off restarting failed container", { count: 7, ...times }) as never);
    await expect.poll(() => records().length).toBe(1);
    expect(records()[0]).toEqual({
      resource: {
        "k8s.node.name": "node-1",
        "k8s.object.kind": "Pod",
        "k8s.object.name": "cart-1",
        "k8s.object.uid": "pod-1",
        "k8s.object.fieldpath": "spec.containers{app}",
        "k8s.object.api_version": "",
        "k8s.object.resource_version": "",
      },
      attributes: {
        "k8s.event.reason": "BackOff",
        "k8s.event.action": "",
        "k8s.event.start_time": "2026-01-02 03:04:05 +0000 UTC",
        "k8s.event.name": `e${events}`,
        "k8s.event.uid": `uid-e${events}`,
        "k8s.namespace.name": "shop",
        "k8s.event.reporting_controller": "kubelet",
        "k8s.event.reporting_instance": "",
        "k8s.event.count": 7,
      },
      body: "Back-off restarting failed container",
      severity: [13, "Warning"],
      time: `${time}456000`,
    });
  });

  it("leaves out deleted events and those from before the start", async () => {
    const old = event("old", { lastTimestamp: "2026-01-02T03:04:05Z" });
    const api = await startApi(old);
    const { records } = await start(k8sEventsReceiver, api, { namespaces: ["shop"] });
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.put({ ...old, reason: "changed" } as never);
    api.remove(old.metadata.name, "Event");
    api.put(event("new") as never);
    await expect.poll(() => records().map(({ body }) => body)).toEqual(["new"]);
    expect(api.requests.every(({ path }) => path === "/api/v1/namespaces/shop/events")).toBe(true);
  });

  it.each([
    ["0s", ["first", "second", "third"]],
    ["1h", ["first", "second"]],
    ["-1s", ["first"]],
  ])("with dedup_interval %s passes %s of three changes", async (dedup_interval, expected) => {
    const api = await startApi();
    const { records } = await start(k8sEventsReceiver, api, { dedup_interval });
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    const one = event("first");
    for (const message of ["first", "second", "third"]) api.put({ ...one, message } as never);
    api.put(event("last") as never);
    await expect.poll(() => records().map(({ body }) => body)).toEqual([...expected, "last"]);
  });

  it("reads events that came while the agent was stopped, with storage", async () => {
    const api = await startApi();
    const kept = { storage: "file_storage", offsets_directory: await temporaryDirectory() };
    const first = await start(k8sEventsReceiver, api, kept);
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(1);
    api.put(event("one") as never);
    await expect.poll(() => first.records().length).toBe(1);
    await first.stop();
    api.put(event("two", { lastTimestamp: new Date(Date.now() - 60_000).toISOString() }) as never);
    const second = await start(k8sEventsReceiver, api, kept);
    await expect.poll(() => second.records().map(({ body }) => body)).toEqual(["two"]);
  });

  it("takes the Collector's negative durations", () => {
    expect(k8sEventsSchema.parse({ dedup_interval: "-1ns" }).dedup_interval).toBe(-1);
    expect(k8sEventsSchema.parse({ dedup_interval: "5m" }).dedup_interval).toBe(300_000);
    expect(k8sEventsSchema.safeParse({ dedup_interval: "soon" }).success).toBe(false);
  });
});

describe.each([
  ["k8s_objects", k8sObjectsReceiver, { objects: [{ name: "pods", interval: "5ms" }] }],
  ["k8s_events", k8sEventsReceiver, {}],
] as const)("the %s receiver keeps the contract", (_, factory, more) => {
  let api: KubernetesApiServer | undefined;
  for (const each of receiverConformance(factory as ReceiverFactory, {
    config: () => ({ auth_type: "none", api_server: api?.url, ...more }),
    patienceMs,
  }))
    it(each.name, async () => {
      const server = await startApi(pod("a"));
      api = server;
      const timer = setInterval(() => server.put(event("again") as never), 5);
      onTestFinished(() => clearInterval(timer));
      await each.run();
    });
});

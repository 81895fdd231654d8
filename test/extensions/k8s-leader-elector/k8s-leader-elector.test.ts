import { describe, expect, it, onTestFinished } from "vitest";
import { k8sLeaderElectorSchema } from "../../../src/extensions/k8s-leader-elector/config.js";
import { listeningLogger } from "../../exporters/support.js";
import { agentOf, resolve } from "../../support/agent.js";
import { collectingExporter } from "../../support/collecting-exporter.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { type KubernetesApiServer, startKubernetesApi } from "../../support/servers/kubernetes-api.js";

const PATH = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/cluster";
const POD = { kind: "Pod", metadata: { name: "a", namespace: "shop", uid: "1" }, status: { phase: "Running" } };
/** As short as the keys allow, so that an election takes a second. */
const TIMES = { lease_duration: "1s", renew_deadline: "400ms", retry_period: "50ms" };

async function startApi(): Promise<KubernetesApiServer> {
  const api = await startKubernetesApi();
  api.put(POD);
  onTestFinished(() => api.close());
  return api;
}

const configOf = (url: string, elector: object = {}) =>
  JSON.stringify({
    extensions: {
      k8s_leader_elector: {
        ...{ auth_type: "none", api_server: url, lease_name: "cluster", lease_namespace: "shop" },
        ...{ ...TIMES, ...elector },
      },
    },
    receivers: {
      k8s_cluster: {
        ...{ auth_type: "none", api_server: url, collection_interval: "20ms" },
        k8s_leader_elector: "k8s_leader_elector",
      },
    },
    exporters: { collect: {} },
    service: {
      extensions: ["k8s_leader_elector"],
      pipelines: { metrics: { receivers: ["k8s_cluster"], exporters: ["collect"] } },
    },
  });

async function start(api: KubernetesApiServer) {
  const collected = collectingExporter();
  const logger = listeningLogger();
  const agent = agentOf(configOf(api.url), { components: [collected.factory], logger });
  await agent.start();
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await agent.stop();
    isStopped = true;
  };
  onTestFinished(stop);
  /** Whether records arrive from now on. */
  const arrives = async () => {
    const before = collected.count;
    await expect.poll(() => collected.count, { timeout: patienceMs }).toBeGreaterThan(before);
  };
  const messages = () => logger.lines.map(({ message }) => message);
  return { collected, stop, arrives, messages };
}

const specOf = (api: KubernetesApiServer) =>
  api.leases.get(PATH)?.["spec"] as Record<"holderIdentity" | "renewTime" | "acquireTime", string> & {
    leaseDurationSeconds: number;
    leaseTransitions: number;
  };

describe("k8s_leader_elector", () => {
  it("lets only the leader read, and another agent at once when the leader stops", async () => {
    const api = await startApi();
    const first = await start(api);
    await first.arrives();
    const { holderIdentity, acquireTime } = specOf(api);
    expect(specOf(api)).toMatchObject({ leaseDurationSeconds: 1, leaseTransitions: 0 });
    expect(acquireTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const second = await start(api);
    const renewed = specOf(api).renewTime;
    await expect.poll(() => specOf(api).renewTime, { timeout: patienceMs }).not.toBe(renewed);
    await first.arrives();
    expect(second.collected.count).toBe(0);
    expect(specOf(api)).toMatchObject({ holderIdentity, acquireTime });
    await first.stop();
    await second.arrives();
    expect(specOf(api).leaseTransitions).toBe(1);
    const { count } = first.collected;
    await second.arrives();
    expect(first.collected.count).toBe(count);
    await second.stop();
    expect(specOf(api).holderIdentity).toBe("");
  });

  it("waits until the lease of another candidate has expired by its own clock", async () => {
    const api = await startApi();
    const held = { holderIdentity: "a Collector", leaseDurationSeconds: 1, renewTime: "2099-01-01T00:00:00.000000Z" };
    api.leases.set(PATH, {
      metadata: { name: "cluster", resourceVersion: "7" },
      spec: { ...held, leaseTransitions: 4 },
    });
    const { arrives } = await start(api);
    await arrives();
    expect(specOf(api)).toMatchObject({ leaseTransitions: 5, holderIdentity: expect.stringMatching(/^[\da-f-]{36}$/) });
  });

  it("stops reading when the lease is taken by another candidate, and reads again when it is free", async () => {
    const api = await startApi();
    const { arrives, messages, collected } = await start(api);
    await arrives();
    api.leases.set(PATH, {
      metadata: { name: "cluster", resourceVersion: "x" },
      spec: { holderIdentity: "another", leaseDurationSeconds: 3600 },
    });
    await expect.poll(messages, { timeout: patienceMs }).toContain("this agent is no longer the leader");
    await expect.poll(() => api.watches, { timeout: patienceMs }).toBe(0);
    const { count } = collected;
    expect(collected.count).toBe(count);
    api.leases.delete(PATH);
    await arrives();
  });

  it("stops reading when the API server does not answer for too long, and goes on later", async () => {
    const api = await startApi();
    const { arrives, messages } = await start(api);
    await arrives();
    api.failWith = 503;
    await expect.poll(messages, { timeout: patienceMs }).toContain("this agent is no longer the leader");
    expect(messages()).toContain("the lease cannot be taken or renewed");
    api.failWith = undefined;
    await arrives();
  });

  it("survives a server that answers nonsense", async () => {
    const api = await startApi();
    api.answerWith = "[1, 2";
    const { arrives, messages } = await start(api);
    await expect.poll(messages, { timeout: patienceMs }).toContain("the lease cannot be taken or renewed");
    api.answerWith = undefined;
    await arrives();
  });

  it("is checked with the config", () => {
    const { factory } = collectingExporter();
    const config = JSON.parse(configOf("http://127.0.0.1:1"));
    config.service.extensions = [];
    expect(() => resolve(JSON.stringify(config), [factory])).toThrow(/is not among service.extensions/);
    const problems = (keys: object) =>
      k8sLeaderElectorSchema
        .safeParse({ lease_name: "a", lease_namespace: "b", ...keys })
        .error?.issues.map(({ path }) => path.join());
    expect(problems({})).toBeUndefined();
    expect(problems({ lease_name: "" })).toEqual(["lease_name"]);
    expect(problems({ lease_duration: "10s" })).toEqual(["lease_duration"]);
    expect(problems({ renew_deadline: "2s" })).toEqual(["renew_deadline"]);
    expect(problems({ retry_period: "0s" })).toEqual(["retry_period"]);
  });
});

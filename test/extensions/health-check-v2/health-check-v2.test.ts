import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { healthCheckV2 } from "../../../src/extensions/health-check-v2/component.js";
import type { Host } from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { agentOf } from "../../support/agent.js";

type State = "UP" | "DEGRADED" | "DOWN";

interface TestHost {
  state: Host["state"];
  exporter: State;
  refused?: boolean;
}

const NODES = [
  { id: "r", kind: "receiver", name: "otlp", type: "otlp", pipelines: ["traces", "logs"], signals: [] },
  { id: "e", kind: "exporter", name: "otlp_http", type: "otlp_http", pipelines: ["traces"], signals: [] },
  { id: "d", kind: "exporter", name: "debug", type: "debug", pipelines: ["logs"], signals: [] },
];

/** The extension with a host whose state a test changes. */
async function start(config: (endpoint: string) => object, given: TestHost) {
  const port = await freePort();
  const host = {
    get state() {
      return given.state;
    },
    inspection: { graph: { nodes: NODES, edges: [] }, config: () => ({ receivers: { otlp: null } }) },
    receivers: () => [{ id: "otlp", state: "UP", reconnects: 0, down: [] }],
    admin: {
      exporters: () => [
        {
          id: "otlp_http",
          state: given.exporter,
          lastError: { at: 1, class: "ECONNREFUSED" },
          ...(given.refused && { refused: { since: 1, message: "401 unauthorized" } }),
        },
      ],
    },
  } as unknown as Host;
  const context = { logger: silentLogger, metrics: noMetrics, clock: systemClock, random: Math.random, host };
  const extension = healthCheckV2.create(healthCheckV2.schema.parse(config(`127.0.0.1:${port}`)), {
    id: "healthcheckv2",
    kind: "extension",
    ...context,
  });
  await extension.start();
  onTestFinished(() => extension.stop());
  return async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
}

const v2 =
  (more: object = {}) =>
  (endpoint: string) => ({ use_v2: true, http: { endpoint }, ...more });

describe("healthcheckv2", () => {
  it("answers as health_check does without use_v2", async () => {
    const host: TestHost = { state: "starting", exporter: "UP" };
    const ask = await start((endpoint) => ({ endpoint, path: "/health" }), host);
    expect(await ask("/health")).toEqual({ status: 503, body: { status: "Server not available" } });
    host.state = "ready";
    expect(await ask("/health")).toMatchObject({ status: 200, body: { status: "Server available" } });
    expect((await ask("/status")).status).toBe(404);
  });

  it("tells the state of the agent, and with verbose that of every pipeline and component", async () => {
    const host: TestHost = { state: "ready", exporter: "UP" };
    const ask = await start(v2(), host);
    const { status, body } = await ask("/status");
    expect(status).toBe(200);
    expect(body).toMatchObject({ healthy: true, status: "StatusOK", attributes: {} });
    expect(body.components).toBeUndefined();
    const { components } = (await ask("/status?verbose")).body;
    expect(Object.keys(components)).toEqual(["pipeline:traces", "pipeline:logs"]);
    expect(Object.keys(components["pipeline:traces"].components)).toEqual(["receiver:otlp", "exporter:otlp_http"]);
    host.state = "draining";
    expect(await ask("/status")).toMatchObject({ status: 503, body: { status: "StatusStopping" } });
  });

  it("shows an exporter that cannot deliver, and stays healthy unless told otherwise", async () => {
    const host: TestHost = { state: "ready", exporter: "DOWN" };
    const ask = await start(v2(), host);
    const { status, body } = await ask("/status?verbose=true");
    expect([status, body.healthy, body.status]).toEqual([200, true, "StatusRecoverableError"]);
    expect(body.components["pipeline:logs"].status).toBe("StatusOK");
    expect(body.components["pipeline:traces"].components["exporter:otlp_http"].error).toBe("ECONNREFUSED");
    expect((await ask("/status?pipeline=logs")).body.status).toBe("StatusOK");
    expect((await ask("/status?pipeline=metrics")).status).toBe(404);
  });

  it("answers 500 when a component has been down for longer than recovery_duration", async () => {
    const health = { include_recoverable_errors: true, recovery_duration: "1ms" };
    const host: TestHost = { state: "ready", exporter: "DOWN" };
    const ask = await start(v2({ component_health: health }), host);
    await expect.poll(async () => (await ask("/status")).status).toBe(500);
    host.exporter = "UP";
    expect(await ask("/status")).toMatchObject({ status: 200, body: { healthy: true } });
    const patient = await start(v2({ component_health: { ...health, recovery_duration: "1h" } }), {
      ...host,
      exporter: "DOWN",
    });
    expect((await patient("/status")).status).toBe(200);
  });

  it("answers 500 at once for errors that stay, if asked to", async () => {
    const host: TestHost = { state: "ready", exporter: "DOWN", refused: true };
    const ask = await start(v2({ component_health: { include_permanent_errors: true } }), host);
    expect(await ask("/status")).toMatchObject({ status: 500, body: { status: "StatusPermanentError" } });
  });

  it("serves the config only if that is enabled", async () => {
    const host: TestHost = { state: "ready", exporter: "UP" };
    expect((await (await start(v2(), host))("/config")).status).toBe(404);
    const ask = await start((endpoint) => ({ use_v2: true, http: { endpoint, config: { enabled: true } } }), host);
    expect(await ask("/config")).toEqual({ status: 200, body: { receivers: { otlp: null } } });
  });

  it("says that use_v2 needs http, and that there is no gRPC service", () => {
    const parse = (config: object) => () => healthCheckV2.schema.parse(config);
    expect(parse({ use_v2: true })).toThrow("use_v2 needs the section http");
    expect(parse({ use_v2: true, http: { sttus: {} } })).toThrow("sttus");
  });

  it("takes the place of health_check, which otherwise runs by default", async () => {
    const port = await freePort();
    const agent = agentOf(`
receivers: { nop: {} }
exporters: { nop: {} }
extensions:
  healthcheckv2: { use_v2: true, http: { endpoint: "127.0.0.1:${port}" } }
service:
  extensions: [healthcheckv2]
  pipelines:
    logs: { receivers: [nop], exporters: [nop] }
`);
    onTestFinished(() => agent.stop());
    await agent.start();
    const body = (await (await fetch(`http://127.0.0.1:${port}/status?verbose`)).json()) as {
      components: Record<string, { components: object }>;
    };
    expect(body).toMatchObject({ healthy: true, status: "StatusOK" });
    expect(Object.keys(body.components["pipeline:logs"]!.components)).toEqual(["receiver:nop", "exporter:nop"]);
  });
});

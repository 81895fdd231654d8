import { readdirSync, readlinkSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import { type LoadedConfig, loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { ConfigReloader } from "../../../../src/runtime/host/reload/config-reloader.js";
import { MetricRegistry } from "../../../../src/runtime/host/self-telemetry/metric-registry.js";
import { agentOf } from "../../../support/agent.js";
import { builtins } from "../../../support/builtins.js";
import { collectGarbage } from "../../../support/live-heap.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";
import { Clients, startBackend } from "./oracle.js";

/** Each reload changes one of these; a number that changes replaces the components that have it in their config. */
const CHANGES = [
  ...["processor", "transform", "sampler", "connector", "sender", "consumers", "exporter", "body", "port"],
  ...["extension", "authenticator", "broken", "taken"],
] as const;
const ROUNDS = 3;

type Versions = Readonly<Record<(typeof CHANGES)[number], number>>;

interface Ports {
  readonly [name: string]: number;
}

function yamlOf(versions: Versions, ports: Ports, directory: string): string {
  const { processor, transform, sampler, connector, sender, consumers, exporter, body, port } = versions;
  const backend = `http://127.0.0.1:${ports["backend"]}`;
  const retries = "retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}";
  const hasSecond = exporter % 2 === 1;
  const isTaken = versions.taken % 2 === 1;
  return `
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:${ports["otlp"]}", max_request_body_size: ${1048576 + body}}}}
  otlp/auth: {protocols: {http: {endpoint: "127.0.0.1:${ports["auth"]}", auth: {authenticator: basicauth}}}}
  zipkin: {endpoint: "127.0.0.1:${ports[port % 2 === 0 ? "even" : "odd"]}"}
${isTaken ? `  otlp/taken: {protocols: {http: {endpoint: "127.0.0.1:${ports["backend"]}"}}}` : ""}
processors:
  attributes: {actions: [{key: a, value: "${processor}", action: upsert}]}
  attributes/kept: {actions: [{key: b, value: "1", action: upsert}]}
  transform: {log_statements: ['set(log.attributes["c"], "${transform}")']}
  batch: {timeout: 10ms}
  tail_sampling: {decision_wait: ${100 + sampler}ms, policies: [{name: all, type: always_sample}]}
connectors:
  span_metrics: {metrics_flush_interval: ${100 + connector}ms}
exporters:
  otlp_http/a: {endpoint: "${backend}/${sender}", sending_queue: {num_consumers: ${1 + (consumers % 4)}}, ${retries}}
  otlp_http/m: {endpoint: "${backend}/m", ${retries}}
${hasSecond ? `  otlp_http/b: {endpoint: "${backend}/b", ${retries}}` : ""}
extensions:
  reliability: {directory: ${JSON.stringify(directory)}, durability: process, drain_removed: true}
  health_check: {endpoint: "127.0.0.1:${ports["health"]}", path: /${versions.extension}}
  basicauth: {htpasswd: {inline: "user:${versions.authenticator}"}}
service:
  extensions: [reliability, health_check, basicauth]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs:
      receivers: [otlp, otlp/auth${isTaken ? ", otlp/taken" : ""}]
      processors: [attributes, attributes/kept, transform, batch]
      exporters: [otlp_http/a${hasSecond ? ", otlp_http/b" : ""}]
    traces: {receivers: [otlp, zipkin], processors: [tail_sampling], exporters: [otlp_http/a, span_metrics]}
    metrics: {receivers: [span_metrics], exporters: [otlp_http/m]}
${versions.broken % 2 === 1 ? "  pipelnes: {}" : ""}
`;
}

function load(yaml: string): LoadedConfig {
  const registry = new Registry([...builtins.filter(({ type }) => type !== "reliability"), reliability]);
  return loadConfig({ sources: [{ text: yaml, name: "test.yaml" }], registry });
}

/** Everything that a config brings with it, by a name for people. */
function partsOf(agent: Agent): Map<object, string> {
  const { parts } = agent["graph"]!;
  const { running } = agent as unknown as { running: Agent["running"] };
  return new Map<object, string>([
    [parts, "the parts of a graph"],
    [parts.plan, "config"],
    [parts.wiring, "the wiring of a graph"],
    ...[...parts.receivers].map(([id, { receiver }]) => [receiver, `receiver ${id}`] as const),
    ...[...parts.exporters].flatMap(([id, end]) => [
      [end, `end ${id}`] as const,
      [end.exporter, `exporter ${id}`] as const,
      [end.outlet, `queue ${id}`] as const,
    ]),
    ...parts.journals.map(({ name, journal }) => [journal, `journal ${name}`] as const),
    ...[...running.extensions].map(([id, { extension }]) => [extension, `extension ${id}`] as const),
  ]);
}

/** Remembers the parts of all generations without keeping them alive. */
class Generations {
  private readonly seen: { readonly ref: WeakRef<object>; readonly name: string }[] = [];

  note(agent: Agent): void {
    const generation = agent.generationNumber;
    for (const [part, name] of partsOf(agent)) {
      // Components that no reload has changed come from the first config, and may keep it.
      const isFirstConfig = generation === 1 && part === agent.current.config;
      if (!isFirstConfig) this.seen.push({ ref: new WeakRef(part), name: `${name} of generation ${generation}` });
    }
  }

  /** The parts that are still alive although the agent does not run them any more. */
  retained(agent: Agent): string[] {
    const current = partsOf(agent);
    return this.seen.flatMap(({ ref, name }) => {
      const part = ref.deref();
      return part === undefined || current.has(part) ? [] : [name];
    });
  }
}

/** Queues and journals that this process has open: LevelDB locks a file of each. */
function openStores(directory: string): string[] {
  const targets = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // closed meanwhile
    }
  });
  const locks = targets.filter((target) => target.startsWith(directory) && target.endsWith("/LOCK"));
  return locks.filter((target) => !target.endsWith("audit/LOCK")).sort(); // which the first reload opens
}

function listeningSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;
}

describe.skipIf(process.platform !== "linux")("an agent that has been reloaded many times", () => {
  it("keeps no config, component, queue or socket of an earlier generation", async () => {
    const directory = temporaryFolder();
    const backend = await startBackend();
    const names = ["otlp", "auth", "even", "odd", "health"];
    const free = await Promise.all(names.map(async (name) => [name, await freePort()] as const));
    const ports: Ports = { ...Object.fromEntries(free), backend: backend.port };
    let versions = Object.fromEntries(CHANGES.map((name) => [name, 0])) as Versions;
    const metrics = new MetricRegistry();
    const agent = agentOf(yamlOf(versions, ports, directory), { components: [reliability], metrics });
    const reloader = new ConfigReloader({
      ...{ agent, config: agent.current.config, logger: silentLogger, metrics, clock: systemClock },
      load: async () => load(yamlOf(versions, ports, directory)),
      factsOf: ({ problems, tree }) => ({ warnings: problems, shown: () => ({ tree }) }),
    });
    await agent.start();
    const clients = new Clients(ports["otlp"]!, 2);
    onTestFinished(async () => {
      await clients.stop();
      await agent.stop(5000);
      await backend.close();
    });
    const stores = openStores(directory);
    const listening = listeningSockets();
    const generations = new Generations();
    const outcomes = new Set<string>();
    const reload = async (changed: Partial<Versions>) => {
      generations.note(agent);
      const before = versions;
      versions = { ...versions, ...changed };
      const { outcome } = await reloader.reload();
      outcomes.add(outcome);
      if (outcome !== "applied") versions = before;
      const { size } = clients.acknowledged;
      await expect.poll(() => clients.acknowledged.size).toBeGreaterThan(size + 1);
    };
    for (let i = 0; i < ROUNDS * CHANGES.length; i++) {
      const name = CHANGES[i % CHANGES.length]!;
      backend.isDown = name === "sender" || name === "consumers";
      await reload({ [name]: versions[name] + 1 });
    }
    backend.isDown = false;
    await reload(Object.fromEntries(CHANGES.map((name) => [name, 2 * ROUNDS])));
    expect([...outcomes].sort()).toEqual(["applied", "invalid", "rolled_back"]);
    await expect
      .poll(() => {
        collectGarbage();
        return generations.retained(agent);
      })
      .toEqual([]);
    expect(openStores(directory)).toEqual(stores);
    expect(listeningSockets()).toBe(listening);
  });
});

import type { BuiltInHost } from "#contract/built-in";
import type { ExporterStatus, GraphNode, ReceiverStatus } from "#contract/operations";
import { maskText } from "#text";
import type { Clock } from "../../plugin.js";
import type { ComponentHealth } from "./messages.js";

/** The Collector's names of component statuses, so that servers made for it show them. */
const STATUSES = { UP: "StatusOK", DEGRADED: "StatusRecoverableError", DOWN: "StatusRecoverableError" } as const;
const AGENT_STATUSES = {
  starting: "StatusStarting",
  ready: "StatusOK",
  draining: "StatusStopping",
  stopped: "StatusStopped",
} as const;
const MAX_ERROR_LENGTH = 500;

type State = ExporterStatus["state"];
interface PartState {
  readonly state: State;
  readonly error: string;
}

const UP: PartState = { state: "UP", error: "" };

/**
 * Reads the health of the agent, of each pipeline and of each component in it. A component that is degraded still
 * works, so it counts as healthy and has an error. The agent is healthy while it is ready and no component is down.
 */
export class HealthReader {
  private readonly host: BuiltInHost;
  private readonly clock: Clock;
  private readonly createdAt: number;
  /** The last status of each part, and since when it has it. */
  private readonly since = new Map<string, { readonly status: string; readonly at: number }>();

  constructor(host: BuiltInHost, clock: Clock) {
    this.host = host;
    this.clock = clock;
    this.createdAt = clock.now();
  }

  read(): ComponentHealth {
    const { host } = this;
    const pipelines = this.readPipelines();
    const failed = [...pipelines].filter(([, { isHealthy }]) => !isHealthy).map(([name]) => name);
    const isReady = host.state === "ready";
    const own = AGENT_STATUSES[host.state];
    const status = isReady && failed.length > 0 ? STATUSES.DOWN : own;
    const lastError = isReady ? failed.map((name) => `${name} is unhealthy`).join(", ") : `the agent is ${host.state}`;
    return this.health("", { isHealthy: isReady && failed.length === 0, status, lastError, components: pipelines });
  }

  private readPipelines(): Map<string, ComponentHealth> {
    const { host } = this;
    const { graph, agent } = host.inspection ?? { graph: { nodes: [] }, agent: { pipelines: [] } };
    const exporters = new Map((host.admin?.exporters() ?? []).map((status) => [status.id, stateOfExporter(status)]));
    const receivers = new Map((host.receivers?.() ?? []).map((status) => [status.id, stateOfReceiver(status)]));
    const stateOf = ({ kind, name }: GraphNode): PartState =>
      (kind === "exporter" ? exporters.get(name) : kind === "receiver" ? receivers.get(name) : undefined) ?? UP;
    return new Map(
      agent.pipelines.map((pipeline) => {
        const nodes = graph.nodes.filter(({ pipelines }) => pipelines.includes(pipeline));
        return [`pipeline:${pipeline}`, this.pipelineHealth(pipeline, nodes, stateOf)];
      }),
    );
  }

  private pipelineHealth(
    pipeline: string,
    nodes: readonly GraphNode[],
    stateOf: (node: GraphNode) => PartState,
  ): ComponentHealth {
    const states = nodes.map((node) => ({ key: `${node.kind}:${node.name}`, ...stateOf(node) }));
    const components = new Map(states.map(({ key, state, error }) => [key, this.component(key, state, error)]));
    const worst = states.find(({ state }) => state === "DOWN") ?? states.find(({ state }) => state !== "UP");
    const lastError = worst === undefined ? "" : `${worst.key}: ${worst.error}`.slice(0, MAX_ERROR_LENGTH);
    const { state } = worst ?? UP;
    return this.health(`pipeline:${pipeline}`, {
      isHealthy: state !== "DOWN",
      status: STATUSES[state],
      lastError,
      components,
    });
  }

  private component(key: string, state: State, lastError: string): ComponentHealth {
    return this.health(key, { isHealthy: state !== "DOWN", status: STATUSES[state], lastError, components: new Map() });
  }

  private health(key: string, health: Omit<ComponentHealth, "startedAt" | "statusAt">): ComponentHealth {
    const startedAt = this.host.inspection?.agent.startedAt ?? this.createdAt;
    return { ...health, startedAt, statusAt: this.statusTime(key, `${health.status} ${health.isHealthy}`) };
  }

  private statusTime(key: string, status: string): number {
    const known = this.since.get(key);
    if (known?.status === status) return known.at;
    const at = this.clock.now();
    this.since.set(key, { status, at });
    return at;
  }
}

/** Errors tell what a backend answered, which may contain data. */
function stateOfExporter({ state, paused, breaker, lastError, queue }: ExporterStatus): PartState {
  if (state === "UP") return UP;
  const why = queue.writeError?.message ?? lastError?.message;
  const how = paused ? "paused" : breaker.state === "closed" ? "failing" : `the breaker is ${breaker.state}`;
  return { state, error: maskText(why === undefined ? how : `${how}: ${why}`).slice(0, MAX_ERROR_LENGTH) };
}

function stateOfReceiver({ state, down, lastError }: ReceiverStatus): PartState {
  if (state === "UP") return UP;
  const error = lastError?.message ?? `cannot read ${down.join(", ")}`;
  return { state, error: maskText(error).slice(0, MAX_ERROR_LENGTH) };
}

import { Agent, type AgentOptions } from "../agent.js";
import { builtins } from "../builtins.js";
import { type ComponentFactory, defineExporter, defineReceiver, type Intake } from "../contract/component.js";
import type { Outcome } from "../contract/delivery.js";
import { noMetrics, silentLogger } from "../contract/observability.js";
import { loadConfigWithPlugins } from "../plugins/load-config.js";
import { Registry } from "../registry.js";
import type { Batch } from "../telemetry/batch.js";
import type { Signal } from "../telemetry/signal.js";
import { type PlainRecord, plainRecords } from "./plain-records.js";

export interface RunPipelineOptions extends Partial<AgentOptions> {
  /** The components to be tested, as a plugin exports them. */
  readonly plugins?: readonly (ComponentFactory | readonly ComponentFactory[])[];
  /** Where paths of the config begin; the working directory unless told. */
  readonly folder?: string;
}

/** A config at work, with its ends in memory. */
export interface TestPipeline {
  /** Hands a batch in at the receiver `memory`; resolves with what a client would be told. */
  send(batch: Batch): Promise<Outcome>;
  /** What has come out at the exporter `memory`, in order. */
  readonly exported: readonly Batch[];
  /** The records of `exported`, as plain objects. */
  records(): PlainRecord[];
  /** Drains and stops; what is not settled in time is refused. */
  stop(timeoutMs?: number): Promise<void>;
}

/**
 * Runs a config in this process, for tests. It has a receiver and an exporter called `memory`, which need not be
 * defined. Exporters have no queue. Keeps the process alive until it is stopped. Throws with all problems when the config has any.
 */
export async function runPipeline(yaml: string, options: RunPipelineOptions = {}): Promise<TestPipeline> {
  const { plugins = [], folder, ...agentOptions } = options;
  const memory = new MemoryEnds();
  const withoutQueue = builtins.filter(({ type }) => type !== "reliability");
  const registry = new Registry([...withoutQueue, memory.receiver, memory.exporter]);
  for (const factory of plugins.flat()) registry.add(factory, factory.type);
  const sources = [
    { text: "receivers: {memory: }\nexporters: {memory: }", name: "memory" },
    { text: yaml, name: "config.yaml", ...(folder !== undefined && { folder }) },
  ];
  const { config, problems } = await loadConfigWithPlugins({ sources, registry });
  if (config === undefined) {
    const words = problems.map(({ place, path, message }) => `${place?.line}:${place?.column} ${path}: ${message}`);
    throw new Error(`the config has problems:\n${words.join("\n")}`);
  }
  const agent = new Agent(config, { logger: silentLogger, metrics: noMetrics, ...agentOptions });
  await agent.start();
  const staysAlive = setInterval(() => {}, 1 << 30); // the runtime's own timers keep no process alive
  return {
    send: (batch) => memory.send(batch),
    exported: memory.exported,
    records: () => memory.exported.flatMap(plainRecords),
    async stop(timeoutMs) {
      await agent.stop(timeoutMs);
      clearInterval(staysAlive);
    },
  };
}

class MemoryEnds {
  readonly exported: Batch[] = [];
  private intakes: Readonly<Partial<Record<Signal, Intake>>> = {};

  readonly receiver = defineReceiver({
    type: "memory",
    summary: "Takes what a test hands in.",
    create: (_config, { intakes }) => {
      this.intakes = intakes;
      return { start: async () => {}, stop: async () => {} };
    },
  });

  readonly exporter = defineExporter({
    type: "memory",
    summary: "Keeps what it gets, for a test to look at.",
    create: () => ({
      send: async (batch) => {
        this.exported.push(batch);
        return undefined;
      },
    }),
  });

  async send(batch: Batch): Promise<Outcome> {
    const intake = this.intakes[batch.signal];
    if (intake === undefined) throw new Error(`no pipeline reads ${batch.signal} from the receiver memory`);
    return intake.accept(batch);
  }
}

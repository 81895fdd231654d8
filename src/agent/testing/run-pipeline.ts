import { Registry } from "#config/resolve";
import {
  type ComponentFactory,
  defineExporter,
  defineReceiver,
  type Intake,
  noMetrics,
  type Outcome,
  silentLogger,
} from "#contract";
import type { BuiltInExtensionFactory } from "#contract/built-in";
import type { Admin, Entry } from "#contract/operations";
import { Agent, type AgentOptions, loadConfigWithPlugins } from "#host";
import { callerStack, ProblemsError, thrownTo } from "#host/errors";
import type { Batch } from "#otlp";
import { batchFromJson } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { reliabilityWithStores } from "../../extensions/reliability/component.js";
import { builtins } from "../builtins/builtins.js";
import { SluiceConfigError } from "../embed/config-error.js";
import { masks } from "../mask-batch.js";
import { storeFactory, type TestQueue } from "./component-inputs.js";
import { FakeClock, flushPromises } from "./fakes.js";
import { type PlainRecord, plainRecords } from "./plain-records.js";

/** Options for a pipeline under test. */
export interface RunPipelineOptions extends Partial<AgentOptions> {
  /** The components to test, as a plugin exports them. */
  readonly plugins?: readonly (ComponentFactory | readonly ComponentFactory[])[];
  /** Folder that relative paths of the config are resolved against; default: the working directory. */
  readonly folder?: string;
  /**
   * Puts a queue with retries, circuit breaker and dead letters in front of exporters, as in production, but not on
   * disk: "memory", "noop" (accepts everything, keeps nothing) or your own stores. Default: "none".
   */
  readonly queue?: TestQueue;
}

/** A running config with a receiver and an exporter in memory. */
export interface TestPipeline {
  /** Hands in a batch at the receiver `memory`; resolves with the outcome that a client would get. */
  send(batch: Batch): Promise<Outcome>;
  /** The batches that the exporter `memory` got, in order. */
  readonly exported: readonly Batch[];
  /** The records of `exported`, as plain objects. */
  records(): PlainRecord[];
  /** The dead letters, oldest first. Needs a `queue`. */
  deadLetters(): Promise<TestDeadLetter[]>;
  /** The operators' interface. Needs a `queue`. */
  readonly admin: Admin;
  /** Drains and stops; batches that are not settled in time are refused. A fake clock advances by itself meanwhile. */
  stop(timeoutMs?: number): Promise<void>;
}

/** Records that an exporter could not deliver, and why. */
export interface TestDeadLetter {
  readonly reason: string;
  readonly message: string;
  readonly records: readonly PlainRecord[];
  readonly entry: Entry;
}

/**
 * Runs a config in this process, for tests. The config may use a receiver and an exporter called `memory` without
 * defining them. Keeps the process alive until it is stopped. Throws with all problems of an invalid config.
 */
export async function runPipeline(yaml: string, options: RunPipelineOptions = {}): Promise<TestPipeline> {
  const calledFrom = callerStack(runPipeline);
  const { plugins = [], folder, queue = "none", ...agentOptions } = options;
  const memory = new MemoryComponents();
  const registry = await registryFor(memory, plugins.flat(), queue);
  const sources = [
    { text: "receivers: {memory: }\nexporters: {memory: }", name: "memory" },
    { text: yaml, name: "config.yaml", ...(folder !== undefined && { folder }) },
  ];
  const { config, problems } = await loadConfigWithPlugins({ sources, registry, addDefaults: true });
  if (config === undefined) throw thrownTo(calledFrom, new SluiceConfigError(problems));
  const agent = new Agent(config, { logger: silentLogger, metrics: noMetrics, ...agentOptions }, masks);
  await agent.start().catch((error: unknown) => {
    throw error instanceof ProblemsError ? thrownTo(calledFrom, error) : error;
  });
  const keepAlive = setInterval(() => {}, 1 << 30); // the runtime's own timers do not keep a process alive
  return {
    send: (batch) => memory.send(batch),
    exported: memory.exported,
    records: () => memory.exported.flatMap(plainRecords),
    deadLetters: () => deadLettersOf(adminOf(agent)),
    get admin() {
      return adminOf(agent);
    },
    async stop(timeoutMs) {
      await advancingClock(agent.stop(timeoutMs), agentOptions.clock);
      clearInterval(keepAlive);
    },
  };
}

async function registryFor(
  memory: MemoryComponents,
  plugins: readonly ComponentFactory[],
  queue: TestQueue,
): Promise<Registry> {
  const createStore = storeFactory(queue);
  const all = await builtins();
  const others = all.filter(({ type }) => type !== "reliability");
  const registry = new Registry([...others.map(offByDefault), memory.receiver, memory.exporter]);
  if (createStore !== undefined) registry.add(reliabilityWithStores(createStore));
  for (const factory of plugins) if (!all.includes(factory)) registry.add(factory, factory.type);
  return registry;
}

/** @internal The extension with the queues, with all of them in memory. */
export function queuesInMemory(): BuiltInExtensionFactory {
  return reliabilityWithStores(storeFactory("memory")!);
}

/** The health check and the admin API run only if a test names them, because they open ports. */
function offByDefault(factory: ComponentFactory): ComponentFactory {
  return factory.kind === "extension" ? { ...factory, onByDefault: false } : factory;
}

function adminOf({ admin }: Agent): Admin {
  if (admin === undefined) throw new Error('there are no queues: run the pipeline with { queue: "memory" }');
  return admin;
}

export async function deadLettersOf(admin: Admin): Promise<TestDeadLetter[]> {
  const found: TestDeadLetter[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.listDeadLetters({ order: "oldest", ...(cursor !== undefined && { cursor }) });
    for (const entry of page.entries) {
      const payload = await admin.payload(entry.id);
      const records = payload === undefined ? [] : plainRecords(batchFromJson(entry.signal, payload));
      const { reason = "", error } = entry.failure ?? {};
      found.push({ reason, message: error?.message ?? "", records, entry });
    }
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
}

/** Waits for the work and returns its result. A fake clock is advanced meanwhile, because the work may wait for it. */
export async function advancingClock<T>(work: Promise<T>, clock: unknown): Promise<T> {
  if (!(clock instanceof FakeClock)) return work;
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  for (await flushPromises(); !isOver; await flushPromises()) clock.advance(STEP_MS);
  return done;
}

const STEP_MS = 50;

/** The receiver and the exporter called `memory`, controlled by the test. */
class MemoryComponents {
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

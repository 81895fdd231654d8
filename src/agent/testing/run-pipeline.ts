import { Registry } from "#config";
import type { ComponentFactory, ExtensionFactory, Intake, Outcome } from "#contract";
import { defineExporter, defineReceiver, noMetrics, silentLogger } from "#contract";
import type { Admin, Entry } from "#contract/operations";
import { Agent, type AgentOptions, callerStack, loadConfigWithPlugins, ProblemsError, thrownTo } from "#host";
import type { Batch } from "#otlp";
import { batchFromJson } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { reliabilityWithStores } from "../../extensions/reliability/reliability.js";
import { builtins } from "../builtins.js";
import { SluiceConfigError } from "../embed/config-error.js";
import { loadedMask } from "../mask-batch.js";
import { FakeClock, flushPromises } from "./fake-clock.js";
import { type PlainRecord, plainRecords } from "./plain-records.js";
import { storeFactory, type TestQueue } from "./stores.js";

/** What a pipeline under test is given beside its config. */
export interface RunPipelineOptions extends Partial<AgentOptions> {
  /** The components to be tested, as a plugin exports them. */
  readonly plugins?: readonly (ComponentFactory | readonly ComponentFactory[])[];
  /** Where paths of the config begin; the working directory unless told. */
  readonly folder?: string;
  /**
   * Puts a queue with retries, circuit breaker and dead letters in front of exporters, as in production, but not on
   * disk: "memory", "noop" (takes everything, keeps nothing) or stores of one's own. "none" unless told.
   */
  readonly queue?: TestQueue;
}

/** A config at work, with its ends in memory. */
export interface TestPipeline {
  /** Hands a batch in at the receiver `memory`; resolves with what a client would be told. */
  send(batch: Batch): Promise<Outcome>;
  /** What has come out at the exporter `memory`, in order. */
  readonly exported: readonly Batch[];
  /** The records of `exported`, as plain objects. */
  records(): PlainRecord[];
  /** What could not be delivered, oldest first. Needs a `queue`. */
  deadLetters(): Promise<TestDeadLetter[]>;
  /** What operators can see and do. Needs a `queue`. */
  readonly admin: Admin;
  /** Drains and stops; what is not settled in time is refused. A fake clock moves on by itself meanwhile. */
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
 * Runs a config in this process, for tests. It has a receiver and an exporter called `memory`, which need not be
 * defined. Keeps the process alive until it is stopped. Throws with all problems when the config has any.
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
  const agent = new Agent(config, { logger: silentLogger, metrics: noMetrics, ...agentOptions }, loadedMask);
  await agent.start().catch((error: unknown) => {
    throw error instanceof ProblemsError ? thrownTo(calledFrom, error) : error;
  });
  const keepAlive = setInterval(() => {}, 1 << 30); // the runtime's own timers keep no process alive
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

/** The extension that has the queues, with these in memory. */
export function queuesInMemory(): ExtensionFactory {
  return reliabilityWithStores(storeFactory("memory")!);
}

/** A test that does not name the health check, or the admin API, has no need of their ports. */
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

/** Waits for the work, and gives what comes of it; when it waits for a fake clock, that is moved on. */
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

/** A receiver and an exporter, both called `memory`, that a test holds the other ends of. */
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

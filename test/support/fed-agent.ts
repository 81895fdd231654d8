import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { reliability } from "../../src/extensions/reliability/component.js";
import {
  type Batch,
  type ComponentFactory,
  defineReceiver,
  type Intake,
  type Origin,
  type Outcome,
  SIGNALS,
  type Signal,
} from "../../src/plugin.js";
import type { Agent } from "../../src/runtime/host/agent.js";
import type { AgentOptions } from "../../src/runtime/host/agent-options.js";
import { type CountedMetrics, countedMetrics } from "../runtime/queue/counted-metrics.js";
import { agentOf } from "./agent.js";

/** An agent with durable queues, in this process, whose receiver is the test. */
export interface FedAgent {
  readonly agent: Agent;
  readonly metrics: CountedMetrics;
  /** Where its queues are. */
  readonly directory: string;
  /** Hands a batch in as a receiver would. */
  hand(batch: Batch, origin?: Partial<Origin>): Promise<Outcome>;
}

export interface FedOptions extends Partial<AgentOptions> {
  /** For queues that were there before; otherwise it has a directory of its own. */
  readonly directory?: string;
  readonly components?: readonly ComponentFactory[];
  /** In the place of the one that keeps queues on disk. */
  readonly extension?: ComponentFactory;
  /** Beside the one of the test. */
  readonly receivers?: Readonly<Record<string, object>>;
}

const started: { readonly agent: Agent; readonly directory: string }[] = [];

/** Stops what was started, and removes its directories. */
export async function cleanUp(): Promise<void> {
  const all = started.splice(0);
  // Several may have had the same directory, one after the other.
  for (const { agent } of all) await agent.stop(0);
  for (const { directory } of all) rmSync(directory, { recursive: true, force: true });
}

/** Starts an agent from the YAML of everything but receivers. The test's receiver is called `hand`. */
export async function startFed(yamlOf: (directory: string) => string, options: FedOptions = {}): Promise<FedAgent> {
  const newDirectory = mkdtempSync(join(tmpdir(), "sluice-queue-"));
  const { directory = newDirectory, components = [], extension = reliability, receivers = {}, ...rest } = options;
  const state: { intakes?: Readonly<Partial<Record<Signal, Intake>>> } = {};
  const receiver = defineReceiver({
    type: "hand",
    summary: "test",
    signals: SIGNALS,
    schema: z.strictObject({}),
    create: (_config, { intakes }) => {
      state.intakes = intakes;
      return { start: async () => {}, stop: async () => {} };
    },
  });
  const metrics = countedMetrics();
  const yaml = `receivers: ${JSON.stringify({ hand: null, ...receivers })}\n${yamlOf(directory)}`;
  const agent = agentOf(yaml, { components: [extension, receiver, ...components], metrics, ...rest });
  started.push({ agent, directory: newDirectory });
  await agent.start();
  return { agent, directory, metrics, hand: (batch, origin) => state.intakes![batch.signal]!.accept(batch, origin) };
}

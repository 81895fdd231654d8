import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { reliability } from "../../../src/extensions/reliability/index.js";
import {
  type Batch,
  type ComponentFactory,
  defineReceiver,
  type Intake,
  type Outcome,
  SIGNALS,
  type Signal,
} from "../../../src/plugin.js";
import type { Agent, AgentOptions } from "../../../src/runtime/agent.js";
import { agentOf } from "../../support/agent.js";
import { logs } from "../../support/batches.js";
import { type CountedMetrics, countedMetrics } from "./counted-metrics.js";

export interface WrappedAgent {
  readonly agent: Agent;
  readonly directory: string;
  readonly metrics: CountedMetrics;
  /** Hands records in as a receiver would. */
  send(...bodies: string[]): Promise<Outcome>;
  hand(batch: Batch): Promise<Outcome>;
}

const started: { readonly agent: Agent; readonly directory: string }[] = [];

/** Stops what was started, and removes its directories. */
export async function cleanUp(): Promise<void> {
  for (const { agent, directory } of started.splice(0)) {
    await agent.stop(0);
    rmSync(directory, { recursive: true, force: true });
  }
}

export interface WrappedOptions extends Partial<AgentOptions> {
  readonly directory?: string;
  /** Keys of the extension, as YAML in flow style, each after a comma. */
  readonly defaults?: string;
  /** By id, in the order of the pipeline. */
  readonly processors?: Readonly<Record<string, unknown>>;
  readonly components?: readonly ComponentFactory[];
}

/** An agent whose exporters are wrapped, with its queues in a directory of its own, fed by hand. Started. */
export async function startWrapped(exporters: string, options: WrappedOptions = {}): Promise<WrappedAgent> {
  const own = mkdtempSync(join(tmpdir(), "sluice-queue-"));
  const { directory = own, defaults = "", processors = {}, components = [], ...rest } = options;
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
  const ids = [...exporters.matchAll(/^ {2}([\w/]+):/gm)].map((match) => match[1]);
  const yaml = `
receivers: {hand: }
processors: ${JSON.stringify(processors)}
exporters:
${exporters}
extensions: {reliability: {directory: ${JSON.stringify(directory)}${defaults}}, health_check: {endpoint: "127.0.0.1:0"}}
service:
  extensions: [reliability, health_check]
  pipelines: {logs: {receivers: [hand], processors: [${Object.keys(processors).join(", ")}], exporters: [${ids.join(", ")}]}}
`;
  const metrics = countedMetrics();
  const agent = agentOf(yaml, { components: [reliability, receiver, ...components], metrics, ...rest });
  started.push({ agent, directory: own });
  await agent.start();
  const hand = (batch: Batch) => state.intakes![batch.signal]!.accept(batch);
  return { agent, directory, metrics, hand, send: (...bodies) => hand(logs(...bodies)) };
}

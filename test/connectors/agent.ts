import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { reliability } from "../../src/extensions/reliability/index.js";
import {
  type Admin,
  type Batch,
  defineReceiver,
  type Intake,
  type Outcome,
  SIGNALS,
  type Signal,
} from "../../src/plugin.js";
import type { Agent, AgentOptions } from "../../src/runtime/agent.js";
import { type CountedMetrics, countedMetrics } from "../extensions/reliability/counted-metrics.js";
import { agentOf } from "../support/agent.js";

export interface FedAgent {
  readonly agent: Agent;
  readonly admin: Admin;
  readonly metrics: CountedMetrics;
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

/**
 * A started agent with durable queues whose receiver `hand` is fed by hand. The text has all sections but receivers and
 * extensions.
 */
export async function startFed(yaml: string, options: Partial<AgentOptions> = {}): Promise<FedAgent> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-connectors-"));
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
  const text = `receivers: {hand: }
extensions: {reliability: {directory: ${JSON.stringify(directory)}}}
${yaml}`;
  const metrics = countedMetrics();
  const agent = agentOf(text, { components: [reliability, receiver], metrics, ...options });
  started.push({ agent, directory });
  await agent.start();
  return { agent, admin: agent.admin!, metrics, hand: (batch) => state.intakes![batch.signal]!.accept(batch) };
}

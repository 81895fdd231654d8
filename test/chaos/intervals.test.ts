import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Signal } from "../../src/plugin.js";
import { encodeTree } from "../../src/runtime/otlp/json/tree.js";
import { Dice } from "../support/telemetry/wire-forms.js";
import { runCampaign } from "./campaign.js";
import { startClients } from "./client.js";
import { agentConfig } from "./configs.js";
import { type FaultySink, startFaultySink } from "./faulty-sink.js";
import { kills, patience, progress, seed, summary } from "./long-form.js";
import { markOf } from "./numbered.js";
import { RecordBook } from "./record-book.js";
import { Victim } from "./victim.js";

let directory: string;
let book: RecordBook;
let sink: FaultySink;
let victim: Victim;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  book = new RecordBook();
  sink = await startFaultySink(book);
});

afterEach(async () => {
  await victim.end("SIGKILL");
  await sink.close();
  rmSync(directory, { recursive: true, force: true });
});

/** An agent with this processor in the only pipeline. Its requests wait in a journal beside the queue. */
function configWith(signal: Signal, processor: string, keys: object): object {
  const queue = join(directory, "queue");
  const config = agentConfig({ backend: sink.url, queue, batch: false }) as { service: object };
  return {
    ...config,
    processors: { [processor]: { interval: "150ms", ...keys } },
    service: {
      ...config.service,
      pipelines: { [signal]: { receivers: ["otlp"], processors: [processor], exporters: ["otlphttp"] } },
    },
  };
}

const settings = () => ({ seed, book, sink, victim, say: progress, stretch: 5, kills: kills(8, 0.2) });

describe("an agent that counts equal log records behind a journal", () => {
  it.each([
    ["all of them", {}],
    ["some of them", { conditions: ['IsMatch(body.string, "^chaos#[0-9]*[02468] ")'] }],
  ])(
    "delivers one of every kind that it acknowledged, whenever it is killed (%s)",
    {
      timeout: patience(600_000),
    },
    async (name, dedup) => {
      victim = Victim.agent(directory, configWith("logs", "log_dedup", dedup));
      const report = await runCampaign(settings());
      expect(report, summary(`log_dedup, ${name}`, report)).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
      expect(report.acknowledged).toBeGreaterThan(0);
    },
  );
});

describe("an agent that keeps the last point of each series behind a journal", () => {
  /** Every series has one point, so that all of them are the last. Every other metric is a delta, which does not wait. */
  const encode = (numbers: readonly number[]) => {
    const metrics = numbers.map((number) => ({
      name: markOf(number),
      sum: {
        dataPoints: [{ timeUnixNano: 5n, asInt: 1n }],
        aggregationTemporality: (number % 2) + 1,
        isMonotonic: true,
      },
    }));
    return encodeTree("metrics", { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }).bytes;
  };

  it("delivers the last point of every series that it acknowledged, whenever it is killed", {
    timeout: patience(600_000),
  }, async () => {
    victim = Victim.agent(directory, configWith("metrics", "interval", {}));
    const load = { book, dice: new Dice(seed), clients: 4, maxRecords: 20, resendUnanswered: true, encode };
    const startLoad = (port: () => number | undefined) => startClients({ ...load, port, signal: "metrics" });
    const report = await runCampaign({ ...settings(), startLoad });
    expect(report, summary("interval", report)).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
    expect(report.acknowledged).toBeGreaterThan(0);
  });
});

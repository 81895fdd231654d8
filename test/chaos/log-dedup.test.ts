import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCampaign } from "./campaign.js";
import { agentConfig } from "./configs.js";
import { type FaultySink, startFaultySink } from "./faulty-sink.js";
import { Ledger } from "./ledger.js";
import { kills, patience, progress, seed, summary } from "./long-form.js";
import { Victim } from "./victim.js";

let directory: string;
let ledger: Ledger;
let sink: FaultySink;
let victim: Victim;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  ledger = new Ledger();
  sink = await startFaultySink(ledger);
});

afterEach(async () => {
  await victim.end("SIGKILL");
  await sink.close();
  rmSync(directory, { recursive: true, force: true });
});

function dedupConfig(backend: string, queue: string, dedup: object): object {
  const config = agentConfig({ backend, queue, batch: false }) as { service: object };
  return {
    ...config,
    processors: { log_dedup: { interval: "150ms", ...dedup } },
    service: {
      ...config.service,
      pipelines: { logs: { receivers: ["otlp"], processors: ["log_dedup"], exporters: ["otlphttp"] } },
    },
  };
}

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
      victim = Victim.agent(directory, dedupConfig(sink.url, join(directory, "queue"), dedup));
      const settings = { seed, ledger, sink, victim, say: progress, stretch: 5 };
      const report = await runCampaign({ ...settings, kills: kills(8, 0.2) });
      expect(report, summary(`log_dedup, ${name}`, report)).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
      expect(report.acknowledged).toBeGreaterThan(0);
    },
  );
});

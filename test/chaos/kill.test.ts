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
const victims: Victim[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  ledger = new Ledger();
  sink = await startFaultySink(ledger);
});

afterEach(async () => {
  for (const victim of victims.splice(0)) await victim.end("SIGKILL");
  await sink.close();
  rmSync(directory, { recursive: true, force: true });
});

function born(victim: Victim): Victim {
  victims.push(victim);
  return victim;
}

const settings = () => ({ seed, ledger, sink, say: progress });

describe("the oracle", () => {
  it("finds out an agent that acknowledges what it has only in memory", { timeout: 30_000 }, async () => {
    const victim = born(Victim.program(directory, [join(import.meta.dirname, "lossy.mjs"), String(sink.port)]));
    const report = await runCampaign({ ...settings(), victim, kills: 8, patienceMs: 300 });
    expect(report.missing, summary("an agent that lies", report)).toBeGreaterThan(0);
  });
});

describe("an agent without a queue", () => {
  it("has delivered what it acknowledged", { timeout: patience(40_000) }, async () => {
    const victim = born(Victim.agent(directory, agentConfig({ backend: sink.url })));
    const report = await runCampaign({ ...settings(), victim, kills: kills(10, 0.1) });
    expect(report, summary("no queue", report)).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
    expect(report.acknowledged).toBeGreaterThan(0);
  });
});

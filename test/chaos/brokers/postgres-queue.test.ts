import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { runCampaign } from "../campaign.js";
import { agentConfig } from "../configs.js";
import { startFaultySink } from "../faulty-sink.js";
import { Ledger } from "../ledger.js";
import { kills, patience, progress, seed, summary } from "../long-form.js";
import { Victim } from "../victim.js";

describe.skipIf(postgresProgram === undefined)("an agent without a disk, whose queue is in postgres", () => {
  it("delivers what it acknowledged, whenever it or the server is killed", { timeout: patience(240_000) }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
    const ledger = new Ledger();
    const sink = await startFaultySink(ledger);
    const postgres = await startPostgres();
    const config = agentConfig({ backend: sink.url, queue: "unused" }) as { extensions: object };
    const store = { postgres: { ...postgres.keys, agent: "one", timeout: "1s" } };
    const extensions = { ...config.extensions, reliability: { store } };
    const victim = Victim.agent(directory, { ...config, extensions });
    onTestFinished(async () => {
      await victim.end("SIGKILL");
      await sink.close();
      await postgres.close();
      rmSync(directory, { recursive: true, force: true });
    });
    const serverKills = kills(1, 0.04);
    const killing = (async () => {
      for (let i = 0; i < serverKills; i++) {
        await delay(1000);
        await postgres.server.kill();
        await postgres.server.start();
      }
    })();
    const settings = { seed, ledger, sink, say: progress, stretch: 3, patienceMs: 120_000 };
    const report = await runCampaign({ ...settings, victim, kills: kills(4, 0.04) });
    await killing;
    const said = summary("queue in postgres", { ...report, serverKills });
    expect(report, said).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
    expect(report.acknowledged, said).toBeGreaterThan(0);
    expect(existsSync(join(directory, "data/queue")), "a queue on the disk").toBe(false);
  });
});

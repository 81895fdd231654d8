import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Postgres, postgresProgram, startPostgres } from "../../support/servers/postgres.js";
import { runCampaign } from "../campaign.js";
import { agentConfig, traceConfig } from "../configs.js";
import { startFaultySink } from "../faulty-sink.js";
import { kills, patience, progress, seed, summary } from "../long-form.js";
import { RecordBook } from "../record-book.js";
import { arrivedOfDropped, halves, POLICIES, type SentTrace, startTraceClients } from "../trace-client.js";
import { Victim } from "../victim.js";
import { killPostgres } from "./kill-postgres.js";

/** Both halves of a trace must be acknowledged in a third of it to count: a commit on a busy server takes a while. */
const DECISION_WAIT_MS = 3600;
/** Spans of every life. */
const LOAD = 150;
const KEY = Buffer.alloc(32, "a key of the test").toString("hex");

/** Keys of the extension for an agent that has nothing on its disk, and keeps nothing readable on the server. */
const storeIn = (postgres: Postgres) => ({
  store: { postgres: { ...postgres.keys, agent: "one", timeout: "1s" } },
  encryption: { keys: [{ id: "test", key: KEY }] },
});

async function setUp() {
  const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  const book = new RecordBook();
  const sink = await startFaultySink(book);
  const postgres = await startPostgres();
  onTestFinished(async () => {
    await sink.close();
    await postgres.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const startVictim = (config: object) => {
    const { extensions } = config as { extensions: object };
    const own = { ...config, extensions: { ...extensions, reliability: storeIn(postgres) } };
    const victim = Victim.agent(directory, own);
    onTestFinished(() => victim.end("SIGKILL"));
    return victim;
  };
  return { directory, book, sink, postgres, startVictim };
}

describe.skipIf(postgresProgram === undefined)("an agent without a disk, whose queue is in postgres", () => {
  it("delivers what it acknowledged, whenever it or the server is killed", { timeout: patience(240_000) }, async () => {
    const { directory, book, sink, postgres, startVictim } = await setUp();
    const victim = startVictim(agentConfig({ backend: sink.url, queue: "unused" }));
    const serverKills = kills(1, 0.04);
    const killing = killPostgres(postgres, serverKills);
    const settings = { seed, book, sink, say: progress, stretch: 3, patienceMs: 120_000 };
    const report = await runCampaign({ ...settings, victim, kills: kills(4, 0.04) });
    await killing;
    const said = summary("queue in postgres", { ...report, serverKills });
    expect(report, said).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
    expect(report.acknowledged, said).toBeGreaterThan(0);
    expect(existsSync(join(directory, "data/queue")), "a queue on the disk").toBe(false);
  });

  it("samples traces whole, whenever it or the server is killed", { timeout: patience(600_000) }, async () => {
    const { directory, book, sink, postgres, startVictim } = await setUp();
    const sampling = {
      decision_wait: `${DECISION_WAIT_MS}ms`,
      drop_pending_traces_on_shutdown: true,
      policies: POLICIES,
    };
    const victim = startVictim(traceConfig({ backend: sink.url, sampling, queue: "unused" }, "unused"));
    const sent: SentTrace[] = [];
    const startLoad = (port: () => number | undefined) => startTraceClients(book, sent, DECISION_WAIT_MS / 3, port);
    const serverKills = kills(1, 0.04);
    const killing = killPostgres(postgres, serverKills);
    const settings = {
      seed,
      book,
      sink,
      victim,
      say: progress,
      startLoad,
      stretch: 5,
      load: LOAD,
      patienceMs: 120_000,
    };
    const report = await runCampaign({ ...settings, kills: kills(3, 0.04) });
    await killing;
    const said = summary("traces, journal in postgres", { ...report, serverKills });
    expect(report, said).toMatchObject({ missing: 0, strays: 0 });
    expect(report.acknowledged, said).toBeGreaterThanOrEqual(LOAD);
    expect(arrivedOfDropped(sent, book), said).toEqual([]);
    await expect.poll(() => halves(sent, book), { timeout: 60_000, interval: 500 }).toEqual([]);
    expect(existsSync(join(directory, "data/queue")), "a journal on the disk").toBe(false);
  });
});

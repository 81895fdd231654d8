import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCampaign } from "./campaign.js";
import { traceConfig } from "./configs.js";
import { type FaultySink, startFaultySink } from "./faulty-sink.js";
import { kills, patience, progress, seed, summary } from "./long-form.js";
import { RecordBook } from "./record-book.js";
import { arrivedOfDropped, halves, POLICIES, type SentTrace, startTraceClients } from "./trace-client.js";
import { Victim } from "./victim.js";

const DECISION_WAIT_MS = 400;

const SAMPLING = {
  decision_wait: `${DECISION_WAIT_MS}ms`,
  drop_pending_traces_on_shutdown: true,
  policies: POLICIES,
};

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

describe("an agent that samples traces behind a journal", () => {
  it.each([
    ["with a queue", true, 8, 0.2],
    ["without a queue", false, 6, 0.1],
  ] as const)(
    "delivers kept traces whole, and nothing of others, whenever it is killed (exporter %s)",
    { timeout: patience(600_000) },
    async (name, hasQueue, times, share) => {
      const sent: SentTrace[] = [];
      const journal = join(directory, "queue");
      const shape = { backend: sink.url, sampling: SAMPLING, ...(hasQueue && { queue: journal }) };
      victim = Victim.agent(directory, traceConfig(shape, journal));
      const startLoad = (port: () => number | undefined) => startTraceClients(book, sent, DECISION_WAIT_MS / 3, port);
      const settings = { seed, book, sink, victim, say: progress, startLoad, stretch: 5 };
      const report = await runCampaign({ ...settings, kills: kills(times, share) });
      expect(report, summary(`traces, exporter ${name}`, report)).toMatchObject({ missing: 0, strays: 0 });
      expect(report.acknowledged).toBeGreaterThan(0);
      expect(arrivedOfDropped(sent, book), summary("of dropped traces", report)).toEqual([]);
      await expect.poll(() => halves(sent, book), { timeout: 30_000, interval: 500 }).toEqual([]);
    },
  );
});

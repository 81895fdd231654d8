import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCampaign } from "./campaign.js";
import { post } from "./client.js";
import { agentConfig } from "./configs.js";
import { type FaultySink, startFaultyRelay, startFaultySink } from "./faulty-sink.js";
import { isLongForm, kills, patience, progress, seed, summary } from "./long-form.js";
import { encodeNumbers } from "./numbered.js";
import { RecordBook } from "./record-book.js";
import { Victim } from "./victim.js";

let directory: string;
let book: RecordBook;
let sink: FaultySink;
const victims: Victim[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  book = new RecordBook();
  sink = await startFaultySink(book);
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

/** Hands in so many records, each as a request of its own. */
async function fill(victim: Victim, entries: number): Promise<void> {
  const client = async () => {
    while (book.acknowledgedCount < entries) {
      const numbers = book.take(1);
      const answer = await post(victim.port!, undefined, encodeNumbers(numbers));
      expect(answer).toMatchObject({ status: 200 });
      book.acknowledge(numbers);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
}

describe("an agent with a backlog for a backend that works", () => {
  it("sends it in few requests and without a ramp, though it is stopped and killed again and again", {
    timeout: patience(600_000),
  }, async () => {
    const entries = isLongForm ? 50_000 : 4000;
    const queue = join(directory, "queue");
    // With a ramp of an hour, 10 entries a second would go out. A call that hangs is no failure of the backend before its timeout.
    const exporter = { timeout: "1h", replay: { ramp: "1h" }, sending_queue: { num_consumers: 10 } };
    const victim = born(Victim.agent(directory, agentConfig({ backend: sink.url, queue, batch: false, exporter })));
    sink.mood = "hangs";
    await victim.start();
    await fill(victim, entries);
    await victim.end("SIGKILL");
    sink.mood = "ok";
    const requestsBefore = sink.requests;
    let rounds = 0;
    while (book.missing().length > 0) {
      const heard = sink.requests;
      await victim.start();
      // So many requests are far more entries than so many, as those that wait are merged.
      await expect.poll(() => book.missing().length === 0 || sink.requests >= heard + 20).toBe(true);
      // A killed agent's records that were sent but not noted are sent again, so a stop in between gives it time.
      await victim.end(rounds % 2 === 0 ? "SIGTERM" : "SIGKILL");
      rounds += 1;
      progress(`${rounds} rounds, ${book.missing().length} of ${entries} missing`);
    }
    const report = { entries, rounds, requests: sink.requests - requestsBefore, ...book.verdict() };
    const text = summary("a backlog for a backend that works", report);
    expect(report, text).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
    expect(report.requests, text).toBeLessThan(entries / 20);
    expect(rounds, text).toBeLessThan(entries / 400);
  });

  it("delivers to a deduplicating receiver exactly once, however entries are merged after a kill", {
    timeout: patience(600_000),
  }, async () => {
    const receiver = { dedup: { enabled: true, directory: join(directory, "dedup") } };
    const second = born(Victim.agent(directory, agentConfig({ backend: sink.url, receiver }), "second.json"));
    await second.start();
    const relay = await startFaultyRelay(() => second.port);
    // One slot: what comes meanwhile waits, and is merged.
    const exporter = { sending_queue: { num_consumers: 1 } };
    const queue = join(directory, "queue");
    const victim = born(Victim.agent(directory, agentConfig({ backend: relay.url, queue, batch: false, exporter })));
    const report = await runCampaign({
      ...{ seed, book, say: progress, sink: relay, victim },
      kills: kills(9, 0.2),
      resendUnanswered: false,
    });
    await relay.close();
    const text = summary("a merged backlog, deduplicated", report);
    expect(report, text).toMatchObject({ missing: 0, duplicates: 0, unexplained: 0 });
    expect(report.acknowledged, text).toBeGreaterThan(0);
    expect(relay.requests, text).toBeLessThan(report.acknowledged);
  });
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCampaign } from "./campaign.js";
import { agentConfig } from "./configs.js";
import { deadLetters, replayAll } from "./dead-letters.js";
import { type FaultySink, startFaultyRelay, startFaultySink } from "./faulty-sink.js";
import { kills, patience, progress, seed, summary } from "./long-form.js";
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

const settings = () => ({ seed, book, sink, say: progress });

describe("the oracle", () => {
  it("finds out an agent that acknowledges what it has only in memory", { timeout: 600_000 }, async () => {
    const victim = born(Victim.program(directory, [join(import.meta.dirname, "lossy.mjs"), String(sink.port)]));
    // On a busy machine all that it had may have left before it is killed, now and then.
    for (let more = 0; ; more++) {
      const report = await runCampaign({ ...settings(), seed: seed + more, victim, kills: 5, patienceMs: 300 });
      if (report.missing > 0) break;
      expect(more, summary("an agent that lies", report)).toBeLessThan(5);
    }
  });
});

describe("an agent without a queue", () => {
  it("has delivered what it acknowledged", { timeout: patience(600_000) }, async () => {
    const victim = born(Victim.agent(directory, agentConfig({ backend: sink.url })));
    const report = await runCampaign({ ...settings(), victim, kills: kills(5, 0.1) });
    expect(report, summary("no queue", report)).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
    expect(report.acknowledged).toBeGreaterThan(0);
  });
});

describe("an agent with a queue", () => {
  it.each([
    ["fsync", 25],
    ["process", 8],
  ] as const)(
    "delivers what it acknowledged, whenever it is killed (durability %s)",
    { timeout: patience(600_000) },
    async (durability, times) => {
      const config = agentConfig({ backend: sink.url, queue: join(directory, "queue"), durability });
      const victim = born(Victim.agent(directory, config));
      const report = await runCampaign({ ...settings(), victim, kills: kills(times, 0.5) });
      expect(report, summary(`queue, ${durability}`, report)).toMatchObject({ missing: 0, rejected: 0, strays: 0 });
      expect(report.acknowledged).toBeGreaterThan(0);
    },
  );

  it("dead-letters bad records and delivers those around them, also when it is killed meanwhile, and replays them", {
    timeout: patience(600_000),
  }, async () => {
    let isFixed = false;
    const isBad = (number: number) => !isFixed && number % 53 === 7;
    const picky = await startFaultySink(book, isBad);
    const queue = join(directory, "queue");
    const victim = born(Victim.agent(directory, agentConfig({ backend: picky.url, queue })));
    const report = await runCampaign({ ...settings(), sink: picky, victim, isBad, kills: kills(8, 0.2) });
    await victim.end("SIGTERM");
    const dead = new Set(await deadLetters(queue));
    const missing = book.missing();
    expect(
      missing.filter((number) => !isBad(number)),
      summary("bad records", report),
    ).toEqual([]);
    expect(missing.filter((number) => !dead.has(number))).toEqual([]);
    expect([...dead].filter((number) => !isBad(number))).toEqual([]);
    expect(dead.size).toBeGreaterThan(0);

    isFixed = true;
    await replayAll(queue);
    await victim.start();
    await expect.poll(() => book.missing()).toEqual([]);
    await victim.end("SIGTERM");
    expect(await deadLetters(queue)).toEqual([]);
    await picky.close();
  });

  it("delivers to a deduplicating receiver exactly once", { timeout: patience(600_000) }, async () => {
    const receiver = { dedup: { enabled: true, directory: join(directory, "dedup") } };
    const second = born(Victim.agent(directory, agentConfig({ backend: sink.url, receiver }), "second.json"));
    await second.start();
    const relay = await startFaultyRelay(() => second.port);
    const victim = born(Victim.agent(directory, agentConfig({ backend: relay.url, queue: join(directory, "queue") })));
    const report = await runCampaign({
      ...settings(),
      sink: relay,
      victim,
      kills: kills(9, 0.2),
      resendUnanswered: false,
    });
    await relay.close();
    expect(report, summary("deduplicated", report)).toMatchObject({ missing: 0, duplicates: 0, unexplained: 0 });
    expect(report.acknowledged).toBeGreaterThan(0);
  });
});

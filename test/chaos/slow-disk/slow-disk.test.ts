import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { runCampaign } from "../campaign.js";
import { deadLetters } from "../dead-letters.js";
import { startFaultySink } from "../faulty-sink.js";
import { agents, kills, patience, progress, seed, summary } from "../long-form.js";
import { RecordBook } from "../record-book.js";
import { Victim } from "../victim.js";
import { type DeadLetterViews, viewsOf } from "./dead-letter-views.js";
import { slowDiskConfig } from "./slow-disk-config.js";

const SLOW_FSYNC = new URL("../preloaded/slow-fsync.mjs", import.meta.url).href;
/** The agent lives long enough for entries to be put, retried and given up, which takes three fsyncs. */
const STRETCH = 6;
/** The backend never takes these records. */
const isBad = (number: number) => number % 37 === 5;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** An agent on a slow disk. */
function slowVictim(directory: string, config: object, name: string): Victim {
  const victim = Victim.agent(directory, config, name, ["--import", SLOW_FSYNC]);
  cleanups.push(() => victim.end("SIGKILL"));
  return victim;
}

/** Kills agents on a slow disk, and compares what they acknowledged with what arrived and what every view shows. */
async function campaign(seedOfOne: number, killsOfOne: number) {
  const directory = mkdtempSync(join(tmpdir(), "sluice-slow-disk-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const book = new RecordBook();
  const sink = await startFaultySink(book, isBad, 503);
  cleanups.push(() => sink.close());
  const queue = join(directory, "queue");
  const adminPort = await freePort();
  const shape = { backend: sink.url, queue, adminPort };
  const victim = slowVictim(directory, slowDiskConfig(shape), "sluice.json");
  const settings = {
    seed: seedOfOne,
    kills: killsOfOne,
    book,
    sink,
    victim,
    stretch: STRETCH,
    load: 20,
    patienceMs: 0,
  };
  const report = await runCampaign({ ...settings, say: progress });
  const views = viewsOf(adminPort);
  await drained(views);
  const shown = await checkViews(views);
  await victim.end("SIGTERM");
  const kept = new Set(await deadLetters(queue));
  const lost = book.missing().filter((number) => !kept.has(number));
  const failures = victim.lines.filter((line) => COMPLAINT.test(line));
  const result = { ...report, deadLetters: shown, recordsInThem: kept.size, lost: lost.length, failures };
  const text = summary("slow disk", result);
  await retentionRemoves(slowVictim(directory, slowDiskConfig({ ...shape, maxDeadLetters: 1 }), "limited.json"), views);
  return { result, text };
}

const COMPLAINT = /maintenance of dead letters failed|set aside|damaged|repaired/;

/** Waits as long as entries leave the queue, which takes long if many wait for a slow disk. */
async function drained(views: DeadLetterViews): Promise<void> {
  for (let left = Number.POSITIVE_INFINITY; left > 0; left = await views.pending())
    await expect.poll(() => views.pending()).toBeLessThan(left);
}

/** Every dead letter that is counted is listed, shown and checked for a replay. Returns their number. */
async function checkViews(views: DeadLetterViews): Promise<number> {
  const [listed, counted] = [await views.listed(), await views.counted()];
  expect(listed.length).toBe(counted);
  for (const id of listed) expect(await views.shown(id)).toMatchObject({ id, state: "failed" });
  expect(await views.replayable()).toBe(counted);
  return counted;
}

/** Maintenance checks the age of every dead letter, and then removes all but one. */
async function retentionRemoves(victim: Victim, views: DeadLetterViews): Promise<void> {
  await victim.start();
  await expect.poll(() => views.counted()).toBeLessThanOrEqual(1);
  await victim.end("SIGTERM");
}

describe("an agent whose disk is slower than its retries", () => {
  it("loses nothing and lists every dead letter, whenever it is killed", { timeout: patience(900_000) }, async () => {
    const share = Math.ceil(kills(40) / agents);
    const all = await Promise.all(Array.from({ length: agents }, (_, i) => campaign(seed + i, share)));
    for (const { result, text } of all) {
      expect(result, text).toMatchObject({ lost: 0, rejected: 0, strays: 0, failures: [] });
      expect(result.deadLetters, text).toBeGreaterThan(0);
    }
  });
});

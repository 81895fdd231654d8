import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { canMount } from "../support/servers/can-mount.js";
import { Dice } from "../support/telemetry/wire-forms.js";
import { post, startClients } from "./client.js";
import { agentConfig, journalConfig } from "./configs.js";
import { copyOf, type Damage, filesBelow, flipBit, kindsBelow, remove, truncateTo } from "./damage.js";
import { type FaultySink, startFaultySink } from "./faulty-sink.js";
import { isLongForm } from "./long-form.js";
import { encodeNumbers } from "./numbered.js";
import { RecordBook } from "./record-book.js";
import { Victim } from "./victim.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-disk-"));
const cleanups: (() => unknown)[] = [];
let serial = 0;

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function sinkOf(book: RecordBook): Promise<FaultySink> {
  const sink = await startFaultySink(book);
  cleanups.push(() => sink.close());
  return sink;
}

type ConfigOf = (backend: string, queue: string) => object;

const withQueue: ConfigOf = (backend, queue) => agentConfig({ backend, queue });
const withJournal: ConfigOf = (backend, queue) => journalConfig({ backend }, queue);

function agentOn(queue: string, sink: FaultySink, configOf: ConfigOf = withQueue): Victim {
  const home = join(directory, `agent-${++serial}`);
  mkdirSync(home);
  const victim = Victim.agent(home, configOf(sink.url, queue));
  cleanups.push(() => victim.end("SIGKILL"));
  return victim;
}

/** Sends so many requests of ten records, which must all be acknowledged. */
async function fill(victim: Victim, book: RecordBook, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) {
    const numbers = book.take(10);
    expect(await post(victim.port!, undefined, encodeNumbers(numbers))).toMatchObject({ status: 200 });
    book.acknowledge(numbers);
  }
}

/** Waits until nothing is missing but what is `lost`, or nothing has come for a while. */
async function settle(book: RecordBook, sink: FaultySink, lost = 0): Promise<void> {
  for (let quiet = 0; quiet < 75 && book.missing().length > lost; quiet++) {
    const heard = sink.requests;
    await delay(20);
    if (sink.requests > heard) quiet = 0;
  }
}

/** Lines of the log that are warnings or worse. */
function complaints(victim: Victim): string[] {
  return victim.lines.filter((line) => /"level":"?(40|50|60|warn|error|fatal)/i.test(line));
}

describe.each([
  ["a queue", withQueue],
  ["a journal", withJournal],
])("files of %s damaged between two runs", (name, configOf) => {
  const book = new RecordBook();
  const master = join(directory, `master of ${name}`);
  let sink: FaultySink;

  beforeAll(async () => {
    sink = await startFaultySink(book);
    sink.mood = "unavailable";
    // After the second start, the data of the first run is in a table, and the data of the second run is in the log.
    for (let run = 0; run < 2; run++) {
      const home = join(directory, `filling ${name} ${run}`);
      mkdirSync(home);
      const victim = Victim.agent(home, configOf(sink.url, master));
      await victim.start();
      await fill(victim, book, 30);
      await victim.end("SIGKILL");
    }
    await sink.close();
  });

  const damages: Damage[] = [
    flipBit(/\.log$/, 0.3),
    flipBit(/\.ldb$/, 0.3),
    flipBit(/^MANIFEST/, 0.1),
    flipBit(/^CURRENT$/, 0.5),
    remove(/^CURRENT$/),
    remove(/^MANIFEST/),
    remove(/\.ldb$/),
    remove(/\.log$/),
    truncateTo(/\.log$/, 0.5),
    truncateTo(/\.ldb$/, 0.5),
    truncateTo(/^CURRENT$/, 0),
    ...(isLongForm ? moreDamages() : []),
  ];

  it.each(damages)("delivers the rest and says what was lost when $title", async (damage) => {
    const queue = copyOf(master, join(directory, `copy-${++serial}`));
    expect(damage.apply(queue), `there are ${kindsBelow(queue).join(", ")}`).toBe(true);
    const mine = book.fork();
    const backend = await sinkOf(mine);
    const victim = agentOn(queue, backend, configOf);
    await victim.start();
    await settle(mine, backend);
    const { missing } = mine.verdict();
    if (missing > 0) expect(complaints(victim).join("\n")).toMatch(/lost|damaged|set aside|corrupt/i);
    expect(mine.arrivedCount, complaints(victim).join("\n")).toBeGreaterThan(0);
    await fill(victim, mine, 1);
    await settle(mine, backend, missing);
    expect(mine.verdict().missing).toBe(missing);
  });

  it("reports that everything in the directory was removed", async () => {
    const queue = copyOf(master, join(directory, `copy-${++serial}`));
    for (const file of filesBelow(queue).filter((name) => /\.(log|ldb)$|CURRENT$|MANIFEST[^/]*$/.test(name)))
      rmSync(file);
    const mine = book.fork();
    const backend = await sinkOf(mine);
    const victim = agentOn(queue, backend, configOf);
    await victim.start();
    expect(complaints(victim).join("\n")).toMatch(/lost|gone|damaged|set aside|corrupt/i);
  });
});

describe("a directory that two agents want", () => {
  it("belongs to the first; the second says why it cannot start, and the first goes on", async () => {
    const book = new RecordBook();
    const sink = await sinkOf(book);
    const queue = join(directory, `shared-${++serial}`);
    const [first, second] = [agentOn(queue, sink), agentOn(queue, sink)];
    await first.start();
    await fill(first, book, 3);
    await expect(second.start()).rejects.toThrow(/another process|in use|locked/i);
    await fill(first, book, 3);
    await settle(book, sink);
    // Not without duplicates: on a busy machine an answer may come after the sender's 200 ms.
    expect(book.verdict()).toMatchObject({ missing: 0, acknowledged: 60 });
  });
});

describe.skipIf(!canMount())("a disk of its own (needs root and mount)", () => {
  it.each([
    ["a queue", withQueue],
    ["a journal", withJournal],
  ])(
    "refuses retryably when full of %s, loses nothing, and takes data again when it has drained",
    {
      timeout: 600_000,
    },
    async (_, configOf) => {
      const queue = mountTmpfs("size=120m");
      const book = new RecordBook();
      const sink = await sinkOf(book);
      sink.mood = "unavailable";
      const victim = agentOn(queue, sink, configOf);
      await victim.start();
      const clients = load(book, victim);
      while (clients.refusals < 20) await delay(20);
      expect(book.acknowledgedCount).toBeGreaterThan(100);
      sink.mood = "ok";
      const before = book.acknowledgedCount;
      while (book.acknowledgedCount < before + 100) await delay(20);
      await clients.stop();
      await expect.poll(() => book.missing()).toEqual([]);
      expect(book.verdict(), complaints(victim).slice(-5).join("\n")).toMatchObject({ missing: 0, rejected: 0 });
      expect(complaints(victim).join("\n")).toMatch(/space|ENOSPC|full/i);
    },
  );

  it("survives a kill and a start while the disk is full", { timeout: 600_000 }, async () => {
    const queue = mountTmpfs("size=120m");
    const book = new RecordBook();
    const sink = await sinkOf(book);
    sink.mood = "unavailable";
    const victim = agentOn(queue, sink);
    await victim.start();
    const clients = load(book, victim);
    while (clients.refusals < 20) await delay(20);
    await clients.stop();
    await victim.end("SIGKILL");
    sink.mood = "ok";
    await victim.start();
    await expect.poll(() => book.missing()).toEqual([]);
    expect(book.verdict(), complaints(victim).slice(-5).join("\n")).toMatchObject({ missing: 0, rejected: 0 });
  });

  it("says which directory cannot be written when it is read-only", async () => {
    const queue = mountTmpfs("ro");
    const sink = await sinkOf(new RecordBook());
    const victim = agentOn(queue, sink);
    await expect(victim.start()).rejects.toThrow(queue);
    expect(victim.output).toMatch(/read-only|EROFS|not be written|cannot write/i);
  });
});

function moreDamages(): Damage[] {
  const shares = [0, 0.02, 0.1, 0.5, 0.7, 0.9, 0.98, 0.999];
  const kinds = [/\.log$/, /\.ldb$/, /^MANIFEST/, /^CURRENT$/, /^LOG$/, /\.witness$/];
  return kinds.flatMap((kind) => shares.flatMap((share) => [flipBit(kind, share), truncateTo(kind, share)]));
}

function load(book: RecordBook, victim: Victim) {
  const clients = startClients({
    book,
    dice: new Dice(1),
    port: () => victim.port,
    clients: 8,
    maxRecords: 2,
    padding: "z".repeat(100_000),
    resendUnanswered: true,
  });
  cleanups.push(() => clients.stop());
  return clients;
}

function mountTmpfs(options: string): string {
  const path = join(directory, `disk-${++serial}`);
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path]);
  cleanups.unshift(() => execFileSync("umount", ["-l", path]));
  return path;
}

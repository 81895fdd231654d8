import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { Dice } from "../../support/telemetry/wire-forms.js";
import { startClients } from "../client.js";
import { agentConfig } from "../configs.js";
import { BAD_MOODS, type FaultySink, startFaultyRelay, startFaultySink } from "../faulty-sink.js";
import { kills, patience, progress, seed, summary } from "../long-form.js";
import { RecordBook } from "../record-book.js";
import { Victim } from "../victim.js";

let directory: string;
let book: RecordBook;
let sink: FaultySink;
let victim: Victim;
/** The backend: an agent that knows requests again by their idempotency keys. */
let second: Victim;
let relay: Awaited<ReturnType<typeof startFaultyRelay>>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "sluice-workers-"));
  book = new RecordBook();
  sink = await startFaultySink(book);
  const receiver = { dedup: { enabled: true, directory: join(directory, "dedup") } };
  second = Victim.agent(
    directory,
    agentConfig({ backend: sink.url, receiver, exporter: { timeout: "30s" } }),
    "second.json",
  );
  await second.start();
  relay = await startFaultyRelay(() => second.port);
});

afterEach(async () => {
  await victim.end("SIGKILL");
  await relay.close();
  await second.end("SIGKILL");
  await sink.close();
  rmSync(directory, { recursive: true, force: true });
});

/** The processes of the workers. */
function workersOf({ pid }: Victim): number[] {
  if (pid === undefined) return [];
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

/** The port stays the same, also when no worker runs for a moment. */
function configWith(workers: number, port: number): object {
  const config = agentConfig({ backend: relay.url, queue: join(directory, "queue") }) as { service: object };
  const receivers = { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } };
  return { ...config, receivers, service: { ...config.service, workers } };
}

describe("an agent with several workers", () => {
  it.skipIf(process.platform !== "linux")(
    "delivers what it acknowledged, and nothing more often than it was sent, whenever workers or their parent are killed and their number changes",
    { timeout: patience(600_000) },
    async () => {
      const dice = new Dice(seed);
      const port = await freePort();
      const file = join(directory, "sluice.json");
      victim = Victim.agent(directory, configWith(2, port));
      await victim.start();
      const clients = startClients({
        ...{ book, dice, clients: 6, maxRecords: 20, resendUnanswered: true },
        port: () => (victim.running ? port : undefined),
      });
      const counts = { worker: 0, parent: 0, reload: 0 };
      for (let done = 0; done < kills(10, 1); ) {
        await delay(dice.upTo(400));
        relay.mood = dice.upTo(3) === 0 ? BAD_MOODS[dice.upTo(BAD_MOODS.length - 1)]! : "ok";
        const choice = dice.upTo(9);
        if (choice < 6) {
          const workers = workersOf(victim);
          if (workers.length === 0) continue;
          process.kill(workers[dice.upTo(workers.length - 1)]!, "SIGKILL");
          counts.worker += 1;
          done += 1;
        } else if (choice < 8) {
          await victim.end("SIGKILL");
          writeFileSync(file, JSON.stringify(configWith(1 + dice.upTo(2), port)));
          await victim.start();
          counts.parent += 1;
          done += 1;
        } else {
          writeFileSync(file, JSON.stringify(configWith(1 + dice.upTo(2), port)));
          victim.signal("SIGHUP");
          counts.reload += 1;
        }
        progress(`${done} kills, ${book.acknowledgedCount} acknowledged`);
      }
      relay.mood = "ok";
      await clients.stop();
      const facts = `seed ${seed}, ${JSON.stringify(counts)}, ${book.acknowledgedCount} acknowledged\n${victim.lines.slice(-20).join("\n")}`;
      await expect.poll(() => book.missing().length, { timeout: patience(60_000), message: facts }).toBe(0);
      await victim.end("SIGTERM"); // what is left of the queues is delivered, also what arrived before
      const report = { ...book.verdict(), ...counts };
      const text = `${facts}\n${summary("workers", report)}`;
      expect(report, text).toMatchObject({ missing: 0, rejected: 0, strays: 0, unexplained: 0 });
      expect(report.acknowledged).toBeGreaterThan(0);
    },
  );
});

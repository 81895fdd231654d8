import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../../src/agent/testing/free-port.js";
import { startSink } from "../support/otlp-sink.js";
import { Dice } from "../support/telemetry/wire-forms.js";
import { runCampaign } from "./campaign.js";
import { startClients } from "./client.js";
import { agentConfig } from "./configs.js";
import { deadLetters } from "./dead-letters.js";
import { startFaultySink } from "./faulty-sink.js";
import { kills, patience, progress, seed, summary } from "./long-form.js";
import { encodeNumbers } from "./numbered.js";
import { RecordBook } from "./record-book.js";
import { Victim } from "./victim.js";

let directory: string;
let victim: Victim | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-attempts-"));
});

afterEach(async () => {
  await victim?.end("SIGKILL");
  rmSync(directory, { recursive: true, force: true });
});

/** Few retries, so that a failure that is counted wrongly soon makes a dead letter. */
const RETRIES = { initial_interval: "10ms", max_interval: "50ms", max_retries: 3, rate_limit: { per_second: 1e4 } };

/** Opens before the retries of one entry are used up. */
const BREAKER = { failure_threshold: 2, reset_timeout: "50ms", success_threshold: 1 };

function agent(backend: string): { readonly queue: string; readonly victim: Victim } {
  const queue = join(directory, "queue");
  const exporter = { retry_on_failure: RETRIES, circuit_breaker: BREAKER };
  victim = Victim.agent(directory, agentConfig({ backend, queue, exporter }));
  return { queue, victim };
}

async function send(port: number | undefined, ...numbers: number[]): Promise<number> {
  const headers = { "content-type": "application/x-protobuf" };
  const body = encodeNumbers(numbers);
  return (await fetch(`http://127.0.0.1:${port}/v1/logs`, { method: "POST", headers, body })).status;
}

const opened = (of: Victim) => of.lines.filter((line) => line.includes("circuit breaker: open")).length;

describe("an outage", () => {
  it("makes no dead letter of a lone record, however often the agent is stopped and killed meanwhile", {
    timeout: patience(300_000),
  }, async () => {
    const port = await freePort();
    const { queue, victim } = agent(`http://127.0.0.1:${port}`);
    await victim.start();
    expect(await send(victim.port, 1)).toBe(200);
    for (let life = 1; life <= kills(4, 0.05); life++) {
      const before = opened(victim);
      if (!victim.running) await victim.start();
      // Each of them is a probe that failed: far more calls than max_retries.
      await expect.poll(() => opened(victim), { timeout: 60_000 }).toBeGreaterThan(before + 5);
      await victim.end(life % 2 === 0 ? "SIGKILL" : "SIGTERM");
    }
    expect(await deadLetters(queue)).toEqual([]);
    const book = new RecordBook();
    const sink = await startFaultySink(book, undefined, 400, port);
    await victim.start();
    await expect.poll(() => sink.requests, { timeout: 60_000 }).toBeGreaterThan(0);
    await victim.end("SIGTERM");
    await sink.close();
    expect(await deadLetters(queue)).toEqual([]);
  });
});

describe("poison", () => {
  it("that is alone becomes a dead letter after max_retries, though its failures open the breaker", {
    timeout: patience(300_000),
  }, async () => {
    const sink = await startSink();
    sink.decide(() => 500);
    const { queue, victim } = agent(sink.url);
    await victim.start();
    await send(victim.port, 1);
    await expect.poll(() => victim.lines.filter((line) => line.includes('"rule":"max_retries"')).length).toBe(1);
    await victim.end("SIGTERM");
    expect(await deadLetters(queue)).toEqual([1]);
    expect(opened(victim)).toBeGreaterThan(0);
    // The breaker also asks, without records, how the backend is, and gets 500 too; each of those has a key of its own.
    const keys = sink.requests.map(({ headers }) => headers["sluice-idempotency-key"]);
    expect(Math.max(...keys.map((key) => keys.filter((other) => other === key).length))).toBe(4);
    await sink.close();
  });

  it("takes no good record with it, through outages, kills and restarts", {
    timeout: patience(600_000),
  }, async () => {
    const isPoison = (number: number) => number % 41 === 5;
    const book = new RecordBook();
    const sink = await startFaultySink(book, isPoison, 500);
    const { queue, victim } = agent(sink.url);
    const startLoad = (port: () => number | undefined) =>
      startClients({ book, dice: new Dice(seed), port, clients: 8, maxRecords: 1, resendUnanswered: true });
    const report = await runCampaign({
      ...{ seed, book, sink, victim, startLoad, say: progress },
      ...{ kills: kills(8, 0.3), isBad: isPoison },
    });
    const told = () => new Set(victim.lines.flatMap((line) => /"rule":"(\w+)"/.exec(line)?.slice(1) ?? []));
    await victim.end("SIGTERM");
    const dead = await deadLetters(queue);
    const missing = book.missing();
    const text = summary("attempts", { ...report, dead: dead.length });
    expect(
      dead.filter((number) => !isPoison(number)),
      text,
    ).toEqual([]);
    expect(
      missing.filter((number) => !isPoison(number)),
      text,
    ).toEqual([]);
    expect([...told()].filter((rule) => rule !== "max_retries" && rule !== "poison")).toEqual([]);
    await sink.close();
  });
});

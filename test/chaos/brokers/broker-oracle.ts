import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { ServerProcess } from "../../support/servers/server-process.js";
import { Dice } from "../../support/telemetry/wire-forms.js";
import { until } from "../../support/until.js";
import { type Clients, startClients } from "../client.js";
import { agentConfig } from "../configs.js";
import { type FaultySink, startFaultySink } from "../faulty-sink.js";
import { kills, progress, seed, summary } from "../long-form.js";
import { RecordBook, type Verdict } from "../record-book.js";
import { Victim } from "../victim.js";

/** A broker as the oracle needs it: one of its own, and how the agent writes to it and reads from it. */
export interface BrokerUnderTest {
  readonly server: ServerProcess;
  /** The type of the receiver and of the exporter. */
  readonly type: string;
  readonly receiver: object;
  readonly exporter: object;
  close(): Promise<void>;
}

export interface BrokerVerdict extends Verdict {
  readonly seed: number;
  readonly agentKills: number;
  readonly brokerKills: number;
  readonly pauses: number;
  readonly seconds: number;
}

/** Longer than exporters wait for an answer, so that every one of them gives up at least once. */
const PAUSE_MS = 3000;

/**
 * Clients send to an agent that writes what they send to a broker, reads it from there and sends it on, to an agent that
 * recognises what it was sent before. The first agent and the broker are killed in turn, and the broker falls silent: to
 * its clients, a network that is cut. What an answer promised must arrive, and each record once.
 */
export async function runBrokerCampaign(start: () => Promise<BrokerUnderTest>): Promise<BrokerVerdict> {
  const started = performance.now();
  const line = await startLine(start);
  const { broker, book, victim, dice } = line;
  const agentKills = kills(2, 0.04);
  const brokerKills = kills(1, 0.04);
  const pauses = kills(1, 0.01);
  for (let round = 0; round < agentKills; round++) {
    await victim.start();
    await moreArrives(book);
    if (round < brokerKills) {
      await broker.server.kill();
      await delay(dice.upTo(500));
      await broker.server.start();
    }
    if (round < pauses) {
      broker.server.pause();
      await delay(PAUSE_MS);
      broker.server.resume();
    }
    // Sometimes while the broker is only just back, and sometimes under full load.
    if (dice.upTo(1) > 0) await moreArrives(book);
    else await delay(dice.upTo(300));
    await victim.end("SIGKILL");
    progress(`${round + 1} rounds, ${book.acknowledgedCount} acknowledged, ${book.arrivedCount} arrived`);
  }
  await victim.start();
  await moreArrives(book);
  await everythingArrives(line);
  const seconds = Math.round((performance.now() - started) / 100) / 10;
  return { seed, agentKills, brokerKills, pauses, seconds, ...book.verdict() };
}

/**
 * The same line with a broker that is slow, and then has no room for more: the agent says so, keeps taking what clients
 * send, and delivers it when there is room.
 */
export async function runFullBroker(start: () => Promise<FillableBroker>): Promise<Verdict> {
  const line = await startLine(start);
  const { broker, book, victim } = line;
  await victim.start();
  await moreArrives(book);
  for (let i = 0; i < SLOW_TURNS; i++) {
    broker.server.pause();
    await delay(200);
    broker.server.resume();
    await delay(20);
  }
  // Where clients are quick, one that fills up by itself may be full by now.
  const arrived = book.arrivedCount;
  await until(() => expect(book.arrivedCount > arrived + 50 || broker.says.test(victim.output)).toBe(true));
  const { pid } = victim;
  await broker.fill();
  await until(() => expect(victim.output).toMatch(broker.says));
  const before = book.acknowledgedCount;
  await until(() => expect(book.acknowledgedCount, "the agent takes no more").toBeGreaterThan(before + 50));
  await broker.makeRoom();
  await moreArrives(book);
  await everythingArrives(line);
  expect(victim.pid, "the agent has ended").toBe(pid);
  return book.verdict();
}

/** A broker that can be out of room. */
export interface FillableBroker extends BrokerUnderTest {
  /** From here on, or soon, it has no more room. */
  fill(): Promise<void>;
  makeRoom(): Promise<void>;
  /** The agent's log message for that. */
  readonly says: RegExp;
}

const SLOW_TURNS = 10;

interface Line<B extends BrokerUnderTest> {
  readonly broker: B;
  readonly book: RecordBook;
  readonly sink: FaultySink;
  readonly clients: Clients;
  readonly victim: Victim;
  readonly dice: Dice;
}

/** Clients, the agent that is not running yet, the broker, the last agent and the backend. */
async function startLine<B extends BrokerUnderTest>(start: () => Promise<B>): Promise<Line<B>> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-chaos-"));
  const book = new RecordBook();
  const sink = await startFaultySink(book);
  const broker = await start();
  const dedup = (name: string) => ({ enabled: true, directory: join(directory, name) });
  const receiver = { dedup: dedup("dedup-last") };
  // On a busy machine the end of the line must not count twice what it heard once.
  const exporter = { timeout: "60s" };
  const last = Victim.agent(directory, agentConfig({ backend: sink.url, receiver, exporter }), "last.json");
  const dice = new Dice(seed);
  onTestFinished(async () => {
    await last.end("SIGKILL");
    await sink.close();
    await broker.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await last.start();
  const backend = `http://127.0.0.1:${last.port}`;
  const victim = Victim.agent(directory, middleConfig(broker, backend, directory, dedup("dedup-broker")));
  onTestFinished(() => victim.end("SIGKILL"));
  const port = () => victim.port;
  const clients = startClients({ book, dice, port, clients: 2, maxRecords: 20, resendUnanswered: false });
  onTestFinished(() => clients.stop());
  return { broker, book, sink, clients, victim, dice };
}

/** Clients stop; all that was acknowledged arrives, and then nothing more. */
async function everythingArrives({ clients, book, sink }: Line<BrokerUnderTest>): Promise<void> {
  await clients.stop();
  await until(() => expect(book.missing().slice(0, 10)).toEqual([]));
  for (let heard = -1; heard !== sink.requests; await delay(SILENCE_MS)) heard = sink.requests;
}

/** The result that every broker must reach. */
export function expectExactlyOnce(name: string, verdict: Verdict): void {
  const said = summary(name, verdict);
  expect(verdict, said).toMatchObject({ missing: 0, duplicates: 0, unexplained: 0, rejected: 0, strays: 0 });
  expect(verdict.acknowledged).toBeGreaterThan(100);
}

/** Nothing comes twice any more when the backend has heard nothing for so long. */
const SILENCE_MS = 3000;

async function moreArrives(book: RecordBook): Promise<void> {
  const before = book.arrivedCount;
  await until(() => expect(book.arrivedCount).toBeGreaterThan(before + 50));
}

function middleConfig(
  { type, receiver, exporter }: BrokerUnderTest,
  backend: string,
  directory: string,
  dedup: object,
): object {
  const config = agentConfig({ backend, queue: join(directory, "queue") }) as {
    service: object;
    receivers: object;
    exporters: { otlphttp: { endpoint: string; compression: string } };
  };
  const { endpoint: _, compression: __, ...impatient } = config.exporters.otlphttp;
  return {
    ...config,
    receivers: { ...config.receivers, [type]: { ...receiver, dedup } },
    exporters: { ...config.exporters, [type]: { ...impatient, timeout: "1s", ...exporter } },
    service: {
      ...config.service,
      pipelines: {
        "logs/in": { receivers: ["otlp"], processors: ["batch"], exporters: [type] },
        "logs/out": { receivers: [type], exporters: ["otlphttp"] },
      },
    },
  };
}

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, statSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { spanBatch, traceId } from "../../support/sampled.js";
import { Dice } from "../../support/telemetry/wire-forms.js";
import { post, RETRYABLE } from "../client.js";
import { type FaultySink, startFaultySink } from "../faulty-sink.js";
import { encodeNumbers, markOf } from "../numbered.js";
import { RecordBook } from "../record-book.js";
import { Victim } from "../victim.js";
import { type SmallDiskShape, type Source, smallDiskConfig } from "./small-disk-config.js";

const CLIENTS_PER_SOURCE = 3;
/** So long may nothing at all be acknowledged or arrive before a run counts as stuck: twice what a journal waits at most for a retry. */
const STUCK_MS = 90_000;

export interface SmallDiskReport {
  readonly seed: number;
  readonly disk: string;
  readonly stores: number;
  readonly kills: boolean;
  readonly acknowledged: number;
  /** The share of the disk that queues and journals used when it was full, without ballast. */
  readonly filledPercent: number;
  readonly recoveredInMs: number;
  /** Acknowledged, and not arrived at every exporter. */
  readonly missing: number;
  readonly rejected: number;
  /** Sources from which nothing new was taken after the backends were back. */
  readonly refused: readonly string[];
  readonly log: readonly string[];
}

/** A source's records: what was acknowledged of them, and how often it was refused. */
interface Sender {
  readonly source: Source;
  readonly acknowledged: number[];
  refusals: number;
  rejected: number;
}

/**
 * One agent with several queues and journals on one small disk: its backends are down until the disk is full, and then
 * come back. `kills`: it is killed and started again while the disk is full.
 */
export async function runOnSmallDisk(seed: number, shape: SmallDiskShape, kills = false): Promise<SmallDiskReport> {
  const dice = new Dice(seed);
  const home = mkdtempSync(join(tmpdir(), "sluice-small-disk-"));
  const queue = join(home, "disk");
  mkdirSync(queue);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${shape.mebibytes}m`, "tmpfs", queue]);
  const arrivals = shape.exporters.map(() => new Arrivals());
  const sinks = await Promise.all(arrivals.map((book) => startFaultySink(book)));
  const victim = Victim.agent(
    home,
    smallDiskConfig(
      shape,
      sinks.map(({ url }) => url),
      queue,
    ),
  );
  const run = new SmallDiskRun(shape, dice, victim, arrivals);
  try {
    setMoods(sinks, "unavailable");
    await victim.start();
    const clients = run.startClients();
    await run.until(() => run.senders.every(({ refusals }) => refusals >= 10));
    const filled = filledPart(queue);
    if (kills) {
      await victim.end("SIGKILL");
      await victim.start();
    }
    setMoods(sinks, "ok");
    const begun = performance.now();
    const before = run.senders.map(({ acknowledged }) => acknowledged.length);
    const takesAgain = () => run.senders.map((sender, i) => sender.acknowledged.length >= before[i]! + 5);
    await run.until(() => takesAgain().every((takes) => takes));
    const refused = shape.sources.filter((_, i) => !takesAgain()[i]).map(({ id }) => id);
    await clients.stop();
    await run.until(() => run.missing === 0);
    return {
      seed,
      disk: `${shape.mebibytes} MiB`,
      stores: shape.exporters.length + shape.journals,
      kills,
      acknowledged: run.acknowledged,
      filledPercent: Math.round(filled * 100),
      recoveredInMs: Math.round(performance.now() - begun),
      missing: run.missing,
      rejected: run.senders.reduce((sum, { rejected }) => sum + rejected, 0),
      refused,
      log: victim.lines.slice(-30),
    };
  } finally {
    run.stop();
    await victim.end("SIGKILL");
    for (const sink of sinks) await sink.close();
    execFileSync("umount", ["-l", queue]);
    rmSync(home, { recursive: true, force: true });
  }
}

class SmallDiskRun {
  readonly senders: readonly Sender[];
  private readonly shape: SmallDiskShape;
  private readonly dice: Dice;
  private readonly victim: Victim;
  private readonly arrivals: readonly Arrivals[];
  private next = 0;
  private isSending = true;

  constructor(shape: SmallDiskShape, dice: Dice, victim: Victim, arrivals: readonly Arrivals[]) {
    this.shape = shape;
    this.dice = dice;
    this.victim = victim;
    this.arrivals = arrivals;
    this.senders = shape.sources.map((source) => ({ source, acknowledged: [], refusals: 0, rejected: 0 }));
  }

  get acknowledged(): number {
    return this.senders.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  }

  get missing(): number {
    let missing = 0;
    for (const { source, acknowledged } of this.senders)
      for (const exporter of source.exporters)
        for (const number of acknowledged) if (!this.arrivals[exporter]!.seen.has(number)) missing++;
    return missing;
  }

  startClients() {
    const agent = new Agent({ keepAlive: true });
    const all = this.senders.flatMap((sender) =>
      Array.from({ length: CLIENTS_PER_SOURCE }, () => this.send(sender, agent)),
    );
    return {
      stop: async () => {
        this.stop();
        await Promise.all(all);
        agent.destroy();
      },
    };
  }

  stop(): void {
    this.isSending = false;
  }

  /** Waits for a condition for as long as anything moves. */
  async until(isTrue: () => boolean): Promise<void> {
    const amount = () => this.acknowledged + this.arrivals.reduce((sum, { seen }) => sum + seen.size, 0);
    let last = amount();
    let movedAt = performance.now();
    while (!isTrue() && performance.now() - movedAt < STUCK_MS) {
      await delay(100);
      if (amount() === last) continue;
      last = amount();
      movedAt = performance.now();
    }
  }

  private async send(sender: Sender, agent: Agent): Promise<void> {
    const { signal, id } = sender.source;
    while (this.isSending) {
      const number = this.next++;
      const body = encode(signal, number, "z".repeat(1000 + this.dice.upTo(this.shape.maxRecordBytes)));
      for (let isDone = false; this.isSending && !isDone; ) {
        const port = portOf(this.victim, id);
        const answer = port === undefined ? "not sent" : await post(port, agent, body, signal);
        if (typeof answer === "string") await delay(20);
        else if (answer.status === 200) {
          sender.acknowledged.push(number);
          isDone = true;
        } else if (RETRYABLE.has(answer.status)) {
          sender.refusals++;
          await delay(20);
        } else {
          sender.rejected++;
          isDone = true;
        }
      }
    }
  }
}

/** The records that have arrived at an exporter's backend. */
class Arrivals extends RecordBook {
  readonly seen = new Set<number>();

  override arrive(numbers: readonly number[]): void {
    for (const number of numbers) this.seen.add(number);
  }
}

function setMoods(sinks: readonly FaultySink[], mood: FaultySink["mood"]): void {
  for (const sink of sinks) sink.mood = mood;
}

function encode(signal: Source["signal"], number: number, padding: string): Uint8Array {
  if (signal === "logs") return encodeNumbers([number], padding);
  return spanBatch([{ trace: traceId(number), name: markOf(number), attributes: { padding } }]).bytes;
}

/** The port of one of its receivers, since it was last started. */
function portOf(victim: Victim, source: string): number | undefined {
  if (!victim.running) return undefined;
  const line = victim.output.split("\n").find((text) => text.includes(`"component":"receiver otlp/${source}"`));
  const port = /"http":"[^"]*:(\d+)"/.exec(line ?? "")?.[1];
  return port === undefined ? undefined : Number(port);
}

function filledPart(disk: string): number {
  const { blocks, bfree, bsize } = statfsSync(disk);
  const ballast = statSync(join(disk, "BALLAST"), { throwIfNoEntry: false })?.size ?? 0;
  return ((blocks - bfree) * bsize - ballast) / (blocks * bsize);
}

import process from "node:process";
import type { ResolvedConfig } from "#config/resolve";
import type { RehearsalReport } from "#contract/rehearsal";
import { loadedMask } from "../mask-batch.js";
import { FakeClock, flushPromises } from "../testing/fakes.js";
import { compareRuns } from "./compare-runs.js";
import { RehearsalRun } from "./rehearsal-run.js";
import type { ReadBatch } from "./sample-file.js";

/** The configs of a rehearsal. Without `before` nothing is compared. */
interface RehearsedConfigs {
  readonly before?: ResolvedConfig | undefined;
  readonly after: ResolvedConfig;
}

/** The batches of a sample, and how many records were left out because of a limit. */
export interface TakenSample {
  readonly batches: readonly ReadBatch[];
  readonly skipped: number;
}

/** Bytes that are handed in before the event loop, and the other config, get their turn. */
const CHUNK_BYTES = 256 * 1024;
/** A small sample has smaller parts, so that the median of their CPU times is not that of code before its compilation. */
const MIN_CHUNKS = 16;
/** The clock advances in at most this many steps between two batches. */
const MAX_STEPS = 100;
const STEP_MS = 1000;
/**
 * A sample takes an hour at most. If its times say more, a clock was set meanwhile, and timers do not see the rest:
 * running those of many years would take as long as a hanging program.
 */
const MAX_PASSED_MS = 2 * 3600_000;
/** Time on the sample's clock for processors to hand on what they hold at the end. */
const DRAIN_MS = 60_000;
const DRAIN_STEP_MS = 50;
/** Plugins may wait for something real, such as an answer of a server. */
const IDLE_MS = 500;
const POLL_MS = 10;

/**
 * Runs both configs on a recorded sample and compares the results. Both see the time of the recording, so windows and
 * timeouts pass as they did. They take turns, so that neither has a warmer cache or more compiled code.
 */
export async function rehearseSample(
  configs: RehearsedConfigs,
  { batches, skipped }: TakenSample,
  onProgress: (share: number) => void = () => {},
): Promise<RehearsalReport> {
  const startedAt = batches[0]?.at ?? 0;
  const sides = [configs.before, configs.after].map((config) => config && new TimedRun(config, startedAt));
  const [before, after] = sides as [TimedRun | undefined, TimedRun];
  const running = sides.filter((side) => side !== undefined);
  for (const side of running) await side.run.start();
  const bytes = batches.reduce((sum, { batch }) => sum + batch.byteLength, 0);
  let done = 0;
  for (const [i, chunk] of chunksOf(batches, Math.min(CHUNK_BYTES, bytes / MIN_CHUNKS)).entries()) {
    for (const side of i % 2 === 0 ? running : running.toReversed()) await side.feed(chunk);
    done += chunk.reduce((sum, { batch }) => sum + batch.byteLength, 0);
    onProgress(done / Math.max(1, bytes));
  }
  for (const side of running) await side.finish();
  const facts = {
    batches: batches.length,
    records: batches.reduce((sum, { batch }) => sum + batch.count, 0),
    bytes,
    seconds: Math.max(0, ((batches.at(-1)?.at ?? 0) - startedAt) / 1000),
    skipped,
  };
  return compareRuns(before?.run, after.run, facts, await loadedMask());
}

function chunksOf(batches: readonly ReadBatch[], chunkBytes: number): ReadBatch[][] {
  const chunks: ReadBatch[][] = [];
  let room = 0;
  for (const each of batches) {
    if (room <= 0) {
      chunks.push([]);
      room = chunkBytes;
    }
    chunks.at(-1)!.push(each);
    room -= each.batch.byteLength;
  }
  return chunks;
}

/** A run on a clock that follows the times of the sample. */
class TimedRun {
  readonly run: RehearsalRun;
  private readonly clock = new FakeClock();
  private readonly hasPlugins: boolean;
  private remainingMs = MAX_PASSED_MS;

  constructor(config: ResolvedConfig, startedAt: number) {
    this.hasPlugins = [...config.processors.values(), ...config.connectors.values()].some(({ plugin }) => plugin);
    this.clock.set(startedAt);
    this.run = new RehearsalRun(config, this.clock);
  }

  /** Nothing else runs meanwhile, so the CPU time of the process is that of this config. */
  async feed(batches: readonly ReadBatch[]): Promise<void> {
    const start = process.cpuUsage();
    for (const { receiver, at, batch } of batches) {
      await this.advanceTo(at);
      this.run.feed(receiver, batch);
    }
    await flushPromises();
    const { user, system } = process.cpuUsage(start);
    const records = batches.reduce((sum, { batch }) => sum + batch.count, 0);
    if (records > 0) this.run.costs.push((user + system) / records);
  }

  async finish(): Promise<void> {
    if (this.hasPlugins) await this.waitForPlugins();
    let isOver = false;
    const done = this.run.finish(DRAIN_MS).finally(() => {
      isOver = true;
    });
    for (await flushPromises(); !isOver; await flushPromises()) this.clock.advance(DRAIN_STEP_MS);
    await done;
  }

  /** Waits until everything is settled, or nothing has been settled for a while. */
  private async waitForPlugins(): Promise<void> {
    for (let [left, waitedMs] = [-1, 0]; this.run.unsettled > 0 && waitedMs < IDLE_MS; waitedMs += POLL_MS) {
      if (this.run.unsettled !== left) waitedMs = 0;
      left = this.run.unsettled;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  private async advanceTo(at: number): Promise<void> {
    const ms = at - this.clock.now();
    const passed = Math.min(ms, this.remainingMs);
    if (passed > STEP_MS) await this.clock.pass(passed, Math.max(STEP_MS, passed / MAX_STEPS));
    else if (passed > 0) this.clock.advance(passed);
    this.remainingMs -= Math.max(0, passed);
    if (passed < ms) this.clock.set(at);
  }
}

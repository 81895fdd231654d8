import process from "node:process";
import type { HeapInfo } from "node:v8";
import type { Worker } from "node:worker_threads";
import type { PluginTracker } from "#contract/border";
import { WATCHDOG_THREAD } from "./watchdog-thread.js";

interface WatchdogSettings {
  /** True: JSON lines, as in the agent's log; false: text for a terminal. */
  readonly json: boolean;
  /** How long the event loop may be blocked before a report, in milliseconds. */
  readonly limitMs?: number;
}

const LIMIT_MS = 5000;
const BEAT_MS = 500;

/**
 * The part of the heap limit that V8 reserves for young objects, so it is not available for others. V8 13 reserves
 * more.
 */
const YOUNG_BYTES = (Number.parseInt(process.versions.v8, 10) < 13 ? 48 : 192) * 1024 * 1024;

/** Indexes of the cells in the memory that both threads share. */
const BEAT = 0;
const RUNNING = 1;
const LAST = 2;
const HEAP_PERCENT = 3;

/**
 * Reports which plugin never returns, or fills the memory. Code in an endless loop cannot be stopped in its own thread,
 * and blocks everything else there. Another thread therefore watches this one, and writes to stderr when it hangs. That
 * thread is started when the first component registers.
 *
 * Code after an await cannot be attributed: the report then names the plugin that ran last.
 */
export class Watchdog implements PluginTracker {
  private readonly settings: WatchdogSettings;
  private readonly cells = new Int32Array(new SharedArrayBuffer(16));
  private readonly numbers = new Map<string, number>();
  private worker: Worker | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(settings: WatchdogSettings) {
    this.settings = settings;
  }

  register(component: string): number {
    this.start();
    const known = this.numbers.get(component);
    if (known !== undefined) return known;
    const number = this.numbers.size + 1;
    this.numbers.set(component, number);
    this.worker?.postMessage(component);
    return number;
  }

  enter(component: number): number {
    const before = this.cells[RUNNING]!;
    this.cells[RUNNING] = component;
    if (component !== 0) this.cells[LAST] = component;
    return before;
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.worker?.terminate();
  }

  private start(): void {
    if (this.worker !== undefined) return;
    const { json, limitMs = LIMIT_MS } = this.settings;
    // Loaded here, because loading at the top would slow down every start of the command line.
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const { getHeapStatistics } = process.getBuiltinModule("node:v8");
    this.worker = new Worker(WATCHDOG_THREAD, {
      eval: true,
      name: "sluice-watchdog",
      workerData: { cells: this.cells.buffer, json, limitMs },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
    });
    this.worker.unref();
    this.worker.on("error", () => {}); // without the thread there is no watchdog, but the agent runs
    this.timer = setInterval(() => this.beat(getHeapStatistics()), BEAT_MS);
    this.timer.unref();
  }

  private beat({ used_heap_size, heap_size_limit }: HeapInfo): void {
    const old = Math.max(heap_size_limit - YOUNG_BYTES, heap_size_limit / 4);
    this.cells[HEAP_PERCENT] = Math.round((100 * used_heap_size) / old);
    Atomics.add(this.cells, BEAT, 1);
  }
}

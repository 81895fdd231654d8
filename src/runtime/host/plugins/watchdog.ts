import process from "node:process";
import type { HeapInfo } from "node:v8";
import type { Worker } from "node:worker_threads";
import type { PluginTracker } from "#contract/operators";
import { WATCHDOG_THREAD } from "./watchdog-thread.js";

interface WatchdogSettings {
  /** Lines of JSON, as the agent's log writes them to a pipe; else words for a person. */
  readonly json: boolean;
  /** How long nothing else may run before that is said. */
  readonly limitMs?: number;
}

const LIMIT_MS = 5000;
const BEAT_MS = 500;

/** Of the heap's limit so much is for young objects, and not there for what stays. V8 13 has more of it. */
const YOUNG_BYTES = (Number.parseInt(process.versions.v8, 10) < 13 ? 48 : 192) * 1024 * 1024;

/** Cells of the memory that both threads see. */
const BEAT = 0;
const RUNNING = 1;
const LAST = 2;
const HEAP_PERCENT = 3;

/**
 * Says which plugin it is that never returns, or fills the memory. Code that loops for ever cannot be stopped in its own
 * thread, and nothing else in that thread can say anything; so another thread watches whether this one is alive, and
 * writes to stderr when it is not. That thread is there only once a component has registered.
 *
 * Code that runs after an await is not seen to begin: then the plugin that ran last is named as such.
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
    // Loaded here, since every start of the command line would wait for it.
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
    this.worker.on("error", () => {}); // without it nobody watches, and everything else goes on
    this.timer = setInterval(() => this.beat(getHeapStatistics()), BEAT_MS);
    this.timer.unref();
  }

  private beat({ used_heap_size, heap_size_limit }: HeapInfo): void {
    const old = Math.max(heap_size_limit - YOUNG_BYTES, heap_size_limit / 4);
    this.cells[HEAP_PERCENT] = Math.round((100 * used_heap_size) / old);
    Atomics.add(this.cells, BEAT, 1);
  }
}

import type { Batch, Clock, Logger, Outcome, PartialRejection, Signal } from "../../../src/plugin.js";
import type { Entry } from "../../../src/runtime/contract/operations/entry.js";
import type { Batching } from "../../../src/runtime/contract/operators/outlet.js";
import {
  completeSettings,
  uncheckedExporterSettingsSchema,
} from "../../../src/runtime/contract/schema/exporter-settings.js";
import { refusalOfHttp } from "../../../src/runtime/net/otlp/refusals.js";
import { deadLetterLanguage } from "../../../src/runtime/ottl/compile/dead-letter-language.js";
import { withReplay } from "../../../src/runtime/queue/dead-letters/change/with-replay.js";
import { QueueOutlet, type QueueOutletSettings } from "../../../src/runtime/queue/queue-outlet.js";
import type { HeadLimits } from "../../../src/runtime/queue/schedule/queue-head.js";
import { MemoryStore } from "../../../src/runtime/queue/store/memory-store.js";
import type { QueueStore } from "../../../src/runtime/queue/store/store.js";
import { owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { type CountedMetrics, countedMetrics } from "./counted-metrics.js";

/** The backend's reaction to a batch: it throws, hangs, or accepts it. */
export type Backend = (
  bodies: string[],
  batch: Batch,
  abort: AbortSignal,
  key?: string,
) => Promise<PartialRejection | undefined>;

export interface Queue {
  readonly outlet: QueueOutlet;
  readonly store: QueueStore;
  readonly clock: FakeClock;
  readonly metrics: CountedMetrics;
  /** Bodies of every call, and of what was taken. */
  readonly calls: string[][];
  readonly taken: string[];
  readonly keys: string[];
  readonly lines: { readonly level: string; readonly message: string; readonly fields: Record<string, unknown> }[];
  send(...bodies: string[]): Outcome[];
  /** The same for a client with this metadata. */
  sendFrom(tenant: string, ...bodies: string[]): Outcome[];
  /** The same through this pipeline. */
  sendThrough(pipeline: string, ...bodies: string[]): Outcome[];
  /** Lets everything happen that can without time passing. */
  settle(): Promise<void>;
  /** Moves time on in steps, letting everything happen after each. */
  pass(ms: number, step?: number): Promise<void>;
  /** Puts dead letters back, as an operator's replay does. */
  replay(changes: Parameters<QueueStore["replay"]>[0]): Promise<void>;
  replayAll(): Promise<void>;
  pending(): Promise<string[]>;
  deadLetters(): Promise<Entry[]>;
}

export interface QueueOptions {
  readonly settings?: Record<string, unknown>;
  readonly backend?: Backend;
  readonly store?: QueueStore;
  /** The same, for a store that tells when it had to be opened again. */
  readonly makeStore?: QueueOutletSettings["createStore"];
  readonly generation?: string;
  readonly clock?: FakeClock;
  readonly random?: () => number;
  readonly limits?: HeadLimits;
  readonly check?: () => Promise<void>;
  /** Client metadata that the exporter sends on. */
  readonly metadataKeys?: readonly string[];
  /** Whether the exporter wants every attempt to send the same. */
  readonly sealsEntries?: boolean;
  readonly signals?: readonly Signal[];
  /** The merging that the pipeline wants. */
  readonly batching?: Partial<Batching>;
  readonly prepareReplay?: (batch: Batch, pipeline: string) => Batch;
  /** Called before the queue is started. */
  readonly onCreated?: (outlet: QueueOutlet) => void;
}

export const http = (status: number, retryAfterMs?: number) => refusalOfHttp(status, "no", retryAfterMs);

export const down: Backend = async () => {
  throw http(503);
};

/** Answers, but fails on everything that it gets. */
export const failing: Backend = async () => {
  throw http(500);
};

export const hangs: Backend = (_bodies, _batch, abort) =>
  new Promise((_resolve, reject) => abort.addEventListener("abort", () => reject(new Error("aborted"))));

/** Refuses batches with one of these records in them. */
export const refusing =
  (isBad: (body: string) => boolean, status = 400): Backend =>
  async (bodies) => {
    const bad = bodies.find(isBad);
    if (bad !== undefined) throw refusalOfHttp(status, `bad record ${bad}`, undefined);
    return undefined;
  };

/** The bodies r0, r1, ... */
export const numbers = (count: number) => Array.from({ length: count }, (_, i) => `r${i}`);

const BATCHING: Batching = { timeoutMs: 200, minSize: 8192, maxSize: 0, sizer: "items", metadataKeys: [] };

/** A queue with a backend that is a function, on a clock that stands still. Started. */
export async function startQueue(options: QueueOptions = {}): Promise<Queue> {
  const { clock = new FakeClock(), random = () => 0.5 } = options;
  const { makeStore = () => options.store ?? new MemoryStore({ exporter: "out" }) } = options;
  const written = uncheckedExporterSettingsSchema.parse(options.settings ?? {});
  const calls: string[][] = [];
  const taken: string[] = [];
  const keys: string[] = [];
  const lines: Queue["lines"] = [];
  const metrics = countedMetrics();
  let timersRun = 0;
  const counted: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(ms, run) {
      return clock.after(ms, () => {
        timersRun++;
        run();
      });
    },
  };
  const outlet = new QueueOutlet({
    id: "out",
    exporter: {
      async send(batch, abort, options) {
        const texts = bodies(batch);
        calls.push(texts);
        keys.push(options?.idempotencyKey ?? "");
        const partial = await backend(texts, batch, abort, options?.idempotencyKey ?? "");
        taken.push(...texts);
        return partial;
      },
      ...(options.check && { check: options.check }),
      ...(options.metadataKeys && { metadataKeys: options.metadataKeys }),
      ...(options.sealsEntries && { sealsEntries: true }),
    },
    settings: completeSettings(written),
    language: deadLetterLanguage,
    isBatching: written.sending_queue?.batch !== undefined,
    createStore: makeStore,
    running: { config: { generation: options.generation ?? "1" } },
    clock: counted,
    random,
    logger: loggerTo(lines),
    metrics,
    ...(options.signals && { signals: options.signals }),
    ...(options.batching && { batching: new Map([["logs", { ...BATCHING, ...options.batching }]]) }),
    ...(options.prepareReplay && { prepareReplay: options.prepareReplay }),
    ...(options.limits && { limits: options.limits }),
    startMaintenance: () => () => {},
  });
  const backend: Backend = options.backend ?? (async () => undefined);
  const { store } = outlet;
  const accept = (tenant: string, pipeline: string, texts: string[]) => {
    const { delivery, outcomes } = owed(logs(...texts), { metadata: new Map([["tenant", [tenant]]]) });
    outlet.accept(delivery, pipeline);
    return outcomes;
  };
  options.onCreated?.(outlet);
  await outlet.start();
  const settle = async () => {
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  };
  const replay: Queue["replay"] = async (changes) => {
    const stored = await store.replay(changes);
    outlet.onReplayed(stored.map(({ entry }) => entry));
  };
  return {
    outlet,
    store,
    clock,
    metrics,
    calls,
    taken,
    keys,
    lines,
    settle,
    send: (...texts) => accept("any", "logs", texts),
    sendFrom: (tenant, ...texts) => accept(tenant, "logs", texts),
    sendThrough: (pipeline, ...texts) => accept("any", pipeline, texts),
    async pass(ms, step = ms) {
      await settle();
      for (let gone = 0; gone < ms; gone += step) {
        const before = timersRun;
        clock.advance(Math.min(step, ms - gone));
        // Nothing happens in a step without a timer.
        if (timersRun > before) await settle();
      }
      await settle();
    },
    replay,
    async replayAll() {
      const dead = await store.failed(undefined, 1e6, "oldest");
      const mark = { at: clock.now(), by: "test", generation: "2" };
      await replay(dead.map(({ ref, entry }) => ({ ref, entry: withReplay(entry, mark) })));
    },
    async pending() {
      const found = await store.pending(undefined, 1e6);
      const batches = await Promise.all(found.map(({ ref }) => store.payload(ref)));
      return batches.flatMap(bodies);
    },
    deadLetters: async () => (await store.failed(undefined, 1e6, "oldest")).map(({ entry }) => entry),
  };
}

function loggerTo(lines: Queue["lines"]): Logger {
  const to = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: fields as Record<string, unknown> });
  const logger: Logger = {
    debug: to("debug"),
    info: to("info"),
    warn: to("warn"),
    error: to("error"),
    child: () => logger,
  };
  return logger;
}

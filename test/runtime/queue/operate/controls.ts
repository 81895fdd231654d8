import type { Batch, Clock, Logger, Metrics } from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { ExporterStatus } from "../../../../src/runtime/contract/operations/admin.js";
import type { Failure } from "../../../../src/runtime/contract/operations/entry.js";
import { completeSettings, type ExporterSettings } from "../../../../src/runtime/contract/schema/exporter-settings.js";
import type { ExporterControl } from "../../../../src/runtime/queue/dead-letters/exporter-control.js";
import { createOperatorRecords, type OperatorRecords } from "../../../../src/runtime/queue/records/operator-records.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import type { StoredEntry } from "../../../../src/runtime/queue/store/store.js";
import { logs } from "../../../support/telemetry/batches.js";
import { failure } from "../store/entries.js";

export interface FakeControl extends ExporterControl {
  readonly store: MemoryStore;
  settings: ExporterControl["settings"];
  breaker: "open" | "closed" | "half_open";
  lastError: ExporterStatus["lastError"];
  lastSentAt: number | undefined;
  paused: boolean;
  breakerSince: number;
  forced: string | undefined;
  woken: number;
  hurried: number;
}

/** An exporter's queue whose sender is a test. */
export async function control(id: string, settings: ExporterSettings = {}): Promise<FakeControl> {
  const store = new MemoryStore({ exporter: id });
  await store.open();
  const complete = completeSettings(settings);
  const fake: FakeControl = {
    id,
    store,
    settings: complete,
    breaker: "closed",
    lastError: undefined,
    lastSentAt: undefined,
    paused: false,
    breakerSince: Number.MAX_SAFE_INTEGER,
    forced: undefined,
    woken: 0,
    hurried: 0,
    replayRate: complete.replay.rate,
    status: () => statusOf(fake),
    pause: () => void (fake.paused = true),
    resume: () => void (fake.paused = false),
    retryNow: () => void fake.hurried++,
    forceBreaker(state) {
      fake.forced = state;
      if (state !== "auto") fake.breaker = state;
    },
    onReplayed: () => void fake.woken++,
  };
  return fake;
}

function statusOf(fake: FakeControl): ExporterStatus {
  const { id, store, paused, breaker, lastError, lastSentAt, replayRate } = fake;
  const { pending, failed, oldestPendingAt, oldestFailedAt } = store.stats;
  const isDown = breaker === "open";
  return {
    id,
    state: isDown ? "DOWN" : failed.entries > 100 ? "DEGRADED" : "UP",
    paused,
    breaker: { state: breaker, forced: fake.forced === "open" || fake.forced === "closed", since: fake.breakerSince },
    queue: { enabled: true, ...pending, inFlight: 0, oldestAt: oldestPendingAt },
    deadLetters: { ...failed, oldestAt: oldestFailedAt },
    lastSentAt,
    lastError,
    failureRate: 0,
    failureTrend: "steady",
    replayRate,
  };
}

/** Puts a dead letter into the store, as a sender would. */
export async function deadLetter(
  { store }: FakeControl,
  fields: Partial<Failure> & {
    batch?: Batch;
    replays?: number;
    body?: string;
    history?: StoredEntry["entry"]["history"];
  } = {},
): Promise<StoredEntry> {
  const { batch, replays = 0, body = "x", history, ...wanted } = fields;
  const { ref, entry } = await store.put({
    batch: batch ?? logs(body),
    pipeline: "logs",
    source: { receiver: "otlp", transport: "http" },
    enqueuedAt: 1_700_000_000_000,
    generation: "1",
    fields: { replays },
  });
  const lastError = wanted.error ?? failure.error;
  const failed = {
    ...entry,
    attempts: 6,
    calls: 7,
    firstFailedAt: 1_700_000_000_100,
    lastAttemptAt: 1_700_000_000_400,
    lastError,
    history: history ?? [{ at: 1_700_000_000_100, error: lastError.class, delayMs: 1000 }],
    failure: { ...failure, ...wanted },
  };
  await store.fail(ref, failed);
  return { ref, entry: { ...failed, state: "failed" } };
}

/** Operators' records in memory, for as long as the test lasts. */
export function memoryRecords(clock: Clock, logger: Logger = silentLogger): OperatorRecords {
  const stores = new Map<string, MemoryStore>();
  const createStore = (id: string) => {
    const store = stores.get(id) ?? new MemoryStore({ exporter: id });
    stores.set(id, store);
    return store;
  };
  const exists = async (id: string) => stores.has(id);
  return createOperatorRecords({ clock, logger, createStore, exists, auditRetentionMs: 0, historyRetentionMs: 0 });
}

/** Counters by name and attributes: `name{a=b}`. */
export class CountedMetrics implements Metrics {
  readonly counts: Record<string, number> = {};

  counter(name: string, _: unknown, attributes: Readonly<Record<string, string>> = {}) {
    const text = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
    const key = `${name}{${text.join(",")}}`;
    return { add: (value: number) => void (this.counts[key] = (this.counts[key] ?? 0) + value) };
  }

  gauge() {
    return () => {};
  }

  histogram() {
    return { record() {} };
  }
}

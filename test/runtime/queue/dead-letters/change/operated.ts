import { maskBatch } from "../../../../../src/agent/mask-batch.js";
import { type Batch, readRecords } from "../../../../../src/plugin.js";
import { noMetrics, silentLogger } from "../../../../../src/runtime/contract/observability.js";
import type { Admin } from "../../../../../src/runtime/contract/operations/admin.js";
import { deadLetterLanguage } from "../../../../../src/runtime/ottl/compile/dead-letter-language.js";
import { createAdmin } from "../../../../../src/runtime/queue/operate/admin.js";
import { createOperatorRecords } from "../../../../../src/runtime/queue/records/operator-records.js";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import type { QueueStore } from "../../../../../src/runtime/queue/store/store.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { control, type FakeControl } from "../../operate/controls.js";

const WRITES = ["put", "fail", "replace", "replay", "delete", "erase"];

/** Two exporters, a and b, over stores that outlive what uses them. */
export interface Operated {
  readonly a: FakeControl;
  readonly b: FakeControl;
  readonly clock: FakeClock;
  /** A process that uses the stores; from its `dies`-th write on it writes nothing more. */
  run(dies?: number): { readonly admin: Admin; readonly writes: () => number; stop(): Promise<void> };
  /** Bodies of everything that is in the queues, as `a failed text`. */
  everything(): Promise<string[]>;
}

export async function operated(): Promise<Operated> {
  const clock = new FakeClock();
  const [a, b] = [await control("a"), await control("b")];
  const pipelines = [{ id: "logs", signal: "logs" } as const];
  const records = new Map<string, MemoryStore>();
  const everything = async () => {
    const found: string[] = [];
    for (const { id, store } of [a, b]) {
      for (const { ref, entry } of [
        ...(await store.pending(undefined, 100)),
        ...(await store.failed(undefined, 100, "oldest")),
      ])
        found.push(
          `${id} ${entry.arriving === undefined ? entry.state : "arriving"} ${textOf(await store.payload(ref))}`,
        );
    }
    return found.sort();
  };
  return {
    ...{ a, b, clock, everything },
    run(dies = Number.POSITIVE_INFINITY) {
      let count = 0;
      const mortal = <T extends QueueStore>(store: T): T =>
        new Proxy(store, {
          get(target, name) {
            const value = Reflect.get(target, name, target) as unknown;
            if (typeof value !== "function") return value;
            if (!WRITES.includes(String(name))) return value.bind(target);
            return async (...args: unknown[]) => {
              if (++count > dies) throw new Error("killed");
              return Reflect.apply(value, target, args) as unknown;
            };
          },
        });
      const kept = createOperatorRecords({
        ...{ clock, logger: silentLogger, auditRetentionMs: 0, historyRetentionMs: 1000 },
        createStore(id) {
          const store = records.get(id) ?? new MemoryStore({ exporter: id });
          records.set(id, store);
          return mortal(store);
        },
        exists: async (id) => records.has(id),
      });
      const controls = new Map(
        [a, b].map((each) => [each.id, { ...each, status: each.status, pipelines, store: mortal(each.store) }]),
      );
      const services = { clock, logger: silentLogger, metrics: noMetrics, running: { config: { generation: "2" } } };
      const admin = createAdmin(controls, {
        ...services,
        records: kept,
        language: deadLetterLanguage,
        mask: maskBatch,
      });
      return { admin, writes: () => count, stop: () => kept.close() };
    },
  };
}

function textOf(batch: Batch): string {
  let text = "";
  readRecords(batch, (record) => {
    if (record.signal === "logs") text += String(record.body);
  });
  return text;
}

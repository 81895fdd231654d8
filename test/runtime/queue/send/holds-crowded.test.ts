import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { DEFAULT_HEAD_LIMITS } from "../../../../src/runtime/queue/schedule/queue-head.js";
import { owed } from "../../../support/deliveries.js";
import { http, numbers, type Queue, startQueue } from "../queue.js";

const gauge = (name: string) =>
  batchFromJson(
    "metrics",
    JSON.stringify({
      resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name, gauge: { dataPoints: [{ asInt: "1" }] } }] }] }],
    }),
  );

const LIMITS = { ...DEFAULT_HEAD_LIMITS, entries: 8, waiting: 16 };
const TENANTS = { minSize: 1, metadataKeys: ["tenant"] };

async function sendMetrics(queue: Queue, count: number): Promise<void> {
  for (let i = 0; i < count; i++) queue.outlet.accept(owed(gauge(`m${i}`)).delivery, "metrics");
  await queue.pass(10_000, 500);
}

describe("more than there is room for in memory that a backend refuses", () => {
  it("keeps no retry of another signal from its turn", async () => {
    const failed = new Set<string>();
    const queue = await startQueue({
      limits: LIMITS,
      backend: async ([body = ""], { signal }) => {
        if (signal === "metrics") throw http(403);
        if (failed.has(body)) return undefined;
        failed.add(body);
        throw http(503);
      },
      settings: { circuit_breaker: { enabled: false } },
    });
    await sendMetrics(queue, 60);
    for (const body of numbers(5)) queue.send(body);
    await queue.pass(120_000, 1000);
    expect(queue.taken.sort()).toEqual(numbers(5));
    expect(queue.store.stats.pending.entries).toBe(60);
  });

  it("of one batch key lets another have its own as soon as it is mended, without anything new", async () => {
    let isMended = false;
    const queue = await startQueue({
      limits: LIMITS,
      batching: TENANTS,
      backend: async (bodies) => {
        if (bodies.some((body) => body.startsWith("a") || !isMended)) throw http(401);
        return undefined;
      },
    });
    for (let i = 0; i < 40; i++) queue.sendFrom("a", `a${i}`);
    await queue.pass(60_000, 1000);
    for (let i = 0; i < 40; i++) queue.sendFrom("b", `b${i}`);
    await queue.pass(60_000, 1000);
    isMended = true;
    await queue.pass(120_000, 1000);
    expect(queue.taken).toHaveLength(40);
    expect(await queue.pending()).toHaveLength(40);
  });

  it("loses no part of what was taken apart", async () => {
    let phase: "parting" | "refusing" | "mended" = "parting";
    const queue = await startQueue({
      limits: LIMITS,
      settings: { sending_queue: { num_consumers: 1 } },
      backend: async (bodies, { signal }) => {
        if (signal === "metrics") throw http(403);
        if (phase === "parting" && bodies.length <= 2) phase = "refusing";
        if (phase === "parting") throw http(400);
        if (phase === "refusing") throw http(401);
        return undefined;
      },
    });
    await sendMetrics(queue, 60);
    queue.send(...numbers(8));
    await queue.pass(10_000, 1000);
    for (const body of numbers(20).slice(8)) queue.send(body);
    await queue.pass(10_000, 1000);
    phase = "mended";
    await queue.pass(120_000, 1000);
    expect(queue.taken.sort()).toEqual(numbers(20).sort());
  });
});

describe("a backend that refuses everything", () => {
  it("is not asked all the time where retries do not wait", async () => {
    const queue = await startQueue({
      settings: { retry_on_failure: { initial_interval: "0s" } },
      backend: async () => {
        throw http(401);
      },
    });
    for (const body of numbers(5)) queue.send(body);
    await queue.pass(20_000, 10);
    expect(queue.calls.length).toBeLessThan(40);
  });

  it("is not down, nor are batch keys held, when nothing is left that could try it", async () => {
    const queue = await startQueue({
      batching: TENANTS,
      settings: { sending_queue: { max_age: "1m" } },
      backend: async () => {
        throw http(401);
      },
    });
    for (let i = 0; i < 20; i++) queue.sendFrom(`t${i}`, "a");
    await queue.pass(50_000, 1000);
    expect(queue.metrics.value("sluice_exporter_held")).toBe(20);
    await queue.pass(50_000, 1000);
    expect(queue.store.stats.pending.entries).toBe(0);
    expect(queue.metrics.value("sluice_exporter_held")).toBe(0);
    expect(queue.outlet.status()).toMatchObject({ state: "UP", deadLetters: { entries: 20 } });
  });
});

import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { owed } from "../../../support/deliveries.js";
import { type Backend, http, numbers, startQueue } from "../queue.js";

/** Time passes in large steps. */
const UNTIMED = { timeout: "0s" };

const gauge = (name: string) =>
  batchFromJson(
    "metrics",
    JSON.stringify({
      resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name, gauge: { dataPoints: [{ asInt: "1" }] } }] }] }],
    }),
  );

/** Refuses everything with that status until it is mended. */
function refusesAll(status: number): { readonly backend: Backend; mend(): void } {
  let isMended = false;
  const backend: Backend = async () => {
    if (!isMended) throw http(status);
    return undefined;
  };
  return { backend, mend: () => void (isMended = true) };
}

describe("a backend that refuses everything", () => {
  it.each([401, 403, 308])(
    "with %i keeps all entries in the queue, logs it, and gets them when that is fixed",
    async (status) => {
      const { backend, mend } = refusesAll(status);
      const queue = await startQueue({ backend, settings: { ...UNTIMED, retry_on_failure: { max_retries: 0 } } });
      for (const body of numbers(30)) queue.send(body);
      await queue.pass(3_600_000, 20_000);
      expect(await queue.deadLetters()).toEqual([]);
      expect(await queue.pending()).toHaveLength(30);
      expect(queue.calls.length).toBeLessThan(100);
      expect(queue.outlet.isAvailable).toBe(false);
      expect(queue.outlet.status()).toMatchObject({
        state: "DOWN",
        breaker: { state: "closed" },
        refused: { signals: ["logs"], class: `HTTP ${status}`, advice: expect.stringMatching(/credentials|endpoint/) },
      });
      const [told, ...others] = queue.lines.filter(({ level }) => level === "error");
      expect(told).toMatchObject({
        message: expect.stringMatching(/refuses all data/),
        fields: { error: `HTTP ${status}` },
      });
      expect(others).toEqual([]);
      expect(queue.metrics.value("sluice_exporter_held")).toBe(1);
      mend();
      await queue.pass(120_000, 1000);
      expect(queue.taken.sort()).toEqual(numbers(30).sort());
      expect(queue.outlet.status()).toMatchObject({ state: "UP" });
      expect(queue.outlet.status().refused).toBeUndefined();
      expect(queue.metrics.value("sluice_exporter_held")).toBe(0);
      expect(queue.lines.filter(({ message }) => message.includes("accepts data again"))).toMatchObject([
        { level: "info", fields: { signal: "logs" } },
      ]);
    },
  );

  it("with 407 is a proxy, and the advice is about that", async () => {
    const queue = await startQueue({ backend: refusesAll(407).backend, settings: UNTIMED });
    queue.send("a");
    await queue.pass(600_000, 10_000);
    expect(queue.outlet.status().refused?.advice).toContain("proxy_url");
  });

  it("costs entries no attempts", async () => {
    const { backend } = refusesAll(401);
    const queue = await startQueue({ backend, settings: UNTIMED });
    queue.send("a");
    await queue.pass(600_000, 10_000);
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry).toMatchObject({ attempts: 0, lastError: { class: "HTTP 401" } });
  });

  it("is tried at once when an operator asks for it", async () => {
    const { backend, mend } = refusesAll(401);
    const queue = await startQueue({ backend, settings: UNTIMED });
    queue.send("a");
    queue.send("b");
    await queue.pass(600_000, 10_000);
    mend();
    queue.outlet.retryNow();
    await queue.pass(1000, 100);
    expect(queue.taken.sort()).toEqual(["a", "b"]);
  });

  it("gets as many entries a second as it took before, when it takes some again", async () => {
    let isMended = true;
    const backend: Backend = async () => {
      if (!isMended) throw http(401);
      return undefined;
    };
    const settings = { ...UNTIMED, replay: { ramp: "100s" } };
    const queue = await startQueue({ backend, settings, batching: { minSize: 1, maxSize: 1, timeoutMs: 1 } });
    for (let i = 0; i < 20; i++) {
      for (const body of numbers(5)) queue.send(body);
      await queue.pass(100, 100);
    }
    isMended = false;
    for (const body of numbers(500)) queue.send(body);
    await queue.pass(600_000, 20_000);
    isMended = true;
    while (queue.taken.length === 100) await queue.pass(100, 100);
    await queue.pass(1000, 100);
    expect(queue.taken.length - 100).toBeGreaterThanOrEqual(40);
    expect(queue.taken.length - 100).toBeLessThanOrEqual(60);
  });

  it("gets what was held before a restart", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { backend, mend } = refusesAll(401);
    const first = await startQueue({ store, backend });
    for (const body of numbers(5)) first.send(body);
    await first.pass(60_000, 1000);
    await first.outlet.drain();
    await first.outlet.stop();
    mend();
    const second = await startQueue({ store, backend, clock: first.clock });
    await second.pass(120_000, 1000);
    expect(second.taken.sort()).toEqual(numbers(5));
  });

  it("makes dead letters if configured", async () => {
    for (const own of [{ hold_on: [] }, { permanent_on: ["401"] }]) {
      const queue = await startQueue({ backend: refusesAll(401).backend, settings: { retry_on_failure: own } });
      queue.send("a");
      await queue.settle();
      expect(await queue.deadLetters()).toMatchObject([{ attempts: 1, failure: { category: "integration" } }]);
    }
  });
});

describe("a backend that answers that the address is wrong", () => {
  it.each([404, 405, 410, 415])(
    "with %i makes dead letters after one call, and a replay delivers them when that is fixed",
    async (status) => {
      const { backend, mend } = refusesAll(status);
      const queue = await startQueue({ backend });
      for (const body of numbers(5)) queue.send(body, `${body}'`);
      await queue.pass(60_000, 1000);
      expect(queue.calls).toHaveLength(5);
      const deadLetters = await queue.deadLetters();
      expect(deadLetters).toHaveLength(5);
      for (const { items, attempts, failure } of deadLetters)
        expect({ items, attempts, ...failure }).toMatchObject({
          ...{ items: 2, attempts: 1, reason: "permanent", category: "integration" },
          error: { class: `HTTP ${status}` },
        });
      expect(await queue.pending()).toEqual([]);
      expect(queue.outlet.status().refused).toBeUndefined();
      mend();
      await queue.replayAll();
      await queue.pass(60_000, 1000);
      expect(queue.taken.sort()).toEqual(numbers(5).flatMap((body) => [body, `${body}'`]));
      expect(await queue.deadLetters()).toEqual([]);
    },
  );

  it("holds everything where hold_on says so", async () => {
    const { backend, mend } = refusesAll(404);
    const queue = await startQueue({ backend, settings: { ...UNTIMED, retry_on_failure: { hold_on: ["404"] } } });
    for (const body of numbers(5)) queue.send(body);
    await queue.pass(600_000, 10_000);
    expect(await queue.deadLetters()).toEqual([]);
    expect(queue.outlet.status()).toMatchObject({ state: "DOWN", refused: { class: "HTTP 404" } });
    mend();
    await queue.pass(120_000, 1000);
    expect(queue.taken.sort()).toEqual(numbers(5));
  });

  it("for one signal makes dead letters of that one, and others go on", async () => {
    const queue = await startQueue({
      backend: async (_bodies, { signal }) => {
        if (signal === "metrics") throw http(404);
        return undefined;
      },
    });
    for (let i = 0; i < 3; i++) queue.outlet.accept(owed(gauge(`m${i}`)).delivery, "metrics");
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(20_000, 1000);
    expect(queue.taken.sort()).toEqual(numbers(20).sort());
    expect(await queue.deadLetters()).toMatchObject([
      { signal: "metrics" },
      { signal: "metrics" },
      { signal: "metrics" },
    ]);
    expect(queue.outlet.status().state).toBe("UP");
  });
});

describe("a backend that refuses", () => {
  it.each([401, 403])(
    "single records with %i leaves only those as dead letters, and others do not wait for it",
    async (status) => {
      const bad = new Set(["r3", "r14"]);
      const queue = await startQueue({
        backend: async (bodies) => {
          if (bodies.some((body) => bad.has(body))) throw http(status);
          return undefined;
        },
      });
      queue.send(...numbers(10));
      for (const body of numbers(50).slice(10)) {
        queue.send(body);
        await queue.pass(200, 50);
      }
      expect(queue.taken.sort()).toEqual(
        numbers(50)
          .filter((body) => !bad.has(body))
          .sort(),
      );
      expect(await queue.deadLetters()).toMatchObject([{ items: 1 }, { items: 1 }]);
      expect(await queue.pending()).toEqual([]);
      expect(queue.outlet.status().state).toBe("UP");
      expect(queue.lines.filter(({ level }) => level === "error")).toEqual([]);
    },
  );

  it("some requests, by one of its replicas, gets all of them with hold_retries", async () => {
    let calls = 0;
    const queue = await startQueue({
      settings: { retry_on_failure: { hold_retries: 3 } },
      backend: async () => {
        calls += 1;
        if (calls % 3 === 0) throw http(401);
        return undefined;
      },
    });
    for (const body of numbers(30)) {
      queue.send(body);
      await queue.pass(500, 100);
    }
    await queue.pass(10_000, 100);
    expect(queue.taken.sort()).toEqual(numbers(30).sort());
    expect(await queue.deadLetters()).toEqual([]);
  });

  it("one signal holds that one, and the others go on", async () => {
    let hasMetrics = false;
    const queue = await startQueue({
      backend: async (_bodies, { signal }) => {
        if (signal === "metrics" && !hasMetrics) throw http(403);
        return undefined;
      },
    });
    for (let i = 0; i < 3; i++) queue.outlet.accept(owed(gauge(`m${i}`)).delivery, "metrics");
    for (const body of numbers(20)) {
      queue.send(body);
      await queue.pass(1000, 100);
    }
    expect(queue.taken).toEqual(numbers(20));
    expect(queue.store.stats.pending.entries).toBe(3);
    expect(queue.outlet.status()).toMatchObject({ state: "DEGRADED", refused: { signals: ["metrics"] } });
    expect(queue.outlet.isAvailable).toBe(true);
    expect(await queue.deadLetters()).toEqual([]);
    hasMetrics = true;
    await queue.pass(120_000, 1000);
    expect(queue.store.stats.pending.entries).toBe(0);
  });

  it("one batch key holds that one", async () => {
    const queue = await startQueue({
      batching: { minSize: 1, metadataKeys: ["tenant"] },
      backend: async (bodies) => {
        if (bodies.some((body) => body.startsWith("bad"))) throw http(401);
        return undefined;
      },
    });
    for (let i = 0; i < 10; i++) {
      queue.sendFrom("bad", `bad${i}`);
      queue.sendFrom("good", `good${i}`);
      await queue.pass(2000, 100);
    }
    expect(queue.taken).toHaveLength(10);
    expect(await queue.pending()).toHaveLength(10);
    expect(await queue.deadLetters()).toEqual([]);
  });
});

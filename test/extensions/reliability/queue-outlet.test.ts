import { describe, expect, it } from "vitest";
import { allowedRequests } from "../../../src/extensions/reliability/schedule/ramp.js";
import { MemoryStore } from "../../../src/extensions/reliability/store/memory-store.js";
import { StoreError } from "../../../src/extensions/reliability/store/store.js";
import { Refusal } from "../../../src/plugin.js";
import { refusalOfHttp } from "../../../src/runtime/kit.js";
import { FakeClock } from "../../support/fake-clock.js";
import { type Backend, type Queue, startQueue } from "./queue.js";

const http = (status: number, retryAfterMs?: number) => refusalOfHttp(status, "no", retryAfterMs);
const down: Backend = async () => {
  throw http(503);
};
const hangs: Backend = (_bodies, _batch, abort) =>
  new Promise((_resolve, reject) => abort.addEventListener("abort", () => reject(new Error("aborted"))));
/** Refuses batches with one of these records in them. */
const refusing =
  (isBad: (body: string) => boolean, status = 400): Backend =>
  async (bodies) => {
    const bad = bodies.find(isBad);
    if (bad !== undefined) throw refusalOfHttp(status, `bad record ${bad}`, undefined);
    return undefined;
  };
const numbers = (count: number) => Array.from({ length: count }, (_, i) => `r${i}`);

describe("a queue", () => {
  it("accepts a delivery when the store has it, and sends it", async () => {
    const queue = await startQueue({ backend: hangs });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(await queue.pending()).toEqual(["a"]);
    expect(queue.outlet.status()).toMatchObject({ state: "UP", queue: { entries: 1, inFlight: 1 } });
  });

  it("sends in order, forgets what was delivered, and counts it", async () => {
    const queue = await startQueue({ settings: { sending_queue: { num_consumers: 1 } } });
    for (const body of numbers(50)) queue.send(body);
    await queue.settle();
    expect(queue.taken).toEqual(numbers(50));
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(50);
    expect(new Set(queue.keys).size).toBe(50);
  });

  it("refuses retryably when the store cannot write", async () => {
    const store = new MemoryStore({ exporter: "out" });
    store.put = async () => {
      throw new StoreError("full", "no space");
    };
    const queue = await startQueue({ store });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_QUEUE_WRITE" } }]);
    expect(queue.metrics.value("otelcol_exporter_enqueue_failed_log_records")).toBe(1);
  });

  it("answers only when it has been sent, if told to wait for the result", async () => {
    let fail = true;
    const queue = await startQueue({
      settings: { sending_queue: { wait_for_result: true } },
      backend: async () => {
        if (fail) throw http(503);
        return undefined;
      },
    });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toEqual([]);
    fail = false;
    await queue.pass(1000);
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("tells those who wait for the result when it became a dead letter, wholly or in part", async () => {
    const settings = { sending_queue: { wait_for_result: true } };
    const queue = await startQueue({ settings, backend: refusing((body) => body === "bad") });
    const [whole, part, good] = [queue.send("bad"), queue.send("a", "bad", "b"), queue.send("c")];
    await queue.settle();
    const gaveUp = { ok: false, refusal: { kind: "permanent", code: "SLUICE_DEAD_LETTERED" } };
    expect([whole, part, good]).toMatchObject([[gaveUp], [gaveUp], [{ ok: true }]]);
    expect(queue.taken.sort()).toEqual(["a", "b", "c"]);
  });

  it("merges before the queue when told to, and accepts all that was merged", async () => {
    const settings = { sending_queue: { batch: { flush_timeout: "200ms", min_size: 5 } } };
    const queue = await startQueue({ settings });
    const outcomes = [queue.send("a"), queue.send("b")];
    await queue.settle();
    expect(outcomes).toEqual([[], []]);
    await queue.pass(200);
    expect(outcomes).toMatchObject([[{ ok: true }], [{ ok: true }]]);
    queue.send("c", "d", "e", "f", "g");
    await queue.settle();
    expect(queue.calls).toEqual([
      ["a", "b"],
      ["c", "d", "e", "f", "g"],
    ]);
    const last = queue.send("h");
    await queue.outlet.drain();
    expect(last).toMatchObject([{ ok: true }]);
    expect([...queue.taken, ...(await queue.pending())]).toContain("h");
  });
});

describe("retries", () => {
  it("come after the backoff, do not block those behind, and are recorded on the entry", async () => {
    const queue = await startQueue({
      settings: { sending_queue: { num_consumers: 1 } },
      backend: async ([body]) => {
        if (body === "slow" && queue.calls.length < 4) throw http(503);
        return undefined;
      },
    });
    queue.send("slow");
    queue.send("b");
    await queue.settle();
    expect(queue.taken).toEqual(["b"]);
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry).toMatchObject({
      attempts: 1,
      calls: 1,
      lastError: { class: "HTTP 503" },
      history: [{ error: "HTTP 503", delayMs: 500 }],
    });
    await queue.pass(499);
    expect(queue.calls).toHaveLength(2);
    await queue.pass(1);
    expect(queue.calls).toHaveLength(3);
    await queue.pass(1000);
    expect(queue.taken).toEqual(["b", "slow"]);
    expect(queue.metrics.value("sluice_exporter_retries", { attempt: "1" })).toBe(1);
    expect(queue.metrics.value("sluice_exporter_retries")).toBe(2);
  });

  it("wait as long as the backend asks for", async () => {
    const queue = await startQueue({
      backend: async () => {
        if (queue.calls.length === 1) throw http(429, 90_000);
        return undefined;
      },
    });
    queue.send("a");
    await queue.pass(89_999);
    expect(queue.calls).toHaveLength(1);
    await queue.pass(1);
    expect(queue.taken).toEqual(["a"]);
  });

  it("end in a dead letter with the true number of attempts", async () => {
    const queue = await startQueue({ settings: { circuit_breaker: { enabled: false } }, backend: down });
    queue.send("a");
    await queue.pass(120_000, 1000);
    expect(queue.calls).toHaveLength(6);
    expect(await queue.deadLetters()).toMatchObject([
      {
        attempts: 6,
        calls: 6,
        failure: { reason: "retry_exhausted", category: "downstream_error", error: { class: "HTTP 503" } },
      },
    ]);
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("sluice_exporter_retries_exhausted")).toBe(1);
    expect(queue.metrics.value("sluice_dead_letters", { reason: "retry_exhausted", error_class: "HTTP 503" })).toBe(1);
    expect(queue.metrics.value("sluice_dead_letters_entries")).toBe(1);
    const told = queue.lines.filter(({ message }) => message.includes("dead letter"));
    expect(told).toMatchObject([{ fields: { reason: "retry_exhausted", attempts: 6, error: "HTTP 503" } }]);
    expect(JSON.stringify(queue.lines)).not.toContain('"a"');
  });

  it("can be off, and can be limited in time", async () => {
    const off = { retry_on_failure: { enabled: false } };
    const timed = {
      circuit_breaker: { enabled: false },
      retry_on_failure: { max_retries: 1000, max_elapsed_time: "10s" },
    };
    for (const [settings, calls] of [
      [off, 1],
      [timed, 6],
    ] as const) {
      const queue = await startQueue({ settings, backend: down });
      queue.send("a");
      await queue.pass(60_000, 500);
      expect(queue.calls.length).toBe(calls);
      expect(await queue.deadLetters()).toMatchObject([{ failure: { reason: "retry_exhausted" } }]);
    }
  });

  it("go on counting after a restart", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const settings = { circuit_breaker: { enabled: false } };
    const first = await startQueue({ store, clock, settings, backend: down });
    first.send("a");
    await first.pass(2000, 500);
    await first.outlet.drain();
    await first.outlet.stop();
    const second = await startQueue({ store, clock, settings, backend: down });
    await second.pass(120_000, 1000);
    expect(first.calls.length + second.calls.length).toBe(6);
    expect(await second.deadLetters()).toMatchObject([{ attempts: 6, calls: 6 }]);
    expect(second.keys[0]).toBe(first.keys[0]);
  });

  it("stay in the queue when the agent stops in the middle of them", async () => {
    const queue = await startQueue({ backend: down });
    queue.send("a");
    await queue.settle();
    await queue.outlet.drain();
    await queue.pass(100_000, 10_000);
    expect(queue.calls).toHaveLength(1);
    expect(await queue.pending()).toEqual(["a"]);
    expect(queue.clock.pending).toBe(0);
  });

  it("hold up no first attempts, however many wait, and each is tried again when there is room for it", async () => {
    let isDown = true;
    const queue = await startQueue({
      limits: { entries: 4, waiting: 10, bytes: 1e6 },
      settings: {
        circuit_breaker: { enabled: false },
        retry_on_failure: { jitter: "none", max_retries: 50, rate_limit: { per_second: 10, burst: 1 } },
      },
      backend: async ([body]) => {
        if (isDown && body?.startsWith("r")) throw http(503);
        return undefined;
      },
    });
    for (const body of numbers(200)) queue.send(body);
    await queue.settle();
    await queue.settle();
    expect(queue.calls).toHaveLength(200);
    queue.send("new");
    await queue.settle();
    expect(queue.taken).toEqual(["new"]);
    isDown = false;
    await queue.pass(120_000, 1000);
    expect(queue.taken.slice(1).sort()).toEqual(numbers(200).sort());
    expect(await queue.pending()).toEqual([]);
    expect(queue.outlet.status().queue.entries).toBe(0);
  });

  it("take turns with first attempts", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        sending_queue: { num_consumers: 1 },
        retry_on_failure: { initial_interval: "1ms", max_interval: "1ms", jitter: "none", max_retries: 1000 },
      },
      backend: async ([body]) => {
        queue.clock.advance(10);
        await new Promise(setImmediate);
        if (body?.startsWith("bad")) throw http(503);
        return undefined;
      },
    });
    for (const body of numbers(20)) queue.send(`bad ${body}`);
    while (queue.calls.length < 20) await new Promise(setImmediate);
    for (const body of numbers(10)) queue.send(body);
    const before = queue.calls.length;
    while (queue.taken.length < 10) await new Promise(setImmediate);
    expect(queue.calls.length - before).toBeLessThan(45);
    queue.outlet.abort();
  });

  it("keep the time they are due over a restart", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const first = await startQueue({
      store,
      clock,
      backend: async () => {
        throw http(429, 90_000);
      },
    });
    first.send("a");
    await first.pass(10_000);
    await first.outlet.drain();
    await first.outlet.stop();
    const second = await startQueue({ store, clock });
    await second.pass(79_000, 1000);
    expect(second.calls).toEqual([]);
    await second.pass(1000);
    expect(second.taken).toEqual(["a"]);
  });

  it("wait for what the backend asks for, but not for years", async () => {
    let isDown = true;
    const backend = async () => {
      if (isDown) throw http(429, 999_999_999_000);
      return undefined;
    };
    const queue = await startQueue({ backend, settings: { retry_on_failure: { max_retry_after: "2h" } } });
    queue.send("a");
    await queue.settle();
    isDown = false;
    await queue.pass(7_199_000, 600_000);
    expect(queue.calls).toHaveLength(1);
    await queue.pass(1000);
    expect(queue.taken).toEqual(["a"]);
  });

  it("wait no longer when they are told to, in memory or not, and wait again if that fails", async () => {
    let isDown = true;
    const backend = async () => {
      if (isDown) throw http(429, 3_600_000);
      return undefined;
    };
    const limits = { entries: 4, waiting: 6, bytes: 1 << 20 };
    const settings = { circuit_breaker: { enabled: false }, retry_on_failure: { rate_limit: { per_second: 1000 } } };
    const queue = await startQueue({ backend, limits, settings });
    const bodies = numbers(30);
    for (const body of bodies) queue.send(body);
    await queue.settle();
    await queue.pass(10_000, 1000);
    const before = queue.calls.length;
    expect(before).toBe(bodies.length);
    queue.outlet.retryNow();
    await queue.pass(10_000, 1000);
    const after = queue.calls.length;
    expect(after).toBeGreaterThanOrEqual(before + limits.waiting);
    await queue.pass(600_000, 60_000);
    expect(queue.calls.length).toBe(after);
    isDown = false;
    queue.outlet.retryNow();
    await queue.pass(10_000, 1000);
    expect(queue.taken.toSorted()).toEqual(bodies.toSorted());
  });

  it("stay within their rate, however often they are told not to wait", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        sending_queue: { num_consumers: 1000 },
        retry_on_failure: { jitter: "none", rate_limit: { per_second: 10, burst: 5 } },
      },
      backend: down,
    });
    for (const body of numbers(100)) queue.send(body);
    await queue.settle();
    for (let i = 0; i < 3; i++) {
      queue.outlet.retryNow();
      await queue.settle();
    }
    expect(queue.calls).toHaveLength(105);
    await queue.pass(1000, 100);
    expect(queue.calls.length).toBeLessThanOrEqual(116);
    await queue.pass(10_000, 100);
    expect(queue.calls.length).toBeGreaterThanOrEqual(200);
  });

  it("wait after a restart no longer than the config allows then", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const backend = async () => {
      throw http(503, 999_999_999_000);
    };
    const first = await startQueue({ store, clock, backend });
    first.send("a");
    await first.settle();
    await first.outlet.drain();
    await first.outlet.stop();
    const second = await startQueue({ store, clock, settings: { retry_on_failure: { max_retry_after: "0s" } } });
    await second.pass(59_000, 1000);
    expect(second.calls).toEqual([]);
    await second.pass(1000);
    expect(second.taken).toEqual(["a"]);
  });

  it("stay within their rate, and first attempts do not wait for it", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        sending_queue: { num_consumers: 1000 },
        retry_on_failure: { jitter: "none", rate_limit: { per_second: 10, burst: 5 } },
      },
      backend: down,
    });
    for (const body of numbers(100)) queue.send(body);
    await queue.settle();
    expect(queue.calls).toHaveLength(100);
    await queue.pass(1000);
    expect(queue.calls).toHaveLength(105);
    await queue.pass(1000, 100);
    expect(queue.calls.length).toBeLessThanOrEqual(116);
    queue.send("new");
    await queue.settle();
    expect(queue.calls.at(-1)).toEqual(["new"]);
    expect(queue.metrics.value("sluice_retry_limiter_limited")).toBeGreaterThan(90);
  });

  it.each(["dead_letter", "drop"] as const)("over their rate %s, if that is configured", async (on_excess) => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        retry_on_failure: { jitter: "none", rate_limit: { per_second: 1, burst: 2, on_excess } },
      },
      backend: down,
    });
    for (const body of numbers(10)) queue.send(body);
    await queue.pass(1000);
    const dead = await queue.deadLetters();
    expect(dead.length).toBe(on_excess === "dead_letter" ? 8 : 0);
    expect((await queue.pending()).length).toBe(2);
    if (on_excess === "dead_letter") expect(dead[0]?.failure?.reason).toBe("rate_limited");
    else expect(queue.metrics.value("sluice_exporter_dropped")).toBe(8);
  });
});

describe("permanent refusals", () => {
  it("get exactly one call and never open the breaker", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 401) });
    for (const body of numbers(20)) queue.send(body, `${body}x`);
    await queue.pass(100_000, 10_000);
    expect(queue.calls).toHaveLength(20);
    expect(await queue.deadLetters()).toHaveLength(20);
    expect((await queue.deadLetters())[0]).toMatchObject({
      attempts: 1,
      calls: 1,
      failure: { reason: "permanent", category: "integration" },
    });
    expect(queue.outlet.status().breaker.state).toBe("closed");
    expect(queue.metrics.value("sluice_exporter_permanent_failures")).toBe(20);
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(40);
  });

  it("of a few bad records among a thousand leave the others delivered once, each bad one with its own error", async () => {
    const bad = new Set(["r3", "r500", "r999"]);
    const queue = await startQueue({ backend: refusing((body) => bad.has(body)) });
    queue.send(...numbers(1000));
    await queue.settle();
    await queue.settle();
    expect(queue.taken.sort()).toEqual(
      numbers(1000)
        .filter((body) => !bad.has(body))
        .sort(),
    );
    const dead = await queue.deadLetters();
    expect(dead.map(({ items, lastError }) => [items, lastError?.message]).sort()).toEqual(
      [...bad].map((body) => [1, `HTTP 400: bad record ${body}`]).sort(),
    );
    expect(new Set(dead.map(({ parent }) => parent))).toEqual(new Set([queue.keys[0]]));
    expect(await queue.pending()).toEqual([]);
    expect(queue.calls.length).toBeLessThan(70);
  });

  it.each([
    ["that lie together", (i: number) => i < 40],
    ["every thirtieth", (i: number) => i % 30 === 0],
  ])("of bad records %s are told apart", async (_how, isBad) => {
    const queue = await startQueue({ backend: refusing((body) => isBad(Number(body.slice(1)))) });
    queue.send(...numbers(1000));
    for (let i = 0; i < 20; i++) await queue.settle();
    const bad = numbers(1000).filter((_, i) => isBad(i)).length;
    expect([queue.taken.length, (await queue.deadLetters()).length]).toEqual([1000 - bad, bad]);
  });

  it("of everything cost a few calls, not two for each record", async () => {
    const queue = await startQueue({ backend: refusing(() => true) });
    queue.send(...numbers(1000));
    await queue.settle();
    expect(queue.calls.length).toBeLessThanOrEqual(16);
    const dead = await queue.deadLetters();
    expect(dead.reduce((sum, { items }) => sum + items, 0)).toBe(1000);
    expect(await queue.pending()).toEqual([]);
  });

  it("for size are cut until they fit", async () => {
    const queue = await startQueue({
      backend: async (bodies) => {
        if (bodies.length > 100) throw http(413);
        return undefined;
      },
    });
    queue.send(...numbers(1000));
    await queue.settle();
    expect(queue.taken).toHaveLength(1000);
    expect(await queue.deadLetters()).toEqual([]);
  });

  it("in the middle of taking apart survive a crash: every record is delivered, dead or pending", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const backend = refusing((body) => body === "r7");
    const first = await startQueue({ store, backend });
    first.send(...numbers(64));
    while (first.calls.length < 4) await new Promise(setImmediate);
    first.outlet.abort();
    await first.outlet.stop();
    const second = await startQueue({ store, backend });
    await second.settle();
    expect([...first.taken, ...second.taken].sort()).toEqual(
      numbers(64)
        .filter((body) => body !== "r7")
        .sort(),
    );
    expect(await second.deadLetters()).toMatchObject([{ items: 1, lastError: { message: "HTTP 400: bad record r7" } }]);
  });

  it("of some records (partial success) keep the batch as a dead letter", async () => {
    const queue = await startQueue({ backend: async () => ({ rejected: 2, message: "too old" }) });
    const outcomes = queue.send("a", "b", "c");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(1);
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(2);
    expect(await queue.deadLetters()).toMatchObject([
      { failure: { reason: "partial_success", error: { message: "2 of 3 records were rejected: too old" } } },
    ]);
  });
});

describe("poison", () => {
  it("is given up early while others go through, and blocks none of them", async () => {
    const queue = await startQueue({
      settings: { sending_queue: { num_consumers: 1 } },
      backend: async ([body]) => {
        if (body === "poison") throw http(500);
        return undefined;
      },
    });
    queue.send("poison");
    for (let i = 0; i < 600; i++) {
      queue.send(`r${i}`);
      if (i % 30 === 0) await queue.pass(100);
    }
    await queue.settle();
    expect(queue.taken).toEqual(numbers(600));
    expect(await queue.deadLetters()).toMatchObject([
      { calls: 3, failure: { reason: "poison", category: "downstream_error" } },
    ]);
  });

  it("is never what fails now and then: a backend that fails one call in ten at random", async () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const queue = await startQueue({
      random,
      settings: { retry_on_failure: { rate_limit: { per_second: 1e6, burst: 1e6 } } },
      backend: async () => {
        if (random() < 0.1) throw http(500);
        return undefined;
      },
    });
    for (let i = 0; i < 5000; i++) {
      queue.send(`r${i}`);
      if (i % 100 === 0) await queue.pass(100);
    }
    await queue.pass(60_000, 2000);
    expect((await queue.deadLetters()).filter(({ failure }) => failure?.reason === "poison")).toEqual([]);
    expect(queue.taken.length).toBeGreaterThan(4990);
  });
});

describe("an outage", () => {
  it("of days opens the breaker, spends no attempts, and ends in a drained queue without dead letters", async () => {
    let isDown = true;
    const queue = await startQueue({
      backend: async () => {
        if (isDown) throw http(503);
        return undefined;
      },
    });
    for (const body of numbers(30)) queue.send(body);
    await queue.pass(3 * 24 * 3_600_000, 3_600_000);
    expect(queue.outlet.status()).toMatchObject({ state: "DOWN", breaker: { state: "open" }, queue: { entries: 30 } });
    isDown = false;
    await queue.pass(60_000, 500);
    expect(queue.taken.sort()).toEqual(numbers(30).sort());
    expect(await queue.deadLetters()).toEqual([]);
    expect(queue.outlet.status().state).toBe("UP");
    expect(queue.metrics.value("sluice_breaker_opened")).toBeGreaterThan(1);
    expect(queue.lines.map(({ message }) => message)).toContain("circuit breaker: open");
  });

  it("is followed by a ramp: a thousand waiting entries are no stampede", async () => {
    let isDown = true;
    const times: number[] = [];
    const clock = new FakeClock();
    const queue = await startQueue({
      clock,
      settings: { replay: { ramp: "30s" } },
      backend: async () => {
        if (isDown) throw http(503);
        times.push(clock.now());
        return undefined;
      },
    });
    for (const body of numbers(1000)) queue.send(body);
    await queue.pass(30_000, 10_000);
    isDown = false;
    for (let i = 0; i < 6000 && queue.taken.length < 1000; i++) {
      clock.advance(10);
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    }
    expect(queue.taken).toHaveLength(1000);
    const closedAt = queue.outlet.status().breaker.since;
    const ramped = times.filter((time) => time >= closedAt);
    expect(ramped.length).toBeGreaterThan(990);
    ramped.forEach((time, i) => {
      expect(i - 2).toBeLessThanOrEqual(allowedRequests(time - closedAt, 30_000) + 1);
    });
  });

  it("can make dead letters at once instead", async () => {
    const queue = await startQueue({ settings: { circuit_breaker: { on_open: "dead_letter" } }, backend: down });
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(1000, 100);
    const reasons = (await queue.deadLetters()).map(({ failure }) => failure?.reason);
    expect(reasons.length).toBeGreaterThan(5);
    expect(new Set(reasons)).toEqual(new Set(["circuit_open"]));
  });

  it("ends by itself when the exporter can be asked how it is: nothing is sent for that, and nothing has to wait", async () => {
    let isDown = true;
    let checks = 0;
    const queue = await startQueue({
      backend: async () => {
        if (isDown) throw http(503);
        return undefined;
      },
      check: async () => {
        checks += 1;
        if (isDown) throw new Error("down");
      },
    });
    for (const body of numbers(5)) queue.send(body);
    await queue.settle();
    expect([queue.outlet.status().breaker.state, queue.calls.length]).toEqual(["open", 5]);
    await queue.pass(65_000, 1000);
    expect([checks, queue.calls.length]).toEqual([2, 5]);
    isDown = false;
    await queue.pass(30_000, 1000);
    expect(checks).toBe(4);
    expect(queue.outlet.status().breaker.state).toBe("closed");
    expect(queue.taken.sort()).toEqual(numbers(5));
    expect(queue.metrics.value("sluice_exporter_health_checks", { result: "well" })).toBe(2);
  });

  it("is not kept up by one bad entry: probes prefer entries that have not failed", async () => {
    const queue = await startQueue({
      backend: async ([body]) => {
        if (body === "bad") throw http(500);
        return undefined;
      },
    });
    queue.send("bad");
    await queue.pass(25_000, 500);
    expect(queue.outlet.status().breaker.state).toBe("open");
    queue.send("a");
    queue.send("b");
    queue.send("c");
    await queue.pass(31_000, 500);
    expect(queue.taken.sort()).toEqual(["a", "b", "c"]);
  });
});

describe("an operator", () => {
  it("pauses and resumes, and holds the breaker", async () => {
    const queue = await startQueue();
    queue.outlet.pause();
    queue.send("a");
    await queue.settle();
    expect([queue.taken, queue.outlet.status().paused]).toEqual([[], true]);
    queue.outlet.resume();
    await queue.settle();
    expect(queue.taken).toEqual(["a"]);
    queue.outlet.forceBreaker("open");
    queue.send("b");
    await queue.pass(100_000, 10_000);
    expect(queue.taken).toEqual(["a"]);
    queue.outlet.forceBreaker("closed");
    await queue.settle();
    expect(queue.taken).toEqual(["a", "b"]);
  });

  it("puts dead letters back, and they are sent with the same key", async () => {
    let isBad = true;
    const queue = await startQueue({
      backend: async () => {
        if (isBad) throw http(401);
        return undefined;
      },
    });
    queue.send("a");
    await queue.settle();
    isBad = false;
    const [dead] = await queue.store.failed(undefined, 1, "oldest");
    const { failure: _, ...entry } = dead!.entry;
    await queue.replay([{ ref: dead!.ref, entry: { ...entry, attempts: 0, calls: 0, history: [] } }]);
    await queue.settle();
    expect(queue.taken).toEqual(["a"]);
    expect(queue.keys[0]).toBe(queue.keys[1]);
  });
});

describe("a full queue", () => {
  const full = { sending_queue: { queue_size: 2, num_consumers: 1 } };
  const withQueue = (own: object) => ({ sending_queue: { ...full.sending_queue, ...own } });

  it("refuses with a time to come back, and takes again when there is room", async () => {
    const open: (() => void)[] = [];
    const queue = await startQueue({
      settings: full,
      backend: () => new Promise((resolve) => open.push(() => resolve(undefined))),
    });
    const outcomes = [queue.send("a"), queue.send("b"), queue.send("c")];
    await queue.settle();
    expect(outcomes[2]).toMatchObject([{ ok: false, refusal: { kind: "throttled", code: "SLUICE_QUEUE_FULL" } }]);
    expect(queue.metrics.value("otelcol_exporter_enqueue_failed_log_records")).toBe(1);
    open.shift()!();
    await queue.settle();
    const later = queue.send("d");
    await queue.settle();
    expect(later).toMatchObject([{ ok: true }]);
  });

  it("lets clients wait when told to, in order", async () => {
    const open: (() => void)[] = [];
    const queue = await startQueue({
      settings: withQueue({ block_on_overflow: true }),
      backend: () => new Promise((resolve) => open.push(() => resolve(undefined))),
    });
    const outcomes = ["a", "b", "c", "d"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes.map((o) => o.length)).toEqual([1, 1, 0, 0]);
    open.shift()!();
    await queue.settle();
    expect(outcomes.map((o) => o.length)).toEqual([1, 1, 1, 0]);
    queue.outlet.abort();
    expect(outcomes[3]).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
  });

  it("keeps the newest as dead letters with drop_newest", async () => {
    const queue = await startQueue({ settings: withQueue({ on_full: "drop_newest" }), backend: hangs });
    const outcomes = ["a", "b", "c"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes).toMatchObject([[{ ok: true }], [{ ok: true }], [{ ok: true }]]);
    expect(await queue.deadLetters()).toMatchObject([{ items: 1, failure: { reason: "queue_full" } }]);
    expect(await queue.pending()).toEqual(["a", "b"]);
  });

  it("gives up the oldest that is not being sent with drop_oldest", async () => {
    const queue = await startQueue({ settings: withQueue({ on_full: "drop_oldest" }), backend: hangs });
    const outcomes = ["a", "b", "c", "d"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes).toMatchObject(Array(4).fill([{ ok: true }]));
    expect(await queue.pending()).toEqual(["a", "d"]);
    expect((await queue.deadLetters()).map(({ failure }) => failure?.reason)).toEqual(["queue_full", "queue_full"]);
  });

  it.each([
    ["items", 3],
    ["bytes", 100],
  ])("counts by %s", async (sizer, queue_size) => {
    const queue = await startQueue({ settings: { sending_queue: { sizer, queue_size } }, backend: hangs });
    const outcomes = [queue.send("a".repeat(40), "b"), queue.send("c".repeat(40), "d")];
    await queue.settle();
    expect(outcomes.map(([outcome]) => outcome?.ok)).toEqual([true, false]);
  });

  it("takes one delivery that is larger than all of it when it is empty", async () => {
    const queue = await startQueue({ settings: { sending_queue: { max_bytes: 10 } } });
    const outcomes = queue.send("x".repeat(1000));
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
  });
});

describe("age", () => {
  it("over max_age makes a dead letter, and a clock that is set does not", async () => {
    const clock = new FakeClock();
    const queue = await startQueue({ clock, settings: { sending_queue: { max_age: "1h" } } });
    queue.outlet.pause();
    queue.send("old");
    await queue.pass(3_600_001);
    queue.send("new");
    await queue.settle();
    clock.set(clock.now() + 24 * 3_600_000);
    queue.outlet.resume();
    await queue.settle();
    expect(await queue.deadLetters()).toMatchObject([{ failure: { reason: "expired" } }]);
    expect(queue.taken).toEqual(["new"]);
  });

  it.each<[string, (queue: Queue) => void]>([
    ["the exporter is paused", ({ outlet }) => outlet.pause()],
    ["the breaker is held open", ({ outlet }) => outlet.forceBreaker("open")],
    ["the backend is down", () => {}],
  ])("over max_age makes dead letters also while %s, of retries and of what is not in memory", async (_why, hinder) => {
    const queue = await startQueue({
      settings: { sending_queue: { max_age: "1h", num_consumers: 2 }, retry_on_failure: { initial_interval: "50m" } },
      limits: { entries: 4, waiting: 100, bytes: 100 },
      backend: down,
    });
    for (const body of numbers(3)) queue.send(body);
    await queue.settle();
    hinder(queue);
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(3_599_000, 599_000);
    expect(await queue.deadLetters()).toEqual([]);
    await queue.pass(3000, 1000);
    const dead = await queue.deadLetters();
    expect(dead.map(({ failure }) => failure?.reason)).toEqual(Array(23).fill("expired"));
    expect(await queue.pending()).toEqual([]);
    await queue.outlet.drain();
    expect(queue.clock.pending).toBe(0);
  });

  it("and retries do not mind a clock that jumps back and forward", async () => {
    const clock = new FakeClock();
    const queue = await startQueue({
      clock,
      settings: { retry_on_failure: { max_elapsed_time: "1h" } },
      backend: async () => {
        if (queue.calls.length < 3) throw http(503);
        return undefined;
      },
    });
    queue.send("a");
    await queue.settle();
    clock.set(clock.now() - 1e9);
    await queue.pass(500);
    expect(queue.calls).toHaveLength(2);
    clock.set(clock.now() + 2e9);
    await queue.pass(1000);
    expect(queue.taken).toEqual(["a"]);
  });
});

describe("the age of a replayed entry", () => {
  it("counts from the replay", async () => {
    let isBad = true;
    const queue = await startQueue({
      settings: { sending_queue: { max_age: "1h" } },
      backend: async () => {
        if (isBad) throw http(401);
        return undefined;
      },
    });
    queue.send("a");
    await queue.pass(2 * 3_600_000);
    isBad = false;
    await queue.replayAll();
    await queue.settle();
    expect(queue.taken).toEqual(["a"]);
  });
});

describe("a replay that fails again", () => {
  it("is counted, and is a dead letter with one more cycle", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 401) });
    queue.send("a");
    await queue.settle();
    for (const times of [1, 2]) {
      await queue.replayAll();
      await queue.settle();
      expect(queue.metrics.value("sluice_dead_letter_replays_failed")).toBe(times);
      expect((await queue.deadLetters()).map(({ cycles, replays }) => [cycles.length, replays])).toEqual([
        [times, times],
      ]);
    }
  });
});

describe("the metrics of a queue", () => {
  it("name its signal where there is one, count by its sizer, and know no limit of 0", async () => {
    const items = { sizer: "items", queue_size: 100 };
    for (const [settings, signals, type, size, capacity] of [
      [{}, ["logs", "traces"], "all", 1, undefined],
      [{ sending_queue: items }, ["logs"], "logs", 3, 100],
    ] as const) {
      const queue = await startQueue({ settings, signals, backend: hangs });
      queue.send("a", "b", "c");
      await queue.settle();
      expect(queue.metrics.value("otelcol_exporter_queue_size", { data_type: type })).toBe(size);
      expect(queue.metrics.names.has("otelcol_exporter_queue_capacity")).toBe(capacity !== undefined);
      expect(queue.metrics.value("otelcol_exporter_queue_capacity", { data_type: type })).toBe(capacity ?? 0);
    }
  });
});

describe("a store that fails", () => {
  it("to write dead letters is counted, stops nothing, and is tried again without another call", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { fail } = store;
    let isBroken = true;
    store.fail = (ref, entry) =>
      isBroken ? Promise.reject(new StoreError("io", "EIO")) : fail.call(store, ref, entry);
    const queue = await startQueue({ store, backend: refusing((body) => body === "bad") });
    queue.send("bad");
    queue.send("good");
    await queue.settle();
    expect(queue.taken).toEqual(["good"]);
    expect(queue.metrics.value("sluice_dead_letter_write_failures")).toBe(1);
    isBroken = false;
    await queue.pass(5000);
    expect(await queue.deadLetters()).toHaveLength(1);
    expect(queue.calls).toHaveLength(2);
  });

  it("to read one entry loses that one only, loudly", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const queue = await startQueue({ store });
    queue.outlet.pause();
    for (const body of numbers(3)) queue.send(body);
    await queue.outlet.drain();
    await queue.outlet.stop();
    const { payload } = store;
    store.payload = (ref) =>
      ref === 2 ? Promise.reject(new StoreError("corrupt", "bad checksum")) : payload.call(store, ref);
    const second = await startQueue({ store });
    await second.settle();
    expect(second.taken).toEqual(["r0", "r2"]);
    expect(second.metrics.value("sluice_queue_unreadable_entries")).toBe(1);
    expect(second.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

describe("a store that sets entries aside while it is read", () => {
  it("is counted and told once for each, also when its turn had come", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { stats } = Object.getOwnPropertyDescriptors(MemoryStore.prototype);
    let corrupt = 0;
    Object.defineProperty(store, "stats", { get: () => ({ ...stats.get!.call(store), corrupt }) });
    store.payload = async (ref) => {
      await store.delete([ref]);
      corrupt++;
      throw new StoreError("corrupt", "bad checksum");
    };
    const limits = { entries: 2, waiting: 10, bytes: 0 };
    const queue = await startQueue({ store, limits });
    for (const body of numbers(5)) queue.send(body);
    await queue.settle();
    queue.outlet.onReplayed([]);
    await queue.settle();
    expect(queue.metrics.value("sluice_queue_unreadable_entries")).toBe(5);
    expect(queue.lines.filter(({ level }) => level === "error")).toHaveLength(5);
  });

  it("is noticed, counted and told", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { pending } = store;
    let corrupt = 0;
    Object.defineProperty(store, "stats", {
      get: () => ({ pending: { entries: 0, items: 0, bytes: 0 }, failed: { entries: 0, items: 0, bytes: 0 }, corrupt }),
    });
    store.pending = async (after, limit) => {
      corrupt = 2;
      return pending.call(store, after, limit);
    };
    const queue = await startQueue({ store });
    await queue.settle();
    expect(queue.metrics.value("sluice_queue_unreadable_entries")).toBe(2);
    expect(queue.lines).toMatchObject([{ level: "error", fields: { entries: 2 } }]);
  });
});

describe("the filter", () => {
  it("decides what is saved, and what it discards is counted", async () => {
    const settings = { dead_letter: { filter: { never_save: ["severity < 17"] } } };
    const queue = await startQueue({ settings, backend: refusing(() => true, 404) }).catch((error: Error) => error);
    if (queue instanceof Error) throw queue;
    queue.send("a");
    await queue.settle();
    expect(await queue.deadLetters()).toEqual([]);
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("sluice_dead_letters_filtered_out")).toBe(1);
    expect(queue.lines.some(({ message }) => message.includes("discarded"))).toBe(true);
  });
});

describe("a stop", () => {
  it("waits for what is being sent", async () => {
    let finish = () => {};
    const queue = await startQueue({
      backend: () =>
        new Promise((resolve) => {
          finish = () => resolve(undefined);
        }),
    });
    queue.send("a");
    await queue.settle();
    let isDrained = false;
    void queue.outlet.drain().then(() => {
      isDrained = true;
    });
    await queue.settle();
    expect(isDrained).toBe(false);
    finish();
    await queue.settle();
    expect([isDrained, queue.taken]).toEqual([true, ["a"]]);
  });

  it("that cannot wait breaks off, and everything is still in the queue", async () => {
    const queue = await startQueue({ backend: hangs });
    for (const body of numbers(30)) queue.send(body);
    await queue.settle();
    const drained = queue.outlet.drain();
    queue.outlet.abort();
    await drained;
    expect(await queue.pending()).toEqual(numbers(30));
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(0);
    await queue.outlet.stop();
  });

  it("frees a place that an exporter holds on to although its time is up", async () => {
    const queue = await startQueue({
      settings: { timeout: "1s", sending_queue: { num_consumers: 1 } },
      backend: async ([body]) => (body === "stuck" ? new Promise(() => {}) : undefined),
    });
    queue.send("stuck");
    queue.send("b");
    await queue.pass(2000, 500);
    expect(queue.taken).toEqual(["b"]);
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry.lastError).toMatchObject({ class: "SLUICE_TIMEOUT" });
  });
});

describe("thousands of failures", () => {
  it("make a few lines and a count, not a flood", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 404) });
    for (const body of numbers(2000)) queue.send(body);
    for (let i = 0; i < 30; i++) await queue.settle();
    await queue.outlet.drain();
    await queue.outlet.stop();
    const told = queue.lines.filter(({ level }) => level === "warn");
    expect(told.length).toBe(21);
    expect(told.at(-1)?.fields).toEqual({ suppressed: 1980 });
  });
});

describe("a plain error", () => {
  it("that an exporter throws at once counts as transient", async () => {
    const queue = await startQueue({
      backend: (() => {
        throw new Refusal("transient", "sync");
      }) as Backend,
    });
    queue.send("a");
    await queue.settle();
    expect(await queue.pending()).toEqual(["a"]);
  });
});

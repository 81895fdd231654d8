import { describe, expect, it } from "vitest";
import { http, numbers, startQueue } from "../queue.js";

describe("a queue", () => {
  it("sends in order, forgets what was delivered, and counts it", async () => {
    const queue = await startQueue({ settings: { sending_queue: { num_consumers: 1, merge_backlog: false } } });
    for (const body of numbers(50)) queue.send(body);
    await queue.settle();
    expect(queue.taken).toEqual(numbers(50));
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(50);
    expect(new Set(queue.keys).size).toBe(50);
  });

  it("answers a lone client before it sends", async () => {
    const queue = await startQueue();
    const outcomes = queue.send("r");
    for (let i = 0; i < 1000 && outcomes.length === 0; i++) await Promise.resolve();
    expect(outcomes).toEqual([expect.objectContaining({ ok: true })]);
    for (let i = 0; i < 20; i++) await Promise.resolve(); // a receiver takes a few such steps to answer
    expect(queue.calls).toEqual([]);
    await queue.settle();
    expect(queue.calls).toEqual([["r"]]);
  });
});

describe("retries", () => {
  it("delay no first attempts, for any number of waiting retries, and each is made when there is room", async () => {
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
});

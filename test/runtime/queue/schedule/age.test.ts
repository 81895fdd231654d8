import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../support/fake-clock.js";
import { down, http, numbers, type Queue, startQueue } from "../queue.js";

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

  it("of an entry read from the store while the clock is a month ahead is not a month", async () => {
    const settings = { sending_queue: { max_age: "1h" } };
    const queue = await startQueue({ settings, limits: { entries: 2, waiting: 2, bytes: 100 } });
    queue.outlet.pause();
    for (const body of numbers(10)) queue.send(body);
    await queue.settle();
    queue.clock.set(queue.clock.now() + 31 * 24 * 3_600_000);
    queue.outlet.resume();
    await queue.pass(1000);
    expect(await queue.deadLetters()).toEqual([]);
    expect(queue.taken.sort()).toEqual(numbers(10));
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
    await queue.outlet.stop();
    expect(queue.clock.pending).toBe(0);
  });

  it("and retries are not affected by a clock that jumps back and forward", async () => {
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
        if (isBad) throw http(409);
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

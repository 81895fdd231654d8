import { describe, expect, it } from "vitest";
import { refusalOfConnection } from "../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { type Backend, down, failing, hangs, http, numbers, type Queue, startQueue } from "../queue.js";

const LONG = 6 * 3_600_000;

const refused: Backend = async () => {
  throw refusalOfConnection("http://backend", Object.assign(new Error("connect"), { code: "ECONNREFUSED" }));
};

const throws: Backend = async () => {
  throw new Error("the handler does not know this order");
};

const failures = async (queue: Queue) =>
  (await queue.deadLetters()).map(({ failure, attempts, calls }) => [failure?.reason, failure?.rule, attempts, calls]);

const attempts = async (queue: Queue) =>
  (await queue.store.pending(undefined, 100)).map(({ entry }) => [entry.attempts, entry.calls > 0]);

describe("a failure of the backend", () => {
  it("spends no attempt, even if the agent was restarted meanwhile", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    const before = await startQueue({ clock, store, backend: refused });
    before.send("one");
    await before.pass(5000, 100);
    before.outlet.abort();
    await before.outlet.stop();
    const after = await startQueue({ clock, store, backend: refused });
    await after.pass(3_600_000, 500);
    expect(await after.deadLetters()).toEqual([]);
    expect(await attempts(after)).toEqual([[0, true]]);
    expect(after.metrics.value("sluice_exporter_failed_calls", { blame: "entry" })).toBe(0);
    expect(after.metrics.value("sluice_exporter_failed_calls", { blame: "backend" })).toBe(after.calls.length);
  });

  it.each([
    ["a refused connection", refused],
    ["a 503", down],
    ["a backend that hangs", hangs],
  ])("spends no attempt without a breaker either, and is tried ever more seldom: %s", async (_what, backend) => {
    const settings = { circuit_breaker: { enabled: false } };
    const queue = await startQueue({ settings, backend });
    queue.send("one");
    await queue.pass(LONG, 5000);
    expect(await attempts(queue)).toEqual([[0, true]]);
    // 60 s at most, half of that with this randomness, and the time of a call that hangs.
    expect(queue.calls.length).toBeGreaterThan(LONG / 40_000);
    expect(queue.calls.length).toBeLessThan(LONG / 29_000);
  });

  it("ends in a dead letter after max_elapsed_time, with that reason", async () => {
    const queue = await startQueue({ settings: { retry_on_failure: { max_elapsed_time: "10m" } }, backend: refused });
    queue.send("one");
    await queue.pass(1_200_000, 1000);
    expect((await failures(queue)).map(([reason, rule, spent]) => [reason, rule, spent])).toEqual([
      ["retry_exhausted", "max_elapsed_time", 0],
    ]);
    expect((await queue.deadLetters())[0]?.failure?.error.blame).toBe("backend");
    expect(queue.metrics.value("sluice_dead_letters", { rule: "max_elapsed_time" })).toBe(1);
  });

  it("ends in a dead letter at once if retries are off, with that reason", async () => {
    const queue = await startQueue({ settings: { retry_on_failure: { enabled: false } }, backend: refused });
    queue.send("one");
    await queue.settle();
    expect(await failures(queue)).toEqual([["retry_exhausted", "retry_disabled", 0, 1]]);
  });
});

describe("a failure of the entry", () => {
  it.each([
    ["is always answered 500", failing],
    ["makes its handler throw", throws],
  ])(
    "ends in a dead letter after max_retries, though the entry is alone in the queue: it %s",
    async (_what, backend) => {
      const queue = await startQueue({ backend });
      queue.send("poison");
      await queue.pass(120_000, 500);
      expect(await failures(queue)).toEqual([["retry_exhausted", "max_retries", 6, 6]]);
      expect(queue.calls).toHaveLength(6);
      const [told] = queue.lines.filter(({ fields }) => fields.rule !== undefined);
      expect(told?.fields).toMatchObject({ reason: "retry_exhausted", rule: "max_retries", blame: "entry" });
      expect(queue.metrics.value("sluice_dead_letters", { rule: "max_retries" })).toBe(1);
      expect(queue.outlet.status().breaker.state).not.toBe("closed");
    },
  );

  it("ends in a dead letter even if a health check of the backend is answered with 500 too", async () => {
    const queue = await startQueue({
      backend: failing,
      check: async () => void (await failing([], undefined!, undefined!)),
    });
    queue.send("poison");
    await queue.pass(120_000, 500);
    expect(await failures(queue)).toEqual([["retry_exhausted", "max_retries", 6, 6]]);
    await queue.pass(120_000, 500);
    expect(queue.outlet.status().breaker.state).toBe("open");
  });

  it("spends an attempt after an outage, and none for the outage", async () => {
    let backend: Backend = down;
    const queue = await startQueue({ backend: (...call) => backend(...call) });
    queue.send("poison");
    await queue.pass(3_600_000, 5000);
    expect(await attempts(queue)).toEqual([[0, true]]);
    backend = failing;
    await queue.pass(3_600_000, 5000);
    expect((await failures(queue)).map(([, rule, spent]) => [rule, spent])).toEqual([["max_retries", 6]]);
    const blames = (await queue.deadLetters())[0]!.history.map(({ blame }) => blame);
    expect(blames.slice(-6)).toEqual(Array(6).fill("entry"));
    expect(blames.slice(0, -6).every((blame) => blame === "backend")).toBe(true);
  });

  it("does not keep the breaker open for others: a probe takes an entry that did not fail last", async () => {
    let backend: Backend = down;
    const queue = await startQueue({
      backend: (...call) => backend(...call),
      settings: { retry_on_failure: { jitter: "none", max_interval: "10s" } },
    });
    for (const body of ["poison", "a", "b"]) queue.send(body);
    await queue.pass(120_000, 500);
    expect(queue.outlet.status().breaker.state).toBe("open");
    backend = async ([body]) => {
      if (body === "poison") throw http(500);
      return undefined;
    };
    const callsBefore = queue.calls.length;
    await queue.pass(95_000, 500);
    expect(queue.taken.sort()).toEqual(["a", "b"]);
    const since = queue.calls.slice(callsBefore).map(([body]) => body);
    since.forEach((body, i) => {
      if (i > 0 && i < since.lastIndexOf("b") && body === "poison") expect(since[i - 1]).not.toBe("poison");
    });
  });

  it("may be named by the config, as may one of the backend", async () => {
    const settings = { retry_on_failure: { blame_entry_on: ["ECONNREFUSED"], blame_backend_on: ["500"] } };
    const poison = await startQueue({ settings, backend: refused });
    const outage = await startQueue({ settings, backend: failing });
    for (const queue of [poison, outage]) {
      queue.send("one");
      await queue.pass(3_600_000, 5000);
    }
    expect(await failures(poison)).toEqual([["retry_exhausted", "max_retries", 6, 6]]);
    expect(await attempts(outage)).toEqual([[0, true]]);
  });
});

describe("a call without an answer in time", () => {
  it("is the entry's failure while others get through", async () => {
    const queue = await startQueue({
      settings: { retry_on_failure: { poison: { enabled: false } } },
      backend: async (bodies, batch, abort) => (bodies[0] === "poison" ? hangs(bodies, batch, abort) : undefined),
    });
    queue.send("poison");
    for (let i = 0; i < 60; i++) {
      queue.send(`r${i}`);
      await queue.pass(2000, 500);
    }
    expect(await failures(queue)).toEqual([["retry_exhausted", "max_retries", 6, 6]]);
    expect(queue.taken).toEqual(numbers(60));
  });

  it("is the backend's when nothing succeeds, even if the clock was set back", async () => {
    let backend: Backend = async () => undefined;
    const queue = await startQueue({ backend: (...call) => backend(...call) });
    queue.send("taken");
    await queue.settle();
    queue.clock.set(queue.clock.now() - LONG);
    backend = hangs;
    queue.send("one");
    await queue.pass(LONG / 2, 5000);
    expect(await queue.deadLetters()).toEqual([]);
    expect((await attempts(queue))[0]![0]).toBeLessThanOrEqual(1);
  });

  it("is the backend's failure while nothing gets through: in a long outage at most one entry loses an attempt", async () => {
    let backend: Backend = async () => undefined;
    const queue = await startQueue({ backend: (...call) => backend(...call) });
    for (const body of numbers(5)) queue.send(body);
    await queue.settle();
    backend = hangs;
    for (const body of numbers(30)) queue.send(`late ${body}`);
    await queue.pass(LONG, 10_000);
    expect(await queue.deadLetters()).toEqual([]);
    expect((await attempts(queue)).filter(([spent]) => spent !== 0).length).toBeLessThanOrEqual(1);
    backend = async () => undefined;
    await queue.pass(300_000, 1000);
    expect(queue.taken).toHaveLength(35);
  });
});

describe("an outage in which everything is answered 500", () => {
  it.each([
    ["500 to everything, 10 consumers", failing, true, 10],
    ["500 to everything, 1 consumer", failing, true, 1],
    ["500 to everything, no breaker", failing, false, 10],
    ["500 to the poison, nothing to others", hangs, true, 10],
  ])(
    "makes no dead letter of good entries, and the bad entry ends when it is over: %s",
    async (_what, outage, hasBreaker, num_consumers) => {
      let isDown = true;
      const queue = await startQueue({
        settings: { circuit_breaker: { enabled: hasBreaker }, sending_queue: { num_consumers } },
        backend: async (...call) => {
          if (call[0].includes("poison")) throw http(500);
          return isDown ? outage(...call) : undefined;
        },
      });
      for (const body of ["poison", ...numbers(320)]) queue.send(body);
      // Several times as long as all attempts of an entry take.
      await queue.pass(40 * 60_000, 10_000);
      expect((await queue.deadLetters()).length).toBeLessThanOrEqual(outage === hangs ? 1 : 0);
      isDown = false;
      for (let i = 0; i < 600; i++) {
        queue.send(`later ${i}`);
        await queue.pass(1000);
      }
      expect(new Set(queue.taken).size).toBe(920);
      expect((await queue.deadLetters()).map(({ items, failure }) => [items, failure?.error.class])).toEqual([
        [1, "HTTP 500"],
      ]);
    },
  );

  it("spends attempts if there are few entries, because all of them may be bad", async () => {
    const queue = await startQueue({ backend: failing });
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(LONG, 10_000);
    expect(new Set((await failures(queue)).map(([, rule]) => rule))).toEqual(new Set(["max_retries"]));
    expect(await queue.deadLetters()).toHaveLength(20);
  });

  it("spends attempts if a handler throws, because the failure is not an answer", async () => {
    const queue = await startQueue({ backend: throws, settings: { circuit_breaker: { enabled: false } } });
    for (const body of numbers(100)) queue.send(body);
    await queue.pass(600_000, 1000);
    expect(await queue.deadLetters()).toHaveLength(100);
  });
});

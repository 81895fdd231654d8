import { describe, expect, it } from "vitest";
import { refusalOfConnection, refusalOfUnreadable } from "../../../../src/runtime/net/otlp/refusals.js";
import { type Backend, down, hangs, http, numbers, type Queue, type QueueOptions, startQueue } from "../queue.js";

const throwing =
  (error: () => Error): Backend =>
  async () => {
    throw error();
  };

/** What a poisonous entry does to its backend. */
const POISON: Record<string, Backend> = {
  "is answered 500": throwing(() => http(500)),
  "is answered 502 by a proxy": throwing(() => http(502)),
  "resets the connection": throwing(() =>
    refusalOfConnection("http://backend", Object.assign(new Error("reset"), { code: "ECONNRESET" })),
  ),
  "gets no answer": hangs,
  "gets a success that cannot be read": throwing(() => refusalOfUnreadable("http://backend", "no end")),
};

const poisoned =
  (backend: Backend): Backend =>
  async (bodies, ...call) =>
    bodies.some((body) => body.startsWith("poison")) ? backend(bodies, ...call) : undefined;

async function start(backend: Backend, { settings = {}, ...options }: QueueOptions = {}) {
  return startQueue({ ...options, backend, settings: { timeout: "2s", ...settings } });
}

/** Sends good entries, ten a second. */
async function sendGood(queue: Queue, seconds: number) {
  const from = queue.taken.length;
  for (let i = 0; i < seconds * 10; i++) {
    queue.send(`good ${from + i}`);
    await queue.pass(100);
  }
}

const isUnique = (texts: readonly string[]) => new Set(texts).size === texts.length;
const outcomes = async (queue: Queue) =>
  (await queue.deadLetters()).map(({ calls, failure }) => [calls, failure?.reason, failure?.error.blame]);

describe.each(Object.entries(POISON))("an entry that %s", (_what, backend) => {
  it.each([1, 10])(
    "is a dead letter after three calls while others get through, with %i consumers",
    async (consumers) => {
      const queue = await start(poisoned(backend), {
        settings: { sending_queue: { num_consumers: consumers }, retry_on_failure: { initial_interval: "3s" } },
      });
      await sendGood(queue, 1);
      queue.send("poison");
      await sendGood(queue, 40);
      expect(await outcomes(queue)).toEqual([[3, "poison", "entry"]]);
      await queue.pass(10_000, 500);
      expect(queue.taken).toHaveLength(410);
      expect(isUnique(queue.taken)).toBe(true);
    },
  );

  it("is found in a merged request, and the good entries of that request are delivered once", async () => {
    const settings = { retry_on_failure: { max_interval: "10s" } };
    const queue = await start(poisoned(backend), { settings, batching: { timeoutMs: 5000 } });
    for (let i = 0; i < 60; i++) {
      for (let j = 0; j < 20; j++) queue.send(i === 2 && j === 7 ? "poison" : `${i} ${j}`);
      await queue.pass(1000, 500);
    }
    await queue.pass(20_000, 500);
    // Answers and timeouts also spend attempts in merged requests.
    expect(await outcomes(queue)).toEqual([[expect.any(Number), expect.stringMatching(/poison|exhausted/), "entry"]]);
    expect(queue.taken).toHaveLength(60 * 20 - 1);
    expect(isUnique(queue.taken)).toBe(true);
    expect(queue.calls.filter((bodies) => bodies.includes("poison")).length).toBeLessThanOrEqual(16);
  });

  it("is no dead letter in an outage, which ends without any other one", async () => {
    let isDown = false;
    const queue = await start(async (...call) => (isDown ? down(...call) : poisoned(backend)(...call)));
    await sendGood(queue, 5);
    isDown = true;
    queue.send("poison");
    await sendGood(queue, 10);
    await queue.pass(3_600_000, 5000);
    expect(await queue.deadLetters()).toEqual([]);
    isDown = false;
    await sendGood(queue, 120);
    await queue.pass(300_000, 1000);
    expect((await queue.deadLetters()).length).toBe(1);
    expect(queue.taken).toHaveLength(1350);
  });
});

describe("poison", () => {
  it.each([
    [{ failures: 2, min_successes: 1 }, 2, "poison"],
    [{ failures: 4 }, 4, "poison"],
    [{ enabled: false }, 6, "retry_exhausted"],
    [{ window: "1ms" }, 6, "retry_exhausted"],
  ])("is what the exporter's retry_on_failure.poison %j says: %i calls, %s", async (poison, calls, reason) => {
    const queue = await start(poisoned(POISON["is answered 500"]!), {
      settings: { retry_on_failure: { initial_interval: "3s", poison } },
    });
    queue.send("poison");
    await sendGood(queue, 120);
    expect(await outcomes(queue)).toEqual([[calls, reason, "entry"]]);
  });

  it("is found though each of its calls takes longer than the window", async () => {
    let queue: Queue;
    const slowProxy = poisoned(async () => {
      await new Promise<void>((resolve) => void queue.clock.after(70_000, resolve));
      throw http(504);
    });
    queue = await start(slowProxy, { settings: { timeout: "90s", retry_on_failure: { initial_interval: "3s" } } });
    queue.send("poison");
    await sendGood(queue, 240);
    expect(await outcomes(queue)).toEqual([[3, "poison", "entry"]]);
  });

  it("is decided by a health check if nothing else is sent any more", async () => {
    let isHealthy = false;
    let checks = 0;
    const queue = await start(poisoned(POISON["resets the connection"]!), {
      settings: { circuit_breaker: { enabled: false } },
      check: async () => {
        checks += 1;
        if (!isHealthy) throw http(503);
      },
    });
    queue.send("poison");
    for (const body of numbers(50)) queue.send(body);
    await queue.pass(10_000, 100);
    expect([await queue.deadLetters(), checks > 0]).toEqual([[], true]);
    isHealthy = true;
    await queue.pass(60_000, 100);
    expect((await outcomes(queue)).map(([, ...rest]) => rest)).toEqual([["poison", "entry"]]);
  });

  it("is never an entry that meets one bad replica in five", async () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const queue = await start(
      async (...call) => (random() < 0.2 ? POISON["resets the connection"]!(...call) : undefined),
      { random, settings: { circuit_breaker: { enabled: false }, sending_queue: { merge_backlog: false } } },
    );
    for (let i = 0; i < 1500; i++) {
      queue.send(`r${i}`);
      if (i % 5 === 0) await queue.pass(100);
    }
    await queue.pass(600_000, 2000);
    expect(await queue.deadLetters()).toEqual([]);
    expect(queue.taken).toHaveLength(1500);
  });
});

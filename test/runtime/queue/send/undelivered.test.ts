import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Refusal } from "../../../../src/plugin.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { type Backend, startQueue } from "../queue.js";

/** Several servers behind one exporter: each has the records that begin with its letter. */
function servers(answers: Record<string, "take" | "down" | "bad" | "busy">): Backend & { taken: string[] } {
  const taken: string[] = [];
  const backend = async (bodies: string[]) => {
    const failing = new Set(bodies.map((body) => body[0]!).filter((name) => answers[name] !== "take"));
    taken.push(...bodies.filter((body) => !failing.has(body[0]!)));
    if (failing.size === 0) return undefined;
    const numbers = [...failing].sort();
    const isAlone = new Set(bodies.map((body) => body[0])).size === 1;
    const answer = answers[numbers[0]!];
    if (isAlone && answer === "bad") throw new Refusal("permanent", "no", { status: "HTTP 400" });
    const marks = Uint16Array.from(bodies, (body) => numbers.indexOf(body[0]!) + 1);
    const isOutage = numbers.every((name) => answers[name] === "down");
    throw new Refusal("transient", "not all", { undelivered: { marks, isOutage } });
  };
  return Object.assign(backend, { taken });
}

const RETRY = { initial_interval: "1s", max_interval: "1s", jitter: "none" };

describe("an entry of which one of several servers does not take its share", () => {
  it("keeps that share alone, and sends nothing twice that was taken", async () => {
    const answers = { a: "take", b: "down", c: "take" } as Record<string, "take" | "down">;
    const backend = servers(answers);
    const queue = await startQueue({ backend, settings: { retry_on_failure: RETRY } });
    queue.send("a1", "b1", "c1", "b2", "a2");
    await queue.settle();
    expect(await queue.pending()).toEqual(["b1", "b2"]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(3);
    answers["b"] = "take";
    await queue.pass(1000);
    expect(queue.calls).toEqual([
      ["a1", "b1", "c1", "b2", "a2"],
      ["b1", "b2"],
    ]);
    expect(backend.taken.toSorted()).toEqual(["a1", "a2", "b1", "b2", "c1"]);
    expect(await queue.pending()).toEqual([]);
    expect(new Set(queue.keys).size).toBe(1);
  });

  it("becomes one entry for each server that failed, so that each has its own fate", async () => {
    const answers = { a: "take", b: "down", c: "bad" } as Record<string, "take" | "down" | "bad">;
    const queue = await startQueue({ backend: servers(answers), settings: { retry_on_failure: RETRY } });
    queue.send("a1", "b1", "c1", "b2");
    await queue.settle();
    expect(queue.store.stats.pending.entries).toBe(2);
    await queue.pass(1000);
    expect((await queue.deadLetters()).map(({ items, failure }) => [items, failure!.reason])).toEqual([
      [1, "permanent"],
    ]);
    expect(await queue.pending()).toEqual(["b1", "b2"]);
  });

  it("waits for a server that is down without spending attempts, and delays no other entry", async () => {
    const answers = { a: "take", b: "down" } as Record<string, "take" | "down">;
    const backend = servers(answers);
    const queue = await startQueue({ backend, settings: { retry_on_failure: { ...RETRY, max_retries: 2 } } });
    for (let i = 0; i < 60; i++) {
      queue.send(`a${i}`, `b${i}`);
      await queue.pass(1000);
    }
    expect(backend.taken).toEqual(Array.from({ length: 60 }, (_, i) => `a${i}`));
    expect(queue.outlet.status().breaker.state).toBe("closed");
    expect(await queue.deadLetters()).toEqual([]);
    answers["b"] = "take";
    await queue.pass(5000, 1000);
    expect(backend.taken.length).toBe(120);
    expect(await queue.pending()).toEqual([]);
  });

  it("is given up like any other when its server is well and refuses it again and again", async () => {
    const queue = await startQueue({
      backend: servers({ a: "take", b: "busy" }),
      settings: { retry_on_failure: { ...RETRY, max_retries: 2 } },
    });
    queue.send("a1", "b1");
    await queue.pass(10_000, 1000);
    const dead = await queue.deadLetters();
    expect(dead.map(({ items, failure }) => [items, failure!.reason])).toEqual([[1, "retry_exhausted"]]);
    expect(await queue.pending()).toEqual([]);
  });

  it("is divided by entries where several were sent as one request", async () => {
    const answers = { a: "take", b: "down" } as Record<string, "take" | "down">;
    const backend = servers(answers);
    const queue = await startQueue({ backend, settings: { retry_on_failure: RETRY }, batching: {} });
    queue.send("a1", "a2");
    queue.send("b1", "a3");
    queue.send("b2");
    await queue.pass(200);
    expect(queue.calls).toEqual([["a1", "a2", "b1", "a3", "b2"]]);
    expect(await queue.pending()).toEqual(["b2", "b1"]);
    answers["b"] = "take";
    await queue.pass(2000, 500);
    expect(backend.taken.toSorted()).toEqual(["a1", "a2", "a3", "b1", "b2"]);
  });

  it("reports the accepted records even if the rest timed out", async () => {
    const taken: string[] = [];
    const queue = await startQueue({
      settings: { retry_on_failure: RETRY, timeout: "5s" },
      backend: (bodies, _batch, abort) => {
        const left = bodies.filter((body) => body.startsWith("b"));
        taken.push(...bodies.filter((body) => body.startsWith("a")));
        if (left.length === 0 || taken.length > 1) return Promise.resolve(undefined);
        const marks = Uint16Array.from(bodies, (body) => (body.startsWith("b") ? 1 : 0));
        return new Promise((_resolve, reject) => {
          const refusal = new Refusal("transient", "late", { undelivered: { marks, isOutage: false } });
          abort.addEventListener("abort", () => reject(refusal));
        });
      },
    });
    queue.send("a1", "b1");
    await queue.pass(5000, 1000);
    expect(await queue.pending()).toEqual(["b1"]);
  });

  it("tells a client that waits for the result when all of it is delivered", async () => {
    const answers = { a: "take", b: "down" } as Record<string, "take" | "down">;
    const queue = await startQueue({
      backend: servers(answers),
      settings: { retry_on_failure: RETRY, sending_queue: { wait_for_result: true } },
    });
    const outcomes = queue.send("a1", "b1");
    await queue.settle();
    expect(outcomes).toEqual([]);
    answers["b"] = "take";
    await queue.pass(1000);
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("is delivered to every server once and lost at none, for any failures", async () => {
    const fate = fc.constantFrom("take" as const, "down" as const);
    const round = fc.record({ a: fate, b: fate, c: fate });
    const entries = fc.array(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 6 }), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(round, { maxLength: 6 }), entries, fc.boolean(), async (rounds, sent, merges) => {
        const answers: Record<string, "take" | "down"> = { a: "take", b: "take", c: "take" };
        const backend = servers(answers);
        const queue = await startQueue({
          ...{ backend, clock: new FakeClock(), settings: { retry_on_failure: RETRY } },
          ...(merges && { batching: {} }),
        });
        const all: string[] = [];
        for (const [i, each] of rounds.entries()) {
          Object.assign(answers, each);
          const names = (sent[i] ?? []).map((server, j) => `${server}${i}.${j}`);
          all.push(...names);
          if (names.length > 0) queue.send(...names);
          await queue.pass(500);
        }
        Object.assign(answers, { a: "take", b: "take", c: "take" });
        await queue.pass(8000, 1000);
        expect(backend.taken.toSorted()).toEqual(all.toSorted());
        expect(queue.store.stats.pending.entries).toBe(0);
      }),
      runs(25),
    );
  });
});

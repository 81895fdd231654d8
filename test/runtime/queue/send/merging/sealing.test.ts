import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOfHttp } from "../../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { runs } from "../../../../support/runs.js";
import { down, http, numbers, type Queue, startQueue } from "../../queue.js";

const batching = { timeoutMs: 1000, minSize: 100 };

describe("a queue whose exporter wants every attempt to send the same", () => {
  it("sends entries that wait together as one entry with an id of its own", async () => {
    const queue = await startQueue({ batching, sealsEntries: true });
    for (const body of numbers(5)) queue.send(body);
    await queue.pass(1000);
    expect(queue.calls).toEqual([numbers(5)]);
    expect(queue.keys[0]).toMatch(/^[0-9a-f]+-\d+$/);
    expect(await queue.pending()).toEqual([]);
    expect(queue.outlet.status().queue).toMatchObject({ inFlight: 0, entries: 0 });
  });

  it("sends the same entries with the same key again, also after a crash, and new ones apart from them", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const clock = new FakeClock();
    const first = await startQueue({ batching, sealsEntries: true, store, clock, backend: down });
    for (const body of numbers(3)) first.send(body);
    await first.pass(1000);
    expect(first.calls).toEqual([numbers(3)]);
    first.outlet.abort();
    await first.outlet.stop();
    const second = await startQueue({ batching, sealsEntries: true, store, clock });
    second.send("new");
    await second.pass(100_000, 500);
    expect(second.calls.toSorted()).toEqual([["new"], numbers(3)]);
    expect(second.keys[second.calls.findIndex((bodies) => bodies.length === 3)]).toBe(first.keys[0]);
  });

  it("keeps the time at which the first record came", async () => {
    const seen: number[] = [];
    const clock = new FakeClock();
    const came = clock.now();
    const queue = await startQueue({ batching, sealsEntries: true, clock });
    const { send } = queue.outlet["outletSettings"].exporter;
    queue.outlet["outletSettings"].exporter.send = (batch, abort, options) => {
      seen.push(options!.delivery!.firstSeenAt);
      return send(batch, abort, options);
    };
    queue.send("a");
    await queue.pass(400);
    queue.send("b");
    await queue.pass(600);
    expect([seen, queue.calls]).toEqual([[came], [["a", "b"]]]);
  });

  it("sends nothing while the entry cannot be stored, and loses nothing", async () => {
    class FullStore extends MemoryStore {
      isFull = true;

      override async exchange(...args: Parameters<MemoryStore["exchange"]>) {
        if (this.isFull) throw new Error("no space left");
        return super.exchange(...args);
      }
    }
    const store = new FullStore({ exporter: "out" });
    const queue = await startQueue({ batching, sealsEntries: true, store });
    for (const body of numbers(4)) queue.send(body);
    await queue.pass(20_000, 1000);
    expect([queue.calls, await queue.pending()]).toEqual([[], numbers(4)]);
    store.isFull = false;
    await queue.pass(20_000, 1000);
    expect([queue.taken.toSorted(), await queue.pending()]).toEqual([numbers(4), []]);
  });

  it("finds its entry again if the write succeeded although it was reported as failed", async () => {
    class DoubtfulStore extends MemoryStore {
      failures = 1;

      override async exchange(...args: Parameters<MemoryStore["exchange"]>) {
        const done = await super.exchange(...args);
        if (this.failures-- > 0) throw new Error("the connection broke");
        return done;
      }
    }
    const store = new DoubtfulStore({ exporter: "out" });
    const queue = await startQueue({ batching, sealsEntries: true, store });
    for (const body of numbers(4)) queue.send(body);
    await queue.pass(60_000, 1000);
    expect([queue.taken, await queue.pending()]).toEqual([numbers(4), []]);
    expect(queue.outlet.status().queue).toMatchObject({ inFlight: 0, entries: 0 });
  });

  it("does not merge entries whose clients wait for the result", async () => {
    const settings = { sending_queue: { wait_for_result: true } };
    const queue = await startQueue({ batching, sealsEntries: true, settings });
    const outcomes = [queue.send("a"), queue.send("b")];
    await queue.pass(2000);
    expect(queue.calls).toEqual([["a"], ["b"]]);
    expect(outcomes.map(([outcome]) => outcome?.ok)).toEqual([true, true]);
  });

  it("stores every accepted record in one object, whatever fails and crashes", async () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant("send" as const), count: fc.integer({ min: 1, max: 5 }) }) },
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 300, 1100, 7000) }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("mood" as const), mood: fc.constantFrom(...MOODS) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30, size: "max" }), fc.boolean(), async (steps, isBatching) => {
        const world = new ObjectWorld(isBatching);
        await world.open();
        for (const each of steps) {
          if (each.do === "send") await world.send(each.count);
          else if (each.do === "pass") await world.queue.pass(each.ms, 300);
          else if (each.do === "mood") world.mood = each.mood;
          else await world.crash();
        }
        world.mood = "ok";
        await world.queue.pass(400_000, 5000);
        expect([...world.objects.values()].flat().toSorted()).toEqual(world.accepted.toSorted());
        expect(await world.queue.pending()).toEqual([]);
      }),
      runs(60),
    );
  });
});

const MOODS = ["ok", "ok", "down", "stored, then 500", "hangs", "stored, then hangs"] as const;

/** A backend that keeps objects by key, and does not always say so. */
class ObjectWorld {
  mood: (typeof MOODS)[number] = "ok";
  readonly objects = new Map<string, readonly string[]>();
  readonly accepted: string[] = [];
  queue!: Queue;
  private readonly store = new MemoryStore({ exporter: "out" });
  private readonly clock = new FakeClock();
  private readonly isBatching: boolean;
  private count = 0;

  constructor(isBatching: boolean) {
    this.isBatching = isBatching;
  }

  async open(): Promise<void> {
    const { store, clock } = this;
    this.queue = await startQueue({
      ...{ store, clock, sealsEntries: true, limits: { entries: 6, waiting: 5, bytes: 300 } },
      ...(this.isBatching && { batching: { timeoutMs: 1000, minSize: 10, maxSize: 20 } }),
      settings: { timeout: "2s", retry_on_failure: { max_retries: 1e6, poison: { enabled: false } } },
      backend: async (bodies, _batch, abort, key) => {
        await new Promise(setImmediate);
        if (abort.aborted) throw new Error("aborted");
        const { mood } = this;
        if (mood === "down") throw http(503);
        if (mood !== "hangs") this.objects.set(key!, bodies);
        if (mood.endsWith("500")) throw refusalOfHttp(500, "it was stored", undefined);
        if (mood.endsWith("hangs"))
          await new Promise((_, reject) => abort.addEventListener("abort", () => reject(new Error("no"))));
        return undefined;
      },
    });
  }

  async send(count: number): Promise<void> {
    const bodies = Array.from({ length: count }, () => `r${this.count++}`);
    const outcomes = this.queue.send(...bodies);
    await this.queue.settle();
    if (outcomes[0]?.ok) this.accepted.push(...bodies);
  }

  async crash(): Promise<void> {
    const { outlet } = this.queue;
    outlet.abort();
    await this.queue.settle();
    await outlet.stop();
    await this.open();
  }
}

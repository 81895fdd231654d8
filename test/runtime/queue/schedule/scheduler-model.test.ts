import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Batching } from "../../../../src/runtime/contract/operators/outlet.js";
import { refusalOfHttp } from "../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { type Queue, startQueue } from "../queue.js";

type Step =
  | { readonly do: "send"; readonly records: number; readonly bad: boolean }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "mood"; readonly status: number }
  | { readonly do: "crash" | "restart" | "pause" | "resume" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("send"), records: fc.integer({ min: 1, max: 5 }), bad: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.constantFrom(1, 700, 5000, 31_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("mood"), status: fc.constantFrom(200, 200, 429, 500, 409, 401, 0) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("crash", "restart", "pause", "resume") }) },
) as fc.Arbitrary<Step>;

/** A backend whose mood changes; 0 hangs, and it never likes records that are called bad. */
class World {
  status = 200;
  readonly store = new MemoryStore({ exporter: "out" });
  readonly clock = new FakeClock();
  readonly accepted: string[] = [];
  readonly delivered = new Map<string, number>();
  queue!: Queue;
  private readonly batching: Partial<Batching> | undefined;
  private count = 0;

  constructor(batching: Partial<Batching> | undefined) {
    this.batching = batching;
  }

  async open(): Promise<void> {
    this.queue = await startQueue({
      store: this.store,
      clock: this.clock,
      limits: { entries: 4, waiting: 3, bytes: 100 },
      ...(this.batching && { batching: this.batching }),
      settings: { timeout: "2s", sending_queue: { num_consumers: 3 }, retry_on_failure: { max_retries: 2 } },
      backend: async (bodies, _batch, abort) => {
        await new Promise(setImmediate);
        if (abort.aborted) throw new Error("aborted");
        if (this.status === 0)
          await new Promise((_resolve, reject) => abort.addEventListener("abort", () => reject(new Error("aborted"))));
        if (this.status !== 200) throw refusalOfHttp(this.status, "mood", this.status === 429 ? 1500 : undefined);
        if (bodies.some((body) => body.startsWith("bad"))) throw refusalOfHttp(400, "bad", undefined);
        for (const body of bodies) this.delivered.set(body, (this.delivered.get(body) ?? 0) + 1);
        return undefined;
      },
    });
  }

  async send(records: number, bad: boolean): Promise<void> {
    const bodies = Array.from({ length: records }, (_, i) => `${bad && i === 0 ? "bad" : "good"}-${this.count++}`);
    const outcomes = this.queue.send(...bodies);
    await this.queue.settle();
    if (outcomes[0]?.ok) this.accepted.push(...bodies);
  }

  async do(step: Step): Promise<void> {
    if (step.do === "send") await this.send(step.records, step.bad);
    else if (step.do === "pass") await this.queue.pass(step.ms, 700);
    else if (step.do === "mood") this.status = step.status;
    else if (step.do === "pause") this.queue.outlet.pause();
    else if (step.do === "resume") this.queue.outlet.resume();
    else {
      const drained = step.do === "restart" ? this.queue.outlet.drain() : undefined;
      if (drained !== undefined) await this.queue.settle();
      // Aborts hanging calls, as the agent does when its time is up.
      if (drained === undefined || this.queue.outlet.status().queue.inFlight > 0) this.queue.outlet.abort();
      await drained;
      await this.queue.outlet.stop();
      await this.open();
    }
  }
}

async function deadBodies(queue: Queue): Promise<string[]> {
  const found = await queue.store.failed(undefined, 1e6, "oldest");
  const texts = await Promise.all(found.map(async ({ ref }) => Buffer.from((await queue.store.payload(ref)).bytes)));
  return texts.flatMap((bytes) => [...bytes.toString("latin1").matchAll(/(?:good|bad)-\d+/g)].map(([body]) => body));
}

/** Undefined sends each entry by itself. */
const batching: fc.Arbitrary<Partial<Batching> | undefined> = fc.option(
  fc.record({
    timeoutMs: fc.constantFrom(0, 500, 3000),
    minSize: fc.constantFrom(2, 6, 8192),
    maxSize: fc.constantFrom(0, 8192),
    sizer: fc.constantFrom("items", "requests"),
    metadataKeys: fc.constantFrom([], ["tenant"]),
  }),
  { nil: undefined },
);

describe("the scheduler", () => {
  it("brings every accepted record to one end: delivered once, dead or pending, through outages and crashes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), batching, async (steps, wanted) => {
        const world = new World(wanted);
        await world.open();
        for (const each of steps) await world.do(each);
        await check(world);
        world.status = 200;
        world.queue.outlet.resume();
        await world.queue.pass(240_000, 700);
        await check(world);
        expect(await world.queue.pending()).toEqual([]);
        expect(world.queue.outlet.status().queue.inFlight).toBe(0);
        expect([...world.delivered.keys()].filter((body) => body.startsWith("bad"))).toEqual([]);
        await world.queue.outlet.drain();
        expect(world.clock.pending).toBe(0);
      }),
      runs(30),
    );
  });
});

async function check({ queue, accepted, delivered }: World): Promise<void> {
  await queue.settle();
  const [pending, dead] = [await queue.pending(), await deadBodies(queue)];
  const ends = [...delivered.keys(), ...pending, ...dead].sort();
  expect(ends).toEqual([...accepted].sort());
  for (const times of delivered.values()) expect(times).toBe(1);
}

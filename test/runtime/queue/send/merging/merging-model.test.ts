import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../../../src/plugin.js";
import type { Batching } from "../../../../../src/runtime/contract/operators/outlet.js";
import { refusalOfHttp } from "../../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { runs } from "../../../../support/runs.js";
import { type Queue, type QueueOptions, startQueue } from "../../queue.js";

const sendingQueue = fc.record({
  num_consumers: fc.constantFrom(1, 2, 10),
  wait_for_result: fc.boolean(),
  max_age: fc.constantFrom("0s", "0s", "6s"),
  on_full: fc.constantFrom("refuse", "drop_oldest", "drop_newest"),
  queue_size: fc.constantFrom(0, 0, 5, 30),
  merge_backlog: fc.boolean(),
});
const retries = fc.record({
  enabled: fc.constantFrom(true, true, false),
  max_retries: fc.constantFrom(0, 1, 2, 5),
  max_elapsed_time: fc.constantFrom("0s", "0s", "2s"),
  rate_limit: fc.record({
    per_second: fc.constantFrom(0.5, 3, 1000),
    burst: fc.constant(1),
    on_excess: fc.constantFrom("delay", "dead_letter"),
  }),
});
const breaker = fc.record({
  enabled: fc.boolean(),
  on_open: fc.constantFrom("hold", "dead_letter"),
  reset_timeout: fc.constant("3s"),
});
const settings = fc.record({
  timeout: fc.constant("2s"),
  sending_queue: sendingQueue,
  retry_on_failure: retries,
  circuit_breaker: breaker,
});
/** Without one, only what waits for a slot is merged. */
const batching = fc.option(
  fc.record({
    timeoutMs: fc.constantFrom(0, 500, 3000),
    minSize: fc.constantFrom(0, 1, 6, 8192),
    maxSize: fc.constantFrom(0, 1, 7, 8192),
    sizer: fc.constantFrom<Batching["sizer"]>("items", "requests", "bytes"),
    metadataKeys: fc.constantFrom([], ["tenant"]),
  }),
  { nil: undefined },
);

const kinds = fc.array(fc.constantFrom("good", "good", "good", "bad", "flaky"), { minLength: 1, maxLength: 9 });
const doing = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: doing("send"), tenant: fc.constantFrom("a", "b", "c"), kinds }) },
  { weight: 3, arbitrary: fc.record({ do: doing("pass"), ms: fc.constantFrom(1, 300, 900, 5000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: doing("mood"), status: fc.constantFrom(200, 200, 200, 429, 500, 409, 401, 207, 0) }),
  },
  { weight: 1, arbitrary: fc.record({ do: doing("crash", "drain", "pause", "resume", "retryNow", "break", "mend") }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A store that cannot write dead letters while it is broken. */
class BreakableStore extends MemoryStore {
  isBroken = false;

  override async fail(...args: Parameters<MemoryStore["fail"]>) {
    if (this.isBroken) throw new Error("no space left");
    return super.fail(...args);
  }
}

/** A backend whose mood changes: 207 rejects one record, 0 hangs. It never takes bad records, and flaky ones only now and then. */
class World {
  status = 200;
  isFlaky = true;
  readonly store = new BreakableStore({ exporter: "out" });
  readonly clock = new FakeClock();
  readonly delivered: string[] = [];
  readonly sent: { readonly bodies: string[]; readonly outcomes: Outcome[] }[] = [];
  queue!: Queue;
  private readonly options: Pick<QueueOptions, "settings" | "sealsEntries"> & { readonly batching?: Batching };
  private count = 0;

  constructor(settings: Record<string, unknown>, wanted: Batching | undefined, sealsEntries: boolean) {
    this.options = { settings, sealsEntries, ...(wanted && { batching: wanted }) };
  }

  async open(): Promise<void> {
    const { store, clock } = this;
    const limits = { entries: 6, waiting: 5, bytes: 300 };
    this.queue = await startQueue({
      ...this.options,
      ...{ store, clock, limits },
      backend: (bodies, _batch, abort) => this.answer(bodies, abort),
    });
  }

  async do(step: Step): Promise<void> {
    const { outlet } = this.queue;
    if (step.do === "send") await this.send(step.tenant, step.kinds);
    else if (step.do === "pass") await this.queue.pass(step.ms, 300);
    else if (step.do === "mood") this.status = step.status;
    else if (step.do === "break" || step.do === "mend") this.store.isBroken = step.do === "break";
    else if (step.do === "crash" || step.do === "drain") {
      await this.stop(step.do === "drain");
      await this.open();
    } else outlet[step.do]();
  }

  async stop(isDraining: boolean): Promise<void> {
    const { outlet } = this.queue;
    const drained = isDraining ? outlet.drain() : undefined;
    await this.queue.settle();
    if (!isDraining || outlet.status().queue.inFlight > 0) outlet.abort();
    await drained;
    await this.queue.settle();
    await outlet.stop();
  }

  async deadBodies(): Promise<string[]> {
    const found = await this.store.failed(undefined, 1e6, "oldest");
    const texts = await Promise.all(found.map(async ({ ref }) => Buffer.from((await this.store.payload(ref)).bytes)));
    return texts.flatMap((bytes) => bytes.toString("latin1").match(/(?:good|bad|flaky)-\d+/g) ?? []);
  }

  private async send(tenant: string, kinds: readonly string[]): Promise<void> {
    const bodies = kinds.map((kind) => `${kind}-${this.count++}`);
    this.sent.push({ bodies, outcomes: this.queue.sendFrom(tenant, ...bodies) });
    await this.queue.settle();
  }

  private async answer(bodies: readonly string[], abort: AbortSignal) {
    await new Promise(setImmediate);
    const { status } = this;
    if (abort.aborted) throw new Error("aborted");
    if (status === 0) await new Promise((_, reject) => abort.addEventListener("abort", () => reject(new Error("no"))));
    if (status >= 400) throw refusalOfHttp(status, "mood", status === 429 ? 1500 : undefined);
    if (bodies.some((body) => body.startsWith("bad"))) throw refusalOfHttp(400, "bad", undefined);
    const isOff = this.isFlaky && Math.floor(this.clock.monotonic() / 700) % 3 !== 0;
    if (isOff && bodies.some((body) => body.startsWith("flaky"))) throw refusalOfHttp(503, "flaky", undefined);
    if (status === 207) return { rejected: 1, message: "some" };
    this.delivered.push(...bodies);
    return undefined;
  }
}

describe("a queue that merges", () => {
  it("answers every client once and brings every accepted record to one end, for all settings", async () => {
    await fc.assert(
      fc.asyncProperty(
        settings,
        batching,
        fc.boolean(),
        fc.array(step, { maxLength: 25, size: "max" }),
        async (own, wanted, sealsEntries, steps) => {
          const world = new World(own, wanted, sealsEntries);
          await world.open();
          for (const each of [...steps, { do: "mend" }, { do: "resume" }] as const) await world.do(each);
          world.status = 200;
          world.isFlaky = false;
          await world.queue.pass(30_000, 700);
          await world.queue.pass(1_000_000, 40_000);
          expect(await world.queue.pending()).toEqual([]);
          expect(world.queue.outlet.status().queue.inFlight).toBe(0);
          const dead = await world.deadBodies();
          await world.stop(true);
          expect(world.sent.map(({ outcomes }) => outcomes.length)).toEqual(world.sent.map(() => 1));
          const ends = [...world.delivered, ...dead];
          expect(ends.toSorted()).toEqual([...new Set(ends)].toSorted());
          const accepted = world.sent.flatMap(({ bodies, outcomes }) => (outcomes[0]!.ok ? bodies : []));
          expect(accepted.filter((body) => !ends.includes(body))).toEqual([]);
          expect(world.delivered.filter((body) => body.startsWith("bad"))).toEqual([]);
          expect(world.clock.pending).toBe(0);
        },
      ),
      runs(30),
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOfConnection, refusalOfHttp } from "../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { type Queue, startQueue } from "../queue.js";

/** Answers of a backend that is down. */
const OUTAGES = {
  refused: () => connectionError("ECONNREFUSED"),
  reset: () => connectionError("ECONNRESET"),
  dns: () => connectionError("ENOTFOUND"),
  unavailable: () => refusalOfHttp(503, "no", undefined),
  gateway: () => refusalOfHttp(502, "no", undefined),
  throttled: () => refusalOfHttp(429, "no", 2000),
} as const;

/** Answers of a backend that is up, to a poisonous entry. */
const POISON = {
  answered: () => refusalOfHttp(500, "no", undefined),
  thrown: () => new Error("the handler does not know this"),
} as const;

function connectionError(code: string): Error {
  return refusalOfConnection("http://backend", Object.assign(new Error(code), { code }));
}

type Step =
  | { readonly do: "send"; readonly poison: keyof typeof POISON | undefined }
  | { readonly do: "fall"; readonly outage: keyof typeof OUTAGES }
  | { readonly do: "recover" }
  | { readonly do: "restart"; readonly isKill: boolean }
  | { readonly do: "wait"; readonly ms: number };

const names = <T extends object>(of: T) => fc.constantFrom(...(Object.keys(of) as (keyof T)[]));

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send" as const), poison: fc.constant(undefined) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("send" as const), poison: names(POISON) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("fall" as const), outage: names(OUTAGES) }) },
  { weight: 2, arbitrary: fc.constant({ do: "recover" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), isKill: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 10, max: 90_000 }) }) },
);

const config = fc.record({
  hasBreaker: fc.boolean(),
  isMerging: fc.boolean(),
  consumers: fc.constantFrom(1, 3, 10),
  maxRetries: fc.constantFrom(0, 1, 5),
  random: fc.constantFrom(0.01, 0.5, 0.99),
});

const MAX_STEP_MS = 2000;

/** A queue and its backend, which falls, recovers and is restarted as told. */
async function play(steps: readonly Step[], options: typeof config extends fc.Arbitrary<infer T> ? T : never) {
  const clock = new FakeClock();
  const store = new MemoryStore({ exporter: "out" });
  let outage: keyof typeof OUTAGES | undefined;
  let [sent, restarts] = [0, 0];
  /** Calls that a poison was in while the backend was there. */
  const ownCalls = new Map<string, number>();
  const taken: string[] = [];
  const backend = async (bodies: string[]) => {
    if (outage !== undefined) throw OUTAGES[outage]();
    const poison = bodies.find((body) => body.includes("poison"));
    for (const body of bodies) if (body.includes("poison")) ownCalls.set(body, (ownCalls.get(body) ?? 0) + 1);
    if (poison !== undefined) throw POISON[poison.split(" ")[1] as keyof typeof POISON]();
    taken.push(...bodies);
    return undefined;
  };
  // Without retries the first attempt is made in company, and all of it is given up: that is documented.
  const isMerging = options.isMerging && options.maxRetries > 0;
  const settings = {
    // The clock moves by more than a call may take before the backend, which answers at once, is heard.
    timeout: "0s",
    circuit_breaker: { enabled: options.hasBreaker },
    retry_on_failure: { max_retries: options.maxRetries, poison: { enabled: false } },
    sending_queue: { num_consumers: options.consumers },
    replay: { ramp: "0s" },
  };
  const start = () =>
    startQueue({ clock, store, settings, backend, random: () => options.random, ...(isMerging && { batching: {} }) });
  let queue: Queue = await start();
  const wait = async (ms: number) => queue.pass(ms, Math.max(MAX_STEP_MS, ms / 10));
  const expectGoodOnesAlive = async () => {
    const dead = await queue.deadLetters();
    expect(dead.filter(({ history }) => history.at(-1)?.blame === "backend")).toEqual([]);
    for (const { id } of dead) expect(await textOf(store, id)).toContain("poison");
  };
  for (const each of steps) {
    if (each.do === "send") {
      sent += 1;
      queue.send(each.poison === undefined ? `good ${sent}` : `poison ${each.poison} ${sent}`);
    }
    if (each.do === "fall") outage = each.outage;
    if (each.do === "recover") outage = undefined;
    if (each.do === "wait") await wait(each.ms);
    if (each.do === "restart") {
      await queue.settle();
      queue.outlet.abort();
      await (each.isKill ? store.close() : queue.outlet.stop());
      restarts += 1;
      queue = await start();
    }
    await queue.settle();
    await expectGoodOnesAlive();
  }
  return { queue, store, ownCalls, taken, restarts, wait, recover: () => (outage = undefined) };
}

async function textOf(store: MemoryStore, id: string): Promise<string> {
  const { ref } = (await store.find(id))!;
  const batch = await store.payload(ref);
  return Buffer.from(batch.bytes).toString("latin1");
}

describe("over every interleaving of outage, recovery, restart and poison", () => {
  it("no entry is given up for failures of the backend alone, every poison is after a bounded number of calls, and nothing is lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), config, async (steps, options) => {
        const played = await play(steps, options);
        const { queue, store, ownCalls, taken, restarts, wait, recover } = played;
        recover();
        for (let i = 0; i < 20 && store.stats.pending.entries > 0; i++) await wait(60_000);
        const all = steps.flatMap((each) => (each.do === "send" ? [each.poison] : []));
        const dead = await queue.deadLetters();
        expect(store.stats.pending.entries).toBe(0);
        expect(dead).toHaveLength(all.filter((poison) => poison !== undefined).length);
        expect(new Set(dead.map(({ failure }) => failure?.rule))).toEqual(
          new Set(dead.length > 0 ? ["max_retries"] : []),
        );
        expect(new Set(taken).size).toBe(all.filter((poison) => poison === undefined).length);
        for (const calls of ownCalls.values()) expect(calls).toBeLessThanOrEqual(options.maxRetries + 1 + restarts);
      }),
      runs(100),
    );
  });
});

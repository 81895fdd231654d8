import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Batch } from "../../../../src/plugin.js";
import { directOutlet } from "../../../../src/runtime/contract/calls/direct-outlet.js";
import { Refusal } from "../../../../src/runtime/contract/errors/refusal.js";
import { noMetrics, silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { Batching } from "../../../../src/runtime/contract/operators/outlet.js";
import { owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

const batching = fc.record({
  timeoutMs: fc.constantFrom(0, 100, 1e12),
  minSize: fc.constantFrom(0, 4, 8192),
  maxSize: fc.constantFrom(0, 1, 3),
  sizer: fc.constantFrom<Batching["sizer"]>("items", "requests"),
  metadataKeys: fc.constantFrom([], ["tenant"]),
});

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      tenant: fc.constantFrom("a", "b"),
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("answer" as const, "refuse" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("throw" as const, "work" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 100, 3000) }) },
);

/** An exporter whose calls are answered by hand; it may throw at once instead. */
function startOutlet(wanted: Batching) {
  const clock = new FakeClock();
  const open: { readonly batch: Batch; readonly end: (error?: Error) => void }[] = [];
  const world = { clock, open, throws: false, taken: [] as string[] };
  const send = (batch: Batch, abort: AbortSignal) => {
    if (world.throws) throw new Error("at once");
    return new Promise<undefined>((resolve, reject) => {
      const end = (error?: Error) => {
        if (error !== undefined) return reject(error);
        world.taken.push(...bodies(batch));
        resolve(undefined);
      };
      abort.addEventListener("abort", () => reject(abort.reason));
      open.push({ batch, end });
    });
  };
  const settings = { id: "out", exporter: { send }, settings: { timeout: 2000 }, typeDefaults: {} };
  const services = { clock, random: Math.random, logger: silentLogger, metrics: noMetrics };
  const outlet = directOutlet({ ...settings, ...services, batching: new Map([["logs", wanted]]) });
  return { outlet, world };
}

const settle = async () => {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
};

describe("merging while the exporter is busy", () => {
  it.each(["drain", "abort"] as const)(
    "tells every sender once, as it was, and leaves nothing behind (%s)",
    async (end) => {
      await fc.assert(
        fc.asyncProperty(batching, fc.array(step, { maxLength: 40, size: "max" }), async (wanted, steps) => {
          const { outlet, world } = startOutlet(wanted);
          const sent: { readonly texts: string[]; readonly outcomes: { readonly ok: boolean }[] }[] = [];
          for (const each of steps) {
            if (each.do === "send") {
              const texts = Array.from({ length: each.count }, (_, i) => `${sent.length}.${i}`);
              const origin = { metadata: new Map([["tenant", [each.tenant]]]) };
              const { delivery, outcomes } = owed(logs(...texts), origin);
              sent.push({ texts, outcomes });
              outlet.accept(delivery, "logs");
            } else if (each.do === "pass") world.clock.advance(each.ms);
            else if (each.do === "answer") world.open.shift()?.end();
            else if (each.do === "refuse") world.open.shift()?.end(new Refusal("transient", "no"));
            else world.throws = each.do === "throw";
            await settle();
            const waits = sent.filter(({ outcomes }) => outcomes.length === 0).length;
            if (waits > 0) expect(world.open.length).toBeGreaterThan(0);
          }
          const ended = end === "drain" ? outlet.drain() : outlet.abort();
          // Each of forty senders may have sent five records, each a request of its own.
          for (let i = 0; i < 500 && world.open.length > 0; i++) {
            world.open.shift()!.end();
            await settle();
          }
          await ended;
          await settle();
          expect(sent.map(({ outcomes }) => outcomes.length)).toEqual(sent.map(() => 1));
          expect(new Set(world.taken).size).toBe(world.taken.length);
          for (const { texts, outcomes } of sent) {
            if (outcomes[0]!.ok) expect(world.taken).toEqual(expect.arrayContaining(texts));
          }
          expect(world.clock.pending).toBe(0);
        }),
        runs(40),
      );
    },
  );
});

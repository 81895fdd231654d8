import fc from "fast-check";
import { filter, map, Observable, type OperatorFunction } from "rxjs";
import { describe, expect, it } from "vitest";
import { collectGarbage } from "../../../src/agent/cli/v8.js";
import {
  Batch,
  Batcher,
  Delivery,
  type Exporter,
  eachBatch,
  type Outcome,
  type Processor,
  Refusal,
  splitBatch,
  statefulProcessor,
} from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { TEST_LIMIT_MS } from "../../support/limits.js";
import { sketch } from "../../support/plan.js";
import { runs } from "../../support/runs.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

/**
 * The law of the pipeline: whatever the components do, every batch handed in is answered exactly once, and what was
 * acknowledged reached every exporter of the pipeline or was dropped on purpose.
 */

const BEHAVIOURS = [
  "pass",
  "slow",
  "throw",
  "reject",
  "drop",
  "split",
  "batch",
  "die",
  "finish",
  "forget",
  "hold",
  "let go",
] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

const behaviour = fc.constantFrom<Behaviour>(...BEHAVIOURS);

type Ending = "ok" | "slow" | "transient" | "permanent" | "crash" | "sometimes";
const ending = fc.constantFrom<Ending>("ok", "slow", "transient", "permanent", "crash", "sometimes");

const pause = (turns: number) =>
  new Promise<void>((resolve) => {
    const step = (left: number) => (left === 0 ? resolve() : void setImmediate(() => step(left - 1)));
    step(turns);
  });

function processorOf(kind: Behaviour, dropped: Set<string>): () => Processor {
  const isEvery = (n: number) => {
    let count = 0;
    return () => ++count % n === 0;
  };
  switch (kind) {
    case "pass":
      return () => eachBatch((batch) => batch);
    case "slow":
      return () => eachBatch(async (batch) => pause(2).then(() => batch));
    case "throw": {
      const now = isEvery(2);
      return () =>
        eachBatch((batch) => {
          if (now()) throw new Error("thrown");
          return batch;
        });
    }
    case "reject": {
      const now = isEvery(2);
      return () => eachBatch(async (batch) => (now() ? Promise.reject(new Error("rejected")) : batch));
    }
    case "drop": {
      const now = isEvery(3);
      return () =>
        eachBatch((batch) => {
          if (!now()) return batch;
          for (const body of bodies(batch)) dropped.add(body);
          return null;
        });
    }
    case "split":
      return () => eachBatch((batch) => splitBatch(batch, { records: 1 }));
    case "batch":
      return () =>
        statefulProcessor((out) => {
          const settings = { timeoutMs: 1, minSize: 5, maxSize: 0, sizer: "items" } as const;
          const batcher = new Batcher(settings, systemClock, (delivery) => out.next(delivery));
          return {
            next: (delivery) => batcher.add(delivery),
            drain: () => batcher.flush(),
            abort: () => void batcher.takeWaiting(),
          };
        });
    case "die": {
      const now = isEvery(3);
      return () =>
        map((delivery: Delivery) => {
          if (now()) throw new Error("the operator died");
          return delivery;
        }) as OperatorFunction<Delivery, Delivery>;
    }
    case "finish": {
      return () => (source) =>
        new Observable<Delivery>((out) => {
          let left = 3;
          return source.subscribe({
            next(delivery) {
              out.next(delivery);
              if (--left === 0) out.complete();
            },
            complete: () => out.complete(),
          });
        });
    }
    case "forget":
      return () => eachBatch((() => undefined) as never);
    case "hold":
      return () => holdForAMoment(isEvery(4));
    case "let go": {
      const now = isEvery(3);
      return () => filter<Delivery>(() => !now());
    }
  }
}

/** Merges what comes within a few turns; on some deliveries it throws. */
function holdForAMoment(throwsNow: () => boolean): Processor {
  return statefulProcessor((out) => {
    let held: Delivery[] = [];
    const flush = () => {
      const ready = held;
      held = [];
      if (ready.length > 0) out.next(Delivery.merge(ready, Batch.merge(ready.map(({ batch }) => batch))));
    };
    return {
      next(delivery) {
        if (throwsNow()) throw new Error("thrown while it holds others");
        held.push(delivery);
        if (held.length === 1) void pause(3).then(flush);
      },
      drain: () => pause(1).then(flush),
      abort: () => (held = []),
    };
  });
}

function exporterOf(kind: Ending, got: string[]): Exporter {
  let count = 0;
  return {
    async send(batch: Batch, abort) {
      if (kind === "slow") await Promise.race([pause(3), aborted(abort)]);
      if (kind === "transient") throw new Refusal("transient", "not now");
      if (kind === "permanent") throw new Refusal("permanent", "never");
      if (kind === "crash") throw new TypeError("bug");
      if (kind === "sometimes" && ++count % 2 === 0) throw new Refusal("throttled", "later", { retryAfterMs: 5 });
      got.push(...bodies(batch));
      return undefined;
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

/** A connector that offers what was refused once more. */
const tryAgain: Processor = (source) =>
  new Observable<Delivery>((out) => {
    const offer = (delivery: Delivery) =>
      delivery.catchRefusal((again, refusal) => (out.closed ? again.refuse(refusal) : out.next(again)));
    return source.subscribe({ next: (delivery) => out.next(offer(delivery)), complete: () => out.complete() });
  });

/** Lost deliveries are noticed when they are garbage-collected. */
async function collectUntil(done: Promise<unknown>): Promise<void> {
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  for (await pause(5); !isDone; await pause(5)) collectGarbage();
}

const scenario = fc.record({
  arePlugins: fc.boolean(),
  first: fc.array(behaviour, { maxLength: 3 }),
  second: fc.array(behaviour, { maxLength: 2 }),
  exporters: fc.array(ending, { minLength: 1, maxLength: 3 }),
  link: fc.constantFrom("none", "plain", "again"),
  sends: fc.array(fc.record({ records: fc.integer({ min: 0, max: 4 }), wait: fc.integer({ min: 0, max: 2 }) }), {
    minLength: 1,
    maxLength: 12,
  }),
  limit: fc.constantFrom(60, 1 << 20),
  end: fc.constantFrom("wait", "drain", "abort", "abort while draining"),
});

describe("every delivery", () => {
  it("is settled exactly once, and acknowledged data arrived everywhere or was dropped on purpose", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (s) => {
        const dropped = new Set<string>();
        const received = s.exporters.map(() => [] as string[]);
        const exporters = Object.fromEntries(s.exporters.map((kind, i) => [`e${i}`, exporterOf(kind, received[i]!)]));
        const names = Object.keys(exporters);
        const all = [...s.first, ...s.second];
        const { graph, intake, close } = sketch(
          {
            processors: Object.fromEntries(all.map((kind, i) => [`p${i}`, processorOf(kind, dropped)])),
            connectors: s.link === "none" ? {} : { link: () => (s.link === "plain" ? (source) => source : tryAgain) },
            exporters,
            pipelines:
              s.link !== "none"
                ? {
                    "logs/in": { receivers: ["r"], processors: s.first.map((_, i) => `p${i}`), exporters: ["link"] },
                    "logs/a": {
                      receivers: ["link"],
                      processors: s.second.map((_, i) => `p${i + s.first.length}`),
                      exporters: names,
                    },
                  }
                : { logs: { receivers: ["r"], processors: all.map((_, i) => `p${i}`), exporters: names } },
          },
          { limit: s.limit, plugins: s.arePlugins || all.includes("let go") },
        );
        let number = 0;
        const answers: Promise<void>[] = [];
        const sent: { outcome: Outcome | undefined; times: number; bodies: string[] }[] = [];
        for (const { records, wait } of s.sends) {
          const entry = {
            outcome: undefined as Outcome | undefined,
            times: 0,
            bodies: Array.from({ length: records }, () => `r${number++}`),
          };
          sent.push(entry);
          const answered = intake("r")
            .accept(logs(...entry.bodies))
            .then((outcome) => {
              entry.outcome = outcome;
              entry.times++;
            });
          answers.push(answered);
          await pause(wait);
        }
        if (s.end === "wait") {
          const answered = Promise.all(answers);
          if (all.includes("let go")) await collectUntil(answered);
          await answered;
        }
        close();
        if (s.end === "abort") graph.abort();
        const drained = graph.drain();
        if (s.end === "abort while draining") graph.abort();
        await drained;
        await pause(1);

        for (const entry of sent) {
          expect(entry.times).toBe(1);
          if (!entry.outcome?.ok) continue;
          for (const body of entry.bodies) {
            if (dropped.has(body)) continue;
            for (const got of received) expect(got).toContain(body);
          }
        }
        expect(graph.budget.used).toBe(0);
      }),
      { ...runs(120), timeout: TEST_LIMIT_MS },
    );
  });
});

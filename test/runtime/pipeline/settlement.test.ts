import fc from "fast-check";
import { map, Observable, type OperatorFunction } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type Batch,
  type Delivery,
  type Exporter,
  eachBatch,
  type Outcome,
  type Processor,
  Refusal,
  splitBatch,
} from "../../../src/plugin.js";
import { batch as batchProcessor } from "../../../src/processors/batch.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import { silentLogger } from "../../../src/runtime/kit.js";
import { sketch } from "../../support/plan.js";
import { bodies, logs } from "../../support/telemetry/batches.js";

/**
 * The law of the pipeline: whatever the components do, every batch handed in is answered exactly once, and what was
 * acknowledged reached every exporter of the pipeline or was dropped on purpose.
 */

type Behaviour = "pass" | "slow" | "throw" | "reject" | "drop" | "split" | "batch" | "die" | "finish" | "forget";

const behaviour = fc.constantFrom<Behaviour>(
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
);

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
        batchProcessor.create(batchProcessor.schema.parse({ timeout: "1ms", send_batch_size: 5 }), {
          id: "batch",
          kind: "processor",
          signal: "logs",
          pipeline: "logs",
          logger: silentLogger,
          metrics: noMetrics,
          clock: systemClock,
          random: Math.random,
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
  }
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

const scenario = fc.record({
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
  it("is settled exactly once, and what is acknowledged arrived everywhere or was dropped on purpose", async () => {
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
          { limit: s.limit },
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
        if (s.end === "wait") await Promise.all(answers);
        close();
        if (s.end === "abort") for (const run of graph.runningPipelines) run.abort();
        const drained = (async () => {
          for (const run of graph.runningPipelines) await run.drain();
          for (const { outlet } of graph.exporters) await outlet.drain();
        })();
        if (s.end === "abort while draining") {
          for (const run of graph.runningPipelines) run.abort();
          for (const { outlet } of graph.exporters) outlet.abort();
        }
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
      { numRuns: Number(process.env["SLUICE_FUZZ_RUNS"] ?? 300), timeout: 60_000 },
    );
  });
});

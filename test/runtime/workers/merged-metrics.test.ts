import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MetricRegistry } from "../../../src/runtime/host/self-telemetry/metric-registry.js";
import { MergedMetrics, PARENT } from "../../../src/runtime/workers/metrics/merged-metrics.js";
import { WorkerMetrics } from "../../../src/runtime/workers/metrics/metrics-snapshot.js";

const description = { description: "A number." };
const boundaries = [1, 10, 100];

function process() {
  const registry = new MetricRegistry();
  return { registry, metrics: new WorkerMetrics(registry) };
}

/** The series of a metric in a registry: attributes as text, and value. */
function read(registry: MetricRegistry, name: string): Record<string, number> {
  const family = [...registry.all()].find((each) => each.name === name);
  if (family === undefined || family.kind === "histogram") return {};
  return Object.fromEntries([...family.series.values()].map((one) => [JSON.stringify(one.attributes), one.read()]));
}

describe("the metrics of several workers", () => {
  it("counts everything that the workers have counted, also when they are started again", () => {
    const step = fc.record({
      worker: fc.integer({ min: 1, max: 3 }),
      does: fc.constantFrom("count", "restart", "snapshot"),
      add: fc.nat(100),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const parent = new MetricRegistry();
        const merged = new MergedMetrics(parent, false);
        const workers = new Map([1, 2, 3].map((worker) => [worker, process()]));
        let total = 0;
        const take = (worker: number) => merged.take(worker, workers.get(worker)!.metrics.snapshot());
        for (const { worker, does, add } of steps) {
          if (does === "count") {
            workers.get(worker)!.registry.counter("records", description, { exporter: "a" }).add(add);
            total += add;
          } else if (does === "restart") {
            take(worker); // the last figures before its end
            merged.forget(worker);
            workers.set(worker, process());
          } else take(worker);
        }
        for (const worker of workers.keys()) take(worker);
        const expected = parent.read("records", { exporter: "a" }) ?? 0;
        expect(expected).toBe(total);
      }),
    );
  });

  it("keeps number, sum and buckets of the values of a histogram", () => {
    const values = fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { maxLength: 50 });
    fc.assert(
      fc.property(values, values, (first, second) => {
        const parent = process();
        const merged = new MergedMetrics(parent.registry, false);
        for (const [index, recorded] of [first, second].entries()) {
          const worker = process();
          const histogram = worker.registry.histogram("delay", { ...description, boundaries });
          merged.take(index + 1, worker.metrics.snapshot());
          for (const value of recorded) histogram.record(value);
          merged.take(index + 1, worker.metrics.snapshot());
        }
        const all = [...first, ...second];
        const [family] = parent.metrics.snapshot().families;
        const buckets = family?.series[0]?.buckets ?? [];
        const inBucket = (value: number) => boundaries.findIndex((boundary) => value <= boundary) % 4;
        for (const [index, { count }] of buckets.entries())
          expect(count).toBe(all.filter((value) => (inBucket(value) < 0 ? 3 : inBucket(value)) === index).length);
        const sum = buckets.reduce((total, bucket) => total + bucket.sum, 0);
        expect(sum).toBeCloseTo(
          all.reduce((total, value) => total + value, 0),
          6,
        );
      }),
    );
  });

  it("adds up sizes, takes the worst of states, and drops the gauges of a worker that is gone", () => {
    const parent = new MetricRegistry();
    const merged = new MergedMetrics(parent, false);
    for (const [worker, size, state] of [
      [1, 10, 0],
      [2, 5, 2],
    ] as const) {
      const { registry, metrics } = process();
      registry.gauge("otelcol_exporter_queue_size", description, () => size, { exporter: "a" });
      registry.gauge("sluice_breaker_state", description, () => state, { exporter: "a" });
      merged.take(worker, metrics.snapshot());
    }
    const key = '{"exporter":"a"}';
    expect(read(parent, "otelcol_exporter_queue_size")).toEqual({ [key]: 15 });
    expect(read(parent, "sluice_breaker_state")).toEqual({ [key]: 2 });
    merged.forget(2);
    expect(read(parent, "otelcol_exporter_queue_size")).toEqual({ [key]: 10 });
    expect(read(parent, "sluice_breaker_state")).toEqual({ [key]: 0 });
    merged.forget(1);
    expect(read(parent, "otelcol_exporter_queue_size")).toEqual({});
  });

  it("keeps the series of each worker apart at the level detailed", () => {
    const parent = new MetricRegistry();
    const merged = new MergedMetrics(parent, true);
    for (const worker of [PARENT, 1, 2]) {
      const { registry, metrics } = process();
      registry.counter("records", description).add(worker + 1);
      merged.take(worker, metrics.snapshot());
    }
    expect(read(parent, "records")).toEqual({
      '{"worker":"parent"}': 1,
      '{"worker":"1"}': 2,
      '{"worker":"2"}': 3,
    });
  });

  it("shows the uptime of the parent only", () => {
    const parent = new MetricRegistry();
    const merged = new MergedMetrics(parent, false);
    for (const worker of [PARENT, 1]) {
      const { registry, metrics } = process();
      registry.observedCounter("otelcol_process_uptime", description, () => 7);
      registry.observedCounter("otelcol_process_cpu_seconds", description, () => 2);
      merged.take(worker, metrics.snapshot());
    }
    expect(parent.read("otelcol_process_uptime", {})).toBe(7);
    expect(parent.read("otelcol_process_cpu_seconds", {})).toBe(4);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import { isEmptyPlan, type ReloadPlan, reloadPlan } from "../../../../src/runtime/host/reload/reload-plan.js";
import { resolve } from "../../../support/agent.js";
import { runs } from "../../../support/runs.js";

interface Sketch {
  readonly receivers: readonly string[];
  readonly processors: readonly string[];
  readonly exporters: readonly string[];
  readonly note: number;
  readonly consumers: number;
}

const configOf = ({ receivers, processors, exporters, note, consumers }: Sketch) =>
  resolve(
    `
receivers: {${receivers.map((id, i) => `otlp/${id}: {protocols: {http: {endpoint: "127.0.0.1:${4318 + i}"}}}`).join(", ")}}
processors: {${processors.map((id) => `attributes/${id}: {actions: [{key: k, value: ${id === "p" ? note : 0}, action: insert}]}`).join(", ")}}
exporters: {${exporters.map((id) => `otlp_http/${id}: {endpoint: "http://127.0.0.1:1", sending_queue: {num_consumers: ${consumers}}}`).join(", ")}}
extensions: {reliability: {directory: ./data/test}}
service:
  extensions: [reliability]
  pipelines:
    logs:
      receivers: [${receivers.map((id) => `otlp/${id}`).join(", ")}]
      processors: [${processors.map((id) => `attributes/${id}`).join(", ")}]
      exporters: [${exporters.map((id) => `otlp_http/${id}`).join(", ")}]
`,
    [reliability],
  );

const sketch: fc.Arbitrary<Sketch> = fc.record({
  receivers: fc.subarray(["a", "b", "c"], { minLength: 1 }),
  processors: fc.shuffledSubarray(["p", "q"]),
  exporters: fc.subarray(["x", "y"], { minLength: 1 }),
  note: fc.integer({ min: 0, max: 2 }),
  consumers: fc.integer({ min: 1, max: 2 }),
});

const ids = ({ steps }: ReloadPlan, action: string) =>
  steps.filter((step) => step.action === action).map(({ kind, id }) => `${kind} ${id}`);

describe("the plan of a reload", () => {
  it("is empty from a config to itself, and names every component once", () => {
    fc.assert(
      fc.property(sketch, (one) => {
        const plan = reloadPlan(configOf(one), configOf(one));
        expect(isEmptyPlan(plan)).toBe(true);
        const named = plan.steps.map(({ kind, id, pipeline }) => `${kind} ${id} ${pipeline}`);
        expect(new Set(named).size).toBe(named.length);
      }),
      runs(30),
    );
  });

  it("adds on the way there what it removes on the way back, and replaces the same both ways", () => {
    fc.assert(
      fc.property(sketch, sketch, (one, other) => {
        const there = reloadPlan(configOf(one), configOf(other));
        const back = reloadPlan(configOf(other), configOf(one));
        expect(ids(there, "add").sort()).toEqual(ids(back, "remove").sort());
        expect(ids(there, "remove").sort()).toEqual(ids(back, "add").sort());
        expect(ids(there, "replace").sort()).toEqual(ids(back, "replace").sort());
        for (const step of there.steps) expect(step.reasons.length > 0).toBe(step.action === "replace");
      }),
      runs(60),
    );
  });

  const FIRST: Sketch = { receivers: ["a"], processors: ["p"], exporters: ["x"], note: 0, consumers: 1 };

  it("names the keys that have changed, and never their values", () => {
    const { steps } = reloadPlan(configOf(FIRST), configOf({ ...FIRST, note: 2 }));
    expect(steps.filter(({ action }) => action !== "keep")).toEqual([
      { kind: "processor", id: "attributes/p", pipeline: "logs", action: "replace", reasons: ["actions changed"] },
    ]);
  });

  it("keeps the queue of an exporter unless the settings of the queue have changed", () => {
    const { steps, kept } = reloadPlan(configOf(FIRST), configOf({ ...FIRST, consumers: 2 }));
    expect(steps.find(({ kind }) => kind === "exporter")).toMatchObject({ action: "replace", reopensQueue: true });
    expect(kept.has("exporter:otlp_http/x")).toBe(false);
  });

  it.each([
    ["service.shutdown_timeout", "shutdown_timeout: 3s", "{}"],
    ["service.intake.max_bytes", "intake: {max_bytes: 1MiB}", "{}"],
    ["extensions.reliability.drain_removed", "", "{drain_removed: true}"],
  ])("is not empty if only %s changes", (key, service, extension) => {
    const config = (more: string, queues: string) =>
      resolve(
        `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:4318"}}}}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:1"}}
extensions: {reliability: ${queues}}
service: {extensions: [reliability], pipelines: {logs: {receivers: [otlp], exporters: [otlp_http]}}, ${more}}
`,
        [reliability],
      );
    const plan = reloadPlan(config("", "{}"), config(service, extension));
    expect(plan).toMatchObject({ settings: [key], afterRestart: [], refused: [] });
    expect(isEmptyPlan(plan)).toBe(false);
  });

  it("refuses another directory of the queues", () => {
    const other = resolve(
      `
receivers: {otlp/a: {protocols: {http: {endpoint: "127.0.0.1:4318"}}}}
exporters: {otlp_http/x: {endpoint: "http://127.0.0.1:1"}}
extensions: {reliability: {directory: ./data/elsewhere}}
service: {extensions: [reliability], pipelines: {logs: {receivers: [otlp/a], exporters: [otlp_http/x]}}}
`,
      [reliability],
    );
    expect(reloadPlan(configOf(FIRST), other).refused).toEqual(["extensions.reliability.directory"]);
  });
});

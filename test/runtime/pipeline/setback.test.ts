import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  Batch,
  batchFromJson,
  deadLetter,
  defineExporter,
  defineProcessor,
  eachBatch,
  type Logger,
  type Processor,
  type Setback,
  SIGNALS,
  splitBatch,
} from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { type Sketch, sketch } from "../../support/plan.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { cleanUp, startWrapped } from "../queue/agent.js";

afterEach(cleanUp);

const setback: Setback = { reason: "rejected", category: "schema", code: "TEST_BAD", message: "not like that" };

/** Takes records whose body begins with "bad" out of the pipeline. */
function rejecting(own: Setback = setback): Processor {
  return eachBatch((batch) =>
    splitBatch(batch, { records: 1 }).map((one) => (bodies(one)[0]!.startsWith("bad") ? deadLetter(one, own) : one)),
  );
}

const schema = z.unknown();
const summary = "test";

function parts(own?: Setback) {
  const seen: string[] = [];
  const sent: string[] = [];
  const reject = defineProcessor({ type: "reject", summary, schema, signals: SIGNALS, create: () => rejecting(own) });
  const create = () =>
    eachBatch((batch) => {
      seen.push(...bodies(batch));
      return batch;
    });
  const watch = defineProcessor({ type: "watch", summary, schema, signals: SIGNALS, create });
  const out = defineExporter({
    type: "out",
    summary,
    schema,
    signals: SIGNALS,
    create: () => ({ send: async (batch) => void sent.push(...bodies(batch)) }),
  });
  return { seen, sent, options: { components: [reject, watch, out], processors: { reject: {}, watch: {} } } };
}

function severe(body: string): Batch {
  const logRecords = [{ severityNumber: 17, body: { stringValue: body } }];
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

describe("what a processor takes out of a pipeline", () => {
  it("is kept as a dead letter of every exporter, bypasses the following processors, and is accepted", async () => {
    const { seen, sent, options } = parts();
    const { agent, send } = await startWrapped("  out: {}\n  out/second: {}", options);
    expect(await send("good 1", "bad 2", "good 3")).toMatchObject({ ok: true });
    const { entries } = await agent.admin!.listDeadLetters({});
    expect(entries.map((entry) => entry.exporter).sort()).toEqual(["out", "out/second"]);
    expect(entries[0]).toMatchObject({
      items: 1,
      pipeline: "logs",
      calls: 0,
      failure: { reason: "rejected", category: "schema" },
    });
    expect(entries[0]!.failure!.error).toMatchObject({ class: "TEST_BAD", message: "not like that" });
    expect(seen).toEqual(["good 1", "good 3"]);
    await expect.poll(() => [...sent].sort()).toEqual(["good 1", "good 1", "good 3", "good 3"]);
  });

  it("is sent to its exporter after a replay", async () => {
    const { sent, options } = parts();
    const { agent, send } = await startWrapped("  out: {}", options);
    await send("bad");
    await agent.admin!.replay({ query: {} }, { by: "test" });
    await expect.poll(() => sent).toEqual(["bad"]);
  });

  it("is kept only where the filter always saves it, if it was dropped on purpose", async () => {
    const { options } = parts({ ...setback, onlyIfAlwaysSaved: true });
    const filter = 'dead_letter: {filter: {always_save: ["severity>=ERROR"]}}';
    const { agent, hand } = await startWrapped(`  out: {${filter}}\n  out/second: {}`, options);
    const [low, high] = [logs("bad a"), severe("bad b")];
    expect(await hand(Batch.merge([low, high]))).toMatchObject({ ok: true });
    const { entries } = await agent.admin!.listDeadLetters({});
    expect(entries.map(({ exporter, items }) => ({ exporter, items }))).toEqual([{ exporter: "out", items: 1 }]);
  });

  it("is permanently refused where there is no queue to keep it", async () => {
    const { graph, intake } = sketch({
      processors: { reject: () => rejecting() },
      exporters: { out: { send: async () => undefined } },
      pipelines: { logs: { receivers: ["in"], processors: ["reject"], exporters: ["out"] } },
    });
    const outcome = await intake("in").accept(logs("bad"));
    expect(outcome).toMatchObject({ ok: false, refusal: { kind: "permanent", code: "TEST_BAD" } });
    expect(graph.budget.used).toBe(0);
  });
});

describe("what a processor without a zone takes out of a pipeline", () => {
  const processors = { reject: () => rejecting(), pii: () => eachBatch((batch) => batch) };
  const exporters = { out: { send: async () => undefined } };

  /** The warnings after these were sent. */
  async function warnings(description: Partial<Sketch>, ...sent: readonly string[]): Promise<string[]> {
    const lines: string[] = [];
    const warn = (_fields: object, message: string) => void lines.push(message);
    const logger: Logger = { ...silentLogger, warn, child: () => logger };
    const pipelines = { logs: { receivers: ["in"], processors: ["reject", "pii"], exporters: ["out"] } };
    const whole = { processors, exporters, pipelines, zones: { pii: "pii" as const }, ...description };
    const { intake } = sketch(whole, { logger });
    for (const each of sent) await intake("in").accept(logs(each));
    return lines;
  }

  it("causes one warning if personal data is treated only after it", async () => {
    expect(await warnings({}, "good")).toEqual([]);
    const [warning, ...others] = await warnings({}, "good", "bad 1", "bad 2");
    expect(warning).toBe(
      '"reject" makes dead letters of records before "pii" has treated them: they are stored untreated. Put it after "pii"',
    );
    expect(others).toEqual([]);
  });

  it("causes it also when the treatment is in a pipeline behind a connector", async () => {
    const pipelines = {
      logs: { receivers: ["in"], processors: ["reject"], exporters: ["way"] },
      "logs/treated": { receivers: ["way"], processors: ["pii"], exporters: ["out"] },
    };
    const connectors = { way: () => eachBatch((batch) => batch) };
    expect(await warnings({ pipelines, connectors }, "bad")).toHaveLength(1);
  });

  it("causes none where data was treated before, where nothing is treated, and where the processor declares its zone", async () => {
    const order = (...processors: string[]) => ({ logs: { receivers: ["in"], processors, exporters: ["out"] } });
    expect(await warnings({ pipelines: order("pii", "reject") }, "bad")).toEqual([]);
    expect(await warnings({ pipelines: order("reject") }, "bad")).toEqual([]);
    expect(await warnings({ zones: { pii: "pii", reject: "validate" } }, "bad")).toEqual([]);
    const alike = { logs: { receivers: ["in"], processors: ["reject"], exporters: ["in"] } };
    expect(await warnings({ pipelines: alike, exporters: { in: exporters.out } }, "bad")).toEqual([]);
  });
});

import { pipe } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  defineProcessor,
  eachBatch,
  eachRecord,
  type LogRecordView,
  type Processor,
  Refusal,
} from "../../../src/plugin.js";
import { faultyExporter, logs, runPipeline } from "../../../src/testing.js";

/** A pipeline with one processor, what came out of it, and what its dead letters hold. */
async function through(processor: () => Processor, mode = "error_mode: dead_letter", type = "own") {
  const backend = faultyExporter();
  const plugins = [backend, defineProcessor({ type: "own", create: processor })];
  const config = `
processors: {own: , transform: {error_mode: propagate, log_statements: ['set(attributes["a"], 1)', 'set(attributes["x"], ParseJSON(body))']}}
exporters: {faulty: }
service: {pipelines: {logs: {receivers: [memory], processors: [${type}], exporters: [faulty], ${mode}}}}
`;
  const pipeline = await runPipeline(config, { plugins, queue: "memory" });
  const deadLetters = async () =>
    (await pipeline.deadLetters()).map(({ message, records }) => [message, ...records.map(({ body }) => body)]);
  return { pipeline, deadLetters, bodies: () => backend.records().map(({ body }) => body) };
}

const body = (record: unknown) => (record as LogRecordView).body;

function throwOnBad(record: unknown): void {
  if (body(record) === "bad") throw new Error("no such tenant");
}

describe("error_mode: dead_letter", () => {
  it.each([
    ["throws", () => eachRecord((record) => throwOnBad(record))],
    ["rejects", () => eachRecord(async (record) => throwOnBad(record))],
    [
      "throws behind another one",
      () =>
        pipe(
          eachRecord(async () => "keep" as const),
          eachRecord((record) => throwOnBad(record)),
        ) as Processor,
    ],
  ])("keeps the record alone on which a function of a record %s", async (_, processor) => {
    const { pipeline, deadLetters, bodies } = await through(processor);
    expect(await pipeline.send(logs("a", "bad", "c"))).toMatchObject({ ok: true });
    await expect.poll(bodies).toEqual(["a", "c"]);
    expect(await deadLetters()).toEqual([["processor own failed: no such tenant", "bad"]]);
    expect((await pipeline.deadLetters())[0]).toMatchObject({
      reason: "rejected",
      entry: { failure: { category: "processor_failed", error: { code: "SLUICE_COMPONENT_FAILED" } } },
    });
    await pipeline.stop();
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "no",
    ],
    ["rejects", () => Promise.reject(new Error("no")), "no"],
    ["gives nothing back", () => undefined as never, expect.stringContaining("returned no batch")],
  ])("keeps the batch on which a function of a batch %s", async (_, process, message) => {
    const { pipeline, deadLetters, bodies } = await through(() => eachBatch(process));
    expect(await pipeline.send(logs("a", "b"))).toMatchObject({ ok: true });
    const text = typeof message === "string" ? `processor own failed: ${message}` : message;
    expect(await deadLetters()).toEqual([[text, "a", "b"]]);
    expect(bodies()).toEqual([]);
    await pipeline.stop();
  });

  it("keeps nothing that is refused on purpose", async () => {
    const refuse = () => {
      throw new Refusal("permanent", "not today");
    };
    const { pipeline, deadLetters } = await through(() => eachBatch(refuse));
    expect(await pipeline.send(logs("a"))).toMatchObject({ ok: false, refusal: { kind: "permanent" } });
    expect(await deadLetters()).toEqual([]);
    await pipeline.stop();
  });

  it("keeps a batch on which a statement fails, and names the statement by number and text", async () => {
    const { pipeline, deadLetters } = await through(() => eachBatch((batch) => batch), undefined, "transform");
    expect(await pipeline.send(logs("{"))).toMatchObject({ ok: true });
    const [[message, ...records]] = (await deadLetters()) as [[string, ...unknown[]]];
    expect(message).toMatch(
      /^processor transform failed: OTTL expression 2 \(set\(attributes\["x"\], ParseJSON\(body\)\)\) failed: /,
    );
    expect(records).toEqual(["{"]);
    await pipeline.stop();
  });

  it("is not the default: the request is refused as a whole, to be sent again", async () => {
    const { pipeline, deadLetters, bodies } = await through(() => eachRecord((record) => throwOnBad(record)), "");
    expect(await pipeline.send(logs("a", "bad"))).toMatchObject({
      ok: false,
      refusal: { kind: "transient", message: "processor own failed: no such tenant" },
    });
    expect([await deadLetters(), bodies()]).toEqual([[], []]);
    await pipeline.stop();
  });
});

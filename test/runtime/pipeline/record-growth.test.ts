import { describe, expect, it } from "vitest";
import { defineProcessor, eachRecord, type Processor } from "../../../src/plugin.js";
import { largestParts } from "../../../src/runtime/otlp/bytes/check/largest-part.js";
import { faultyExporter, logs, runPipeline } from "../../../src/testing.js";

const LIMIT = 10_000;

/** A pipeline with one processor of a plugin and a small limit for records. */
async function through(processor: () => Processor, mode = "") {
  const backend = faultyExporter();
  const plugins = [backend, defineProcessor({ type: "own", create: processor })];
  const config = `
processors: {own: , attributes: {actions: [{key: copy, from_attribute: text, action: insert}, {key: text2, from_attribute: text, action: insert}]}}
exporters: {faulty: }
service:
  max_record_size: ${LIMIT}
  pipelines: {logs: {receivers: [memory], processors: [own, attributes], exporters: [faulty], ${mode}}}
`;
  const pipeline = await runPipeline(config, { plugins, queue: "memory" });
  return { pipeline, bodies: () => backend.records().map(({ body }) => String(body)) };
}

const repeatBody = (times: number) =>
  eachRecord((record) => {
    if (record.signal === "logs" && record.body !== "b") record.body = String(record.body).repeat(times);
  });

describe("a record that a processor makes too large", () => {
  it("is refused for good, with the name of the processor and the limit", async () => {
    const { pipeline, bodies } = await through(() => repeatBody(LIMIT));
    const outcome = await pipeline.send(logs("a", "b"));
    const message = `processor own failed: it made a record too large: more than ${LIMIT} bytes (service.max_record_size)`;
    const refusal = { kind: "permanent", code: "SLUICE_RECORD_TOO_LARGE", message };
    expect(outcome).toMatchObject({ ok: false, refusal });
    expect(bodies()).toEqual([]);
    await pipeline.stop();
  });

  it("is kept as a dead letter where failures are, and the other records go on", async () => {
    const { pipeline, bodies } = await through(() => repeatBody(LIMIT), "error_mode: dead_letter");
    expect(await pipeline.send(logs("b", "a", "b"))).toMatchObject({ ok: true });
    await expect.poll(bodies).toEqual(["b", "b"]);
    const [letter, ...others] = await pipeline.deadLetters();
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ entry: { failure: { error: { code: "SLUICE_RECORD_TOO_LARGE" } } } });
    expect(letter!.records.map(({ body }) => body)).toEqual(["a".repeat(LIMIT)]);
    await pipeline.stop();
  });

  it("is refused too if what records share has grown", async () => {
    const { pipeline } = await through(() =>
      eachRecord((record) => void record.resource.attributes.set("text", "x".repeat(LIMIT))),
    );
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { code: "SLUICE_RECORD_TOO_LARGE", message: expect.stringContaining("resource") },
    });
    await pipeline.stop();
  });

  it("is refused if a built-in processor made it", async () => {
    const { pipeline } = await through(() =>
      eachRecord((record) => void record.attributes.set("text", "x".repeat(LIMIT / 2))),
    );
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { code: "SLUICE_RECORD_TOO_LARGE", message: expect.stringContaining("processor attributes failed") },
    });
    await pipeline.stop();
  });
});

describe("a record that came in above the limit", () => {
  it("passes as long as it does not grow", async () => {
    const large = "a".repeat(2 * LIMIT);
    const { pipeline, bodies } = await through(() => repeatBody(1));
    expect(await pipeline.send(logs(large, "b"))).toMatchObject({ ok: true });
    await expect.poll(bodies).toEqual([large, "b"]);
    await pipeline.stop();
  });

  it("is refused when it grows, and lets no later record grow as large", async () => {
    const { pipeline } = await through(() => repeatBody(3));
    expect(await pipeline.send(logs("a".repeat(2 * LIMIT)))).toMatchObject({ ok: false });
    expect(await pipeline.send(logs("a".repeat(LIMIT / 2)))).toMatchObject({ ok: false });
    expect(await pipeline.send(logs("a"))).toMatchObject({ ok: true });
    await pipeline.stop();
  });
});

describe("the largest parts of a request", () => {
  it("are its largest record, and the most that is around records", () => {
    const { bytes } = logs("a", "b".repeat(500), "c");
    const { record, owner } = largestParts("logs", bytes);
    expect(record).toBeGreaterThan(500);
    expect(record).toBeLessThan(530);
    expect(owner).toBeLessThan(100);
  });
});

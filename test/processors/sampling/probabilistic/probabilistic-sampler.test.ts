import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Batch, batchFromJson, readRecords } from "../../../../src/plugin.js";
import { probabilisticSampler } from "../../../../src/processors/sampling/probabilistic/component.js";
import { owed } from "../../../support/deliveries.js";
import { counting, processing } from "../../../support/processors.js";
import { spanBatch, traceId } from "../../../support/sampled.js";

/**
 * Decisions of the Collector's own processor (contrib v0.159). `decisions`: a bit for each of the traces whose ids are
 * the MD5 of "0", "1", "2" ..., and the tracestate of the first one kept. `traces` and `logs`: for each record null if
 * it was dropped, else its tracestate, or the attributes sampling.threshold and sampling.randomness.
 */
interface Vector {
  readonly kind: "decisions" | "traces" | "logs";
  readonly config: Record<string, unknown>;
  readonly kept: string;
  readonly first: string | null;
  readonly in: readonly { id: string; state?: string; prio?: unknown; attrs?: Record<string, unknown> }[];
  readonly out: readonly (string | [string | null, string | null] | null)[];
}

const VECTORS = readFileSync(join(import.meta.dirname, "collector-decisions.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Vector);

const vectors = (kind: Vector["kind"]) =>
  VECTORS.filter((vector) => vector.kind === kind).map((vector) => [JSON.stringify(vector.config), vector] as const);

function configOf({ fail_open, ...config }: Record<string, unknown>): object {
  return { ...config, fail_closed: fail_open !== true };
}

function value(of: unknown): object {
  if (typeof of === "string") return { stringValue: of };
  if (typeof of === "boolean") return { boolValue: of };
  return Number.isInteger(of) && Math.abs(of as number) < 1e15 ? { intValue: String(of) } : { doubleValue: of };
}

function attributes(of: Record<string, unknown>): object[] {
  return Object.entries(of).map(([key, v]) => ({ key, value: value(v) }));
}

const textOf = (found: unknown) => (found === undefined ? null : String(found));
const md5 = (text: string) => createHash("md5").update(text).digest("hex");

function spans(inputs: Vector["in"]): Batch {
  const list = inputs.map(({ id, state, prio }, i) => ({
    name: String(i),
    traceId: id,
    traceState: state ?? "",
    attributes: [
      { key: "other", value: value("x") },
      ...attributes(prio === undefined ? {} : { "sampling.priority": prio }),
    ],
  }));
  return batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: list }] }] }));
}

function logs(inputs: Vector["in"]): Batch {
  const logRecords = inputs.map(({ id, attrs }, i) => ({
    body: { stringValue: String(i) },
    traceId: id,
    attributes: attributes(attrs ?? {}),
  }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

/**
 * Returns the positions of the kept records in the batch. They are the same for the first batch and for a later one.
 */
function keptOf(config: object, batch: Batch): Map<number, unknown> {
  const ofFirst = keptAfter([], config, batch);
  expect(keptAfter([Batch.empty(batch.signal)], config, batch)).toEqual(ofFirst);
  return ofFirst;
}

function keptAfter(before: readonly Batch[], config: object, batch: Batch): Map<number, unknown> {
  const { source, out } = processing(probabilisticSampler, config, batch.signal);
  for (const one of [...before, batch]) source.next(owed(one).delivery);
  const kept = new Map<number, unknown>();
  for (const delivery of out) {
    readRecords(delivery.batch, (record) => {
      if (record.signal === "traces") kept.set(Number(record.name), record.traceState);
      else if (record.signal === "logs")
        kept.set(Number(record.body), [
          textOf(record.attributes.get("sampling.threshold")),
          textOf(record.attributes.get("sampling.randomness")),
        ]);
    });
    expect(delivery.batch.count).toBe(kept.size);
  }
  return kept;
}

describe("probabilistic_sampler", () => {
  it.each(vectors("decisions"))("keeps the traces that the Collector keeps: %s", (_, { config, kept, first }) => {
    const result = keptOf(configOf(config), spans(Array.from({ length: 512 }, (_, i) => ({ id: md5(String(i)) }))));
    const bits = Buffer.alloc(64);
    for (const i of result.keys()) bits[i >> 3]! |= 1 << (i & 7);
    expect(bits.toString("hex")).toBe(kept);
    expect([...result.values()][0] ?? null).toBe(first);
  });

  it.each(vectors("traces"))("reads and writes tracestate as the Collector does: %s", (_, vector) => {
    const kept = keptOf(configOf(vector.config), spans(vector.in));
    expect(vector.in.map((input, i) => [input, kept.get(i) ?? null])).toEqual(
      vector.in.map((input, i) => [input, vector.out[i]]),
    );
  });

  it.each(vectors("logs"))("decides on log records as the Collector does: %s", (_, vector) => {
    const kept = keptOf(configOf(vector.config), logs(vector.in));
    expect(vector.in.map((input, i) => [input, kept.get(i) ?? null])).toEqual(
      vector.in.map((input, i) => [input, (vector.out[i] as [string, string] | null) ?? null]),
    );
  });

  it.each([
    ["hash_seed", 20],
    ["hash_seed", 75],
    ["proportional", 5],
    ["equalizing", 50],
  ])("keeps the configured share, within three standard deviations: %s %i %%", (mode, sampling_percentage) => {
    const count = 8000;
    const ids = Array.from({ length: count }, (_, i) => ({ id: md5(`${mode} ${i}`) }));
    const kept = keptOf({ mode, sampling_percentage }, spans(ids)).size;
    const share = sampling_percentage / 100;
    expect(Math.abs(kept - count * share)).toBeLessThanOrEqual(3 * Math.sqrt(count * share * (1 - share)));
  });

  it("decides about spans by their trace ids, even if log records are decided by an attribute", () => {
    const ids = spans(Array.from({ length: 100 }, (_, i) => ({ id: md5(String(i)) })));
    const config = { sampling_percentage: 50, attribute_source: "record", from_attribute: "other" };
    const expected = keptOf({ sampling_percentage: 50 }, ids);
    expect(expected.size).toBeGreaterThan(20);
    expect(keptOf(config, ids)).toEqual(expected);
  });

  it("passes valid OTLP on: stamped records can be admitted again", () => {
    const { source, out } = processing(probabilisticSampler, { sampling_percentage: 60 }, "traces");
    source.next(owed(spans(Array.from({ length: 300 }, (_, i) => ({ id: md5(String(i)) })))).delivery);
    expect(Batch.admit("traces", out[0]!.batch.bytes).count).toBe(out[0]!.batch.count);
  });

  it("drops a trace with an overlong tracestate at once, however long it is", () => {
    const { delivery, outcomes } = owed(spanBatch([{ trace: traceId(1), state: `a=b${" ".repeat(2 ** 19)}c` }]));
    processing(probabilisticSampler, { mode: "equalizing", sampling_percentage: 99 }, "traces").source.next(delivery);
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("acknowledges what it drops, and counts both under the Collector's name", () => {
    const { metrics, counts } = counting();
    const { source, out } = processing(probabilisticSampler, { sampling_percentage: 50 }, "traces", { metrics });
    const none = owed(spans([{ id: md5("1") }, { id: "" }]));
    const some = owed(spans(Array.from({ length: 8 }, (_, i) => ({ id: md5(String(i)) }))));
    source.next(none.delivery);
    source.next(some.delivery);
    expect(none.outcomes).toEqual([{ ok: true, rejected: 0, message: "" }]);
    expect(out.map(({ batch }) => batch.count)).toEqual([2]);
    expect(some.outcomes).toEqual([]);
    const name = "otelcol_processor_probabilistic_sampler_count_traces_sampled";
    expect(Object.fromEntries(counts)).toEqual({
      [`${name}{policy=trace_id_hash,sampled=false}`]: 7,
      [`${name}{policy=trace_id_hash,sampled=true}`]: 2,
      [`${name}{policy=missing_randomness,sampled=false}`]: 1,
    });
  });

  it.each([
    ["sampling_percentage", -1],
    ["sampling_percentage", 1e-20],
    ["sampling_percentage", Number.NaN],
    ["hash_seed", 2 ** 32],
    ["mode", "adaptive"],
    ["sampling_precision", 0],
    ["sampling_precision", 15],
    ["attribute_source", "body"],
    ["sampling_rate", 1],
  ])("refuses %s: %s", (key, wrong) => {
    const parsed = probabilisticSampler.schema.safeParse({ [key]: wrong });
    expect(parsed.success).toBe(false);
    expect(JSON.stringify(parsed.error?.issues)).toContain(key);
  });

  it("is for traces and logs only", () => {
    expect("signals" in probabilisticSampler && probabilisticSampler.signals).toEqual(["traces", "logs"]);
  });
});

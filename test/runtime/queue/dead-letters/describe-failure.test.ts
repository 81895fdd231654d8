import { describe, expect, it } from "vitest";
import { Batch, batchFromJson } from "../../../../src/plugin.js";
import { excerptOf } from "../../../../src/runtime/queue/dead-letters/batch-excerpt.js";
import { signatureOf } from "../../../../src/runtime/queue/dead-letters/dead-letter-writer.js";

function signature(message: string, kind = "HTTP 400", exporter = "otlp") {
  return signatureOf(exporter, { kind: "permanent", class: kind, message, code: "X" });
}

describe("a signature", () => {
  it.each([
    ["order 17 is unknown", "order 9 is unknown"],
    ["no tenant 0f8fad5b-d9cb-469f-a165-70867728950e", "no tenant 7c9e6679-7425-40de-944b-e07fc1f90ae7"],
    ["connect ECONNREFUSED 127.0.0.1:4318", "connect ECONNREFUSED 10.1.2.3:999"],
    ["trace 5b8aa5a2d2c872e8321cf37308d69df2 refused", "trace 000000000000000000000000000000a1 refused"],
    ["late by 1.5s at 2026-01-31T08:00:00.000Z", "late by 20.25s at 2025-12-01T18:30:01Z"],
  ])("is the same for %j and %j", (one, other) => {
    expect(signature(one)).toBe(signature(other));
  });

  it("differs by message, class and exporter", () => {
    const all = [signature("a"), signature("b"), signature("a", "HTTP 500"), signature("a", "HTTP 400", "other")];
    expect(new Set(all).size).toBe(4);
  });
});

describe("a sample", () => {
  it("names what is inside, each once", () => {
    const logRecords = ["a", "b", "a"].map((eventName) => ({ eventName, traceId: "5b8aa5a2d2c872e8321cf37308d69df2" }));
    const scopeLogs = [{ schemaUrl: "https://example.com/scope", logRecords }, { logRecords: [{}] }];
    const json = { resourceLogs: [{ schemaUrl: "https://example.com/resource", scopeLogs }] };
    expect(excerptOf(batchFromJson("logs", JSON.stringify(json)))).toEqual({
      names: ["a", "b"],
      traceIds: ["5b8aa5a2d2c872e8321cf37308d69df2"],
      schemaUrls: ["https://example.com/scope", "https://example.com/resource"],
      eventVersions: [],
    });
  });

  it("stays small for large batches", () => {
    const spans = Array.from({ length: 3000 }, (_, i) => ({
      name: `${i}${"x".repeat(1000)}`,
      traceId: i.toString(16).padStart(32, "a"),
    }));
    const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    const { names, traceIds } = excerptOf(batch);
    expect([names.length, names[0]?.length, traceIds.length]).toEqual([8, 200, 4]);
    expect(excerptOf(Batch.empty("metrics"))).toEqual({ names: [], traceIds: [], schemaUrls: [], eventVersions: [] });
  });
});

import { describe, expect, it } from "vitest";
import { batchFromJson, type Delivery, type ProcessorContext } from "../../src/plugin.js";
import { batch } from "../../src/processors/batch.js";
import { noMetrics } from "../../src/runtime/contract/observability.js";
import { silentLogger } from "../../src/runtime/kit.js";
import { feed, owed } from "../support/deliveries.js";
import { FakeClock } from "../support/fake-clock.js";
import { bodies, logs } from "../support/telemetry/batches.js";

function batching(config: Record<string, unknown>) {
  const clock = new FakeClock();
  const context: ProcessorContext = {
    id: "batch",
    kind: "processor",
    signal: "logs",
    pipeline: "logs",
    logger: silentLogger,
    metrics: noMetrics,
    clock,
    random: Math.random,
  };
  return { clock, ...feed(batch.create(batch.schema.parse(config), context)) };
}

const texts = (out: readonly Delivery[]) => out.map((delivery) => bodies(delivery.batch));

describe("the batch processor", () => {
  it("acknowledges nothing while records wait, and everyone when the merged batch is settled", () => {
    const { source, out, clock } = batching({ timeout: "200ms" });
    const [a, b] = [owed(logs("a")), owed(logs("b"))];
    source.next(a.delivery);
    source.next(b.delivery);
    expect(out).toEqual([]);
    clock.advance(200);
    expect(texts(out)).toEqual([["a", "b"]]);
    expect([...a.outcomes, ...b.outcomes]).toEqual([]);
    out[0]!.accept();
    expect([...a.outcomes, ...b.outcomes]).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it("sends at send_batch_size without waiting for the timeout", () => {
    const { source, out, clock } = batching({ send_batch_size: 3 });
    source.next(owed(logs("a", "b")).delivery);
    source.next(owed(logs("c", "d")).delivery);
    expect(texts(out)).toEqual([["a", "b", "c", "d"]]);
    expect(clock.pending).toBe(0);
  });

  it("measures the timeout from the first record that waits", () => {
    const { source, out, clock } = batching({ timeout: "100ms" });
    source.next(owed(logs("a")).delivery);
    clock.advance(60);
    source.next(owed(logs("b")).delivery);
    clock.advance(40);
    expect(texts(out)).toEqual([["a", "b"]]);
  });

  it("sends before what it merges grows over the usual limit of gRPC", () => {
    const { source, out, clock } = batching({});
    const large = "x".repeat(2 * 1024 * 1024);
    for (const body of ["a", large, large, "b"]) source.next(owed(logs(body)).delivery);
    expect(texts(out)).toEqual([["a", large]]);
    clock.advance(200);
    expect(texts(out).slice(1)).toEqual([[large, "b"]]);
  });

  it("refuses a request that would be many times as large in pieces, and nobody it was merged with", () => {
    const { source, out } = batching({ send_batch_size: 2, send_batch_max_size: 2 });
    const resource = { attributes: [{ key: "k", value: { stringValue: "x".repeat(1024 * 1024) } }] };
    const scopeLogs = [{ logRecords: Array(100).fill({ severityNumber: 1 }) }];
    const hostile = owed(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] })));
    const other = owed(logs("a"));
    source.next(other.delivery);
    source.next(hostile.delivery);
    expect(hostile.outcomes).toMatchObject([{ ok: false, refusal: { kind: "permanent" } }]);
    expect(texts(out)).toEqual([["a"]]);
    expect(other.outcomes).toEqual([]);
  });

  it("cuts at send_batch_max_size and settles the sender when every piece is settled", () => {
    const { source, out } = batching({ send_batch_size: 2, send_batch_max_size: 2 });
    const { delivery, outcomes } = owed(logs("a", "b", "c"));
    source.next(delivery);
    expect(texts(out)).toEqual([["a", "b"], ["c"]]);
    out[0]!.accept();
    expect(outcomes).toEqual([]);
    out[1]!.accept();
    expect(outcomes).toHaveLength(1);
  });

  it("sends at once with a timeout of zero", () => {
    const { source, out } = batching({ timeout: "0s" });
    source.next(owed(logs("a")).delivery);
    expect(texts(out)).toEqual([["a"]]);
  });

  it("keeps the clients of different metadata apart", () => {
    const { source, out, clock } = batching({ metadata_keys: ["X-Tenant"] });
    const from = (tenant: string) => ({ metadata: new Map([["x-tenant", [tenant]]]) });
    source.next(owed(logs("a1"), from("a")).delivery);
    source.next(owed(logs("b1"), from("b")).delivery);
    source.next(owed(logs("a2"), from("a")).delivery);
    clock.advance(200);
    expect(texts(out)).toEqual([["a1", "a2"], ["b1"]]);
  });

  it("refuses, retryably, more combinations of metadata than it may hold", () => {
    const { source } = batching({ metadata_keys: ["t"], metadata_cardinality_limit: 1 });
    source.next(owed(logs("a"), { metadata: new Map([["t", ["1"]]]) }).delivery);
    const { delivery, outcomes } = owed(logs("b"), { metadata: new Map([["t", ["2"]]]) });
    source.next(delivery);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "throttled" } }]);
  });

  it("flushes what waits when the pipeline drains", () => {
    const { source, out, isComplete, clock } = batching({});
    source.next(owed(logs("a")).delivery);
    source.complete();
    expect(texts(out)).toEqual([["a"]]);
    expect(isComplete()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("leaves no timer behind when it is aborted, and settles nothing by itself", () => {
    const { source, out, unsubscribe, clock } = batching({});
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    unsubscribe();
    clock.advance(1000);
    expect(clock.pending).toBe(0);
    expect(out).toEqual([]);
    expect(outcomes).toEqual([]);
  });

  it("refuses a maximum below the size at which it sends", () => {
    const result = batch.schema.safeParse({ send_batch_size: 10, send_batch_max_size: 5 });
    expect(result.error?.issues).toMatchObject([{ path: ["send_batch_max_size"] }]);
  });
});

import { describe, expect, it } from "vitest";
import {
  Batcher,
  type BatcherSettings,
  batchFromJson,
  type Delivery,
  statefulProcessor,
} from "../../../../src/plugin.js";
import { feed, owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

/** A processor that merges with a batcher, on a clock that stands still. */
function batching(own: Partial<BatcherSettings> = {}) {
  const clock = new FakeClock();
  const settings: BatcherSettings = { timeoutMs: 200, minSize: 8192, maxSize: 0, sizer: "items", ...own };
  const processor = statefulProcessor((out) => {
    const batcher = new Batcher(settings, clock, (delivery) => out.next(delivery));
    return {
      next: (delivery) => batcher.add(delivery),
      drain: () => batcher.flush(),
      abort: () => void batcher.takeWaiting(),
    };
  });
  return { clock, ...feed(processor) };
}

const texts = (out: readonly Delivery[]) => out.map((delivery) => bodies(delivery.batch));

describe("a batcher", () => {
  it("acknowledges nothing while records wait, and everyone when the merged batch is settled", () => {
    const { source, out, clock } = batching();
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

  it("sends at its size without waiting for the timeout", () => {
    const { source, out, clock } = batching({ minSize: 3 });
    source.next(owed(logs("a", "b")).delivery);
    source.next(owed(logs("c", "d")).delivery);
    expect(texts(out)).toEqual([["a", "b", "c", "d"]]);
    expect(clock.pending).toBe(0);
  });

  it("measures the timeout from the first record that waits", () => {
    const { source, out, clock } = batching({ timeoutMs: 100 });
    source.next(owed(logs("a")).delivery);
    clock.advance(60);
    source.next(owed(logs("b")).delivery);
    clock.advance(40);
    expect(texts(out)).toEqual([["a", "b"]]);
  });

  it("sends before what it merges grows over the usual limit of gRPC", () => {
    const { source, out, clock } = batching();
    const large = "x".repeat(2 * 1024 * 1024);
    for (const body of ["a", large, large, "b"]) source.next(owed(logs(body)).delivery);
    expect(texts(out)).toEqual([["a", large]]);
    clock.advance(200);
    expect(texts(out).slice(1)).toEqual([[large, "b"]]);
  });

  it("refuses a request that would be many times as large in pieces, but none that it was merged with", () => {
    const { source, out } = batching({ minSize: 2, maxSize: 2 });
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

  it("cuts at its maximum and settles the sender when every piece is settled", () => {
    const { source, out } = batching({ minSize: 2, maxSize: 2 });
    const { delivery, outcomes } = owed(logs("a", "b", "c"));
    source.next(delivery);
    expect(texts(out)).toEqual([["a", "b"], ["c"]]);
    out[0]!.accept();
    expect(outcomes).toEqual([]);
    out[1]!.accept();
    expect(outcomes).toHaveLength(1);
  });

  it("sends at once with a timeout of zero", () => {
    const { source, out } = batching({ timeoutMs: 0 });
    source.next(owed(logs("a")).delivery);
    expect(texts(out)).toEqual([["a"]]);
  });

  it("flushes what waits when the pipeline drains", () => {
    const { source, out, isComplete, clock } = batching();
    source.next(owed(logs("a")).delivery);
    source.complete();
    expect(texts(out)).toEqual([["a"]]);
    expect(isComplete()).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("leaves no timer behind when it is aborted, and settles nothing by itself", () => {
    const { source, out, unsubscribe, clock } = batching();
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    unsubscribe();
    clock.advance(1000);
    expect(clock.pending).toBe(0);
    expect(out).toEqual([]);
    expect(outcomes).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import { type Delivery, type Outcome, readRecords } from "../../../../src/plugin.js";
import { groupByTrace } from "../../../../src/processors/sampling/tail/component.js";
import { owed } from "../../../support/deliveries.js";
import { processing } from "../../../support/processors.js";
import { spanBatch, traceId } from "../../../support/sampled.js";

const spanId = (n: number) => n.toString(16).padStart(16, "0");

function grouping(config: object = {}) {
  const made = processing(groupByTrace, config, "traces");
  const send = (...spans: [trace: number, span: number][]): Outcome[] => {
    const written = spans.map(([trace, span]) => ({
      trace: traceId(trace),
      span: spanId(span),
      parent: "",
      name: `${trace}/${span}`,
    }));
    const { delivery, outcomes } = owed(spanBatch(written, { "service.name": "shop" }));
    made.source.next(delivery);
    return outcomes;
  };
  return { ...made, send };
}

/** The names of the spans in each batch that came out. */
function batchesIn(out: readonly Delivery[]): string[][] {
  return out.map(({ batch }) => {
    const names: string[] = [];
    readRecords(batch, (record) => {
      if (record.signal === "traces") names.push(record.name);
    });
    return names.sort();
  });
}

describe("groupbytrace", () => {
  it("passes the spans of a trace on in one batch, once it has waited for them", () => {
    const { send, clock, out } = grouping();
    const first = send([1, 1], [2, 1]);
    clock.advance(400);
    send([1, 2]);
    clock.advance(599);
    expect(out).toEqual([]);
    expect(first).toEqual([]);
    clock.advance(1);
    const [batch] = batchesIn(out).filter((names) => names.includes("1/1"));
    expect(batch).toEqual(expect.arrayContaining(["1/1", "1/2"]));
    for (const delivery of out) delivery.accept();
    expect(first).toMatchObject([{ ok: true }]);
  });

  it("passes the oldest traces on early when more than num_traces wait", () => {
    const { send, out } = grouping({ num_traces: 2, wait_duration: "1h" });
    send([1, 1]);
    send([2, 1]);
    expect(out).toEqual([]);
    send([3, 1]);
    expect(batchesIn(out)).toEqual([["1/1"]]);
  });

  it("passes on what waits when it ends", () => {
    const { send, source, out } = grouping({ wait_duration: "1h" });
    send([1, 1]);
    source.complete();
    expect(batchesIn(out)).toEqual([["1/1"]]);
  });

  it("refuses what it does not have", () => {
    const parse = (config: object) => () => groupByTrace.schema.parse(config);
    expect(parse({ discard_orphans: true })).toThrow("traces without a root span are passed on");
    expect(parse({ wait: "1s" })).toThrow("wait");
  });
});

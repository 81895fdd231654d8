import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { asDouble, type Value } from "../../../../src/runtime/otlp/bytes/value.js";
import { type AnyRecordView, editRecords, readRecords } from "../../../../src/runtime/otlp/edit/edit-records.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import type { DataPointView } from "../../../../src/runtime/otlp/views/data-point-view.js";
import type { LogRecordView } from "../../../../src/runtime/otlp/views/log-record-view.js";
import type { SpanView } from "../../../../src/runtime/otlp/views/span-view.js";

type Content = { readonly [name: string]: unknown };

function logs(...records: Content[]): Batch {
  return encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: records as Tree[] }] }] });
}

function spans(...records: Content[]): Batch {
  return encodeTree("traces", { resourceSpans: [{ scopeSpans: [{ spans: records as Tree[] }] }] });
}

function metrics(...list: Content[]): Batch {
  return encodeTree("metrics", { resourceMetrics: [{ scopeMetrics: [{ metrics: list as Tree[] }] }] });
}

const attribute = (key: string, value: Content) => ({ key, value });

/** Edits, and what one then reads from the edited batch: a fresh look at what was really written. */
function reread<V extends AnyRecordView, R>(batch: Batch, edit: (record: V) => void, read: (record: V) => R): R[] {
  const results: R[] = [];
  const edited = editRecords(batch, (record) => edit(record as V));
  readRecords(Batch.admit(batch.signal, edited.bytes), (record) => {
    results.push(read(record as V));
  });
  return results;
}

function first<V extends AnyRecordView, R>(batch: Batch, read: (record: V) => R): R {
  return reread<V, R>(batch, () => undefined, read)[0]!;
}

const VALUES: [string, Value, Value][] = [
  ["a text", "text", "text"],
  ["an empty text", "", ""],
  ["true", true, true],
  ["false", false, false],
  ["an integer", 42, 42],
  ["a negative integer", -42, -42],
  ["the largest safe integer", Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ["a bigint that is safe", 7n, 7],
  ["a bigint that is not", 2n ** 63n - 1n, 2n ** 63n - 1n],
  ["the smallest integer", -(2n ** 63n), -(2n ** 63n)],
  ["a fraction", 0.5, 0.5],
  ["minus zero", -0, -0],
  ["NaN", Number.NaN, Number.NaN],
  ["a whole double", asDouble(3), 3],
  ["a large number", 1e300, 1e300],
  ["bytes", Uint8Array.of(0, 255), Uint8Array.of(0, 255)],
  ["no value", null, null],
  ["a list", [1, "a", [true], null], [1, "a", [true], null]],
  [
    "a map",
    { a: { b: [1] }, c: "é" },
    Object.assign(Object.create(null), { a: Object.assign(Object.create(null), { b: [1] }), c: "é" }),
  ],
];

describe("attributes", () => {
  it.each(VALUES)("hold %s", (_, given, read) => {
    const results = reread<LogRecordView, Value | undefined>(
      logs({ attributes: [attribute("k", { stringValue: "old" })] }, {}),
      (record) => record.attributes.set("k", given),
      (record) => record.attributes.get("k"),
    );
    expect(results).toEqual([read, read]);
  });

  it("show changes at once, and as they will be read", () => {
    editRecords(logs({ attributes: [attribute("a", { intValue: 1n }), attribute("b", {})] }), ({ attributes }) => {
      expect([attributes.get("a"), attributes.get("b"), attributes.get("c")]).toEqual([1, null, undefined]);
      expect(attributes.size).toBe(2);
      expect(attributes.delete("a")).toBe(true);
      expect(attributes.delete("a")).toBe(false);
      expect(attributes.has("a")).toBe(false);
      attributes.set("c", "new").set("d", asDouble(2));
      expect(attributes.get("d")).toBe(2);
      expect(attributes.keys()).toEqual(["b", "c", "d"]);
      expect(attributes.entries()).toEqual([
        ["b", null],
        ["c", "new"],
        ["d", 2],
      ]);
      expect(attributes.toObject()).toEqual({ b: null, c: "new", d: 2 });
      attributes.set("a", "back");
      expect(attributes.get("a")).toBe("back");
    });
  });

  it("may have any key", () => {
    const keys = ["", "__proto__", "toString", "é", "k".repeat(127), "k".repeat(128), "k".repeat(20_000), "\u0000"];
    for (const key of keys) {
      const batch = logs({ attributes: [attribute("x", {}), attribute(key, { intValue: 1n })] });
      expect(first(batch, (record) => [record.attributes.get(key), record.attributes.toObject()[key]])).toEqual([1, 1]);
      expect(
        reread(
          batch,
          (record) => record.attributes.set(key, 2),
          (record) => record.attributes.get(key),
        ),
      ).toEqual([2]);
      expect(
        reread(
          batch,
          (record) => record.attributes.delete(key),
          (record) => record.attributes.keys(),
        ),
      ).toEqual([["x"]]);
    }
  });

  it("count the first of those with the same key, and change all of them", () => {
    const batch = logs({ attributes: [attribute("k", { intValue: 1n }), attribute("k", { intValue: 2n })] });
    expect(
      first(batch, ({ attributes }) => [attributes.get("k"), attributes.toObject()["k"], attributes.size]),
    ).toEqual([1, 1, 1]);
    expect(decodeTree(editRecords(batch, (record) => void record.attributes.delete("k")))).toEqual(
      decodeTree(logs({})),
    );
  });

  it("are found, changed and deleted by key, for any number of them", () => {
    const key = fc.stringMatching(/^[a-cäß€]{0,2}$/);
    const change = fc.tuple(fc.constantFrom("set", "delete", "rename", "get"), key, key);
    fc.assert(
      fc.property(fc.array(key, { maxLength: 60 }), fc.array(change, { maxLength: 150 }), (keys, changes) => {
        const model = new Map<string, Value>();
        keys.forEach((each, i) => void (model.has(each) || model.set(each, `v${i}`)));
        const batch = logs({ attributes: keys.map((each, i) => attribute(each, { stringValue: `v${i}` })) });
        const apply = ({ attributes }: LogRecordView) =>
          changes.forEach(([kind, name, to], i) => {
            if (kind === "set") attributes.set(name, i);
            else if (kind === "delete") expect(attributes.delete(name)).toBe(model.has(name));
            else if (kind === "rename") expect(attributes.rename(name, to)).toBe(model.has(name));
            else expect([attributes.has(name), attributes.get(name)]).toEqual([model.has(name), model.get(name)]);
            changeModel(model, kind, name, to, i);
          });
        const [read] = reread<LogRecordView, object>(batch, apply, ({ attributes }) => attributes.toObject());
        expect(read).toEqual(Object.fromEntries(model));
      }),
    );
  });

  function changeModel(model: Map<string, Value>, kind: string, name: string, to: string, i: number): void {
    const value = model.get(name);
    if (kind === "set") model.set(name, i);
    else if (kind === "delete") model.delete(name);
    else if (kind === "rename" && value !== undefined && name !== to) {
      model.delete(name);
      model.set(to, value);
    }
  }

  it("refuse values that telemetry has no form for", () => {
    const cycle: Value[] = [];
    cycle.push(cycle);
    const setting = (value: unknown) => () =>
      editRecords(logs({}), (record) => void record.attributes.set("k", value as Value));
    for (const wide of [2n ** 63n, -(2n ** 63n) - 1n]) expect(setting(wide)).toThrow(RangeError);
    for (const wrong of [[undefined], Symbol("x"), () => 1]) expect(setting(wrong)).toThrow(TypeError);
    expect(setting(cycle)).toThrow(expect.objectContaining({ code: "SLUICE_MALFORMED" }));
  });
});

describe("a log record", () => {
  it.each(VALUES)("has %s as its body", (_, given, read) => {
    const edit = (record: LogRecordView) => {
      record.body = given;
      expect(record.body).toEqual(read);
    };
    expect(reread(logs({}, { body: { intValue: 1n } }), edit, (record) => record.body)).toEqual([read, read]);
  });

  it("has empty values for what is absent", () => {
    const read = (r: LogRecordView) => [
      r.timeUnixNano,
      r.severityNumber,
      r.severityText,
      r.body,
      r.traceId,
      r.flags,
      r.name,
    ];
    expect(first(logs({}), read)).toEqual([0n, 0, "", null, "", 0, ""]);
  });

  it("is named by its event name, or else by the attribute", () => {
    const name = attribute("event.name", { stringValue: "attribute" });
    const batch = logs({ eventName: "field", attributes: [name] }, { attributes: [name] }, {});
    expect(
      reread(
        batch,
        () => undefined,
        (record) => record.name,
      ),
    ).toEqual(["field", "attribute", ""]);
    const rename = (record: LogRecordView) => {
      record.name = "new";
    };
    const read = (record: LogRecordView) => [record.name, record.eventName, record.attributes.get("event.name")];
    expect(reread(batch, rename, read)).toEqual([
      ["new", "new", "attribute"],
      ["new", "", "new"],
      ["new", "new", undefined],
    ]);
  });

  it("takes ids as hex in any case and refuses others", () => {
    const edit = (record: LogRecordView) => {
      record.traceId = "AB".repeat(16);
      record.spanId = "";
      expect(record.traceId).toBe("ab".repeat(16));
    };
    expect(reread(logs({}), edit, (record) => [record.traceId, record.spanId])).toEqual([["ab".repeat(16), ""]]);
    const wrong = () =>
      reread<LogRecordView, void>(
        logs({}),
        (record) => void (record.traceId = "xyz"),
        () => undefined,
      );
    expect(wrong).toThrow(/traceId: expected hex/);
  });
});

describe("what records share", () => {
  const resource = { attributes: [attribute("service.name", { stringValue: "a" })] };
  const batch = encodeTree("logs", {
    resourceLogs: [
      { resource, scopeLogs: [{ scope: { name: "s" }, logRecords: [{}, {}] }, { logRecords: [{}] }] },
      { scopeLogs: [{ logRecords: [{}] }] },
    ],
  } as unknown as Tree);

  it("is the same for all records of a resource, and of no other", () => {
    let n = 0;
    const edit = (record: LogRecordView) => {
      if (n++ === 0) record.resource.attributes.set("service.name", "b");
      if (n === 3) expect(record.resource.attributes.get("service.name")).toBe("b");
    };
    expect(reread(batch, edit, (record) => record.resource.attributes.get("service.name"))).toEqual([
      "b",
      "b",
      "b",
      undefined,
    ]);
  });

  it("is made when it was absent", () => {
    const edit = (record: LogRecordView) => {
      record.scope.version = "1";
      record.resource.attributes.set("k", true);
    };
    const read = ({ scope, resource }: LogRecordView) => [scope.name, scope.version, resource.attributes.get("k")];
    expect(reread(batch, edit, read)).toEqual([
      ["s", "1", true],
      ["s", "1", true],
      ["", "1", true],
      ["", "1", true],
    ]);
  });

  it("goes when all of its records go", () => {
    let n = 0;
    const left = editRecords(batch, () => (n++ < 3 ? "drop" : "keep"));
    expect(decodeTree(left)).toEqual({ resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] });
    expect(editRecords(batch, () => "drop").byteLength).toBe(0);
  });
});

describe("a span", () => {
  const link = { traceId: new Uint8Array(16).fill(1), spanId: new Uint8Array(8).fill(2) };
  const batch = spans({
    name: "a",
    kind: 2,
    status: { code: 2, message: "no" },
    events: [{ name: "x" }, { name: "y" }],
    links: [link],
  });

  it("has a name, a kind and a status", () => {
    expect(first(batch, (span: SpanView) => [span.name, span.kind, span.status])).toEqual([
      "a",
      2,
      { code: 2, message: "no" },
    ]);
    expect(first(spans({}), (span: SpanView) => [span.name, span.parentSpanId, span.status])).toEqual([
      "",
      "",
      { code: 0, message: "" },
    ]);
    const edit = (span: SpanView) => {
      span.status = { code: 1, message: "" };
      expect(span.status.code).toBe(1);
    };
    expect(reread(batch, edit, (span) => span.status)).toEqual([{ code: 1, message: "" }]);
  });

  it("has events and links that can be read, edited and dropped", () => {
    const edit = (span: SpanView) => {
      expect(span.links[0]!.traceId).toBe("01".repeat(16));
      span.events[0]!.drop();
      span.events[1]!.name = "z";
      span.events[1]!.attributes.set("k", [1]);
      span.links[0]!.spanId = "ff".repeat(8);
      span.name = "b";
    };
    const read = ({ name, events, links }: SpanView) => [
      name,
      events.map((event) => [event.name, event.attributes.get("k")]),
      links.map((item) => [item.traceId, item.spanId]),
    ];
    expect(reread(batch, edit, read)).toEqual([["b", [["z", [1]]], [["01".repeat(16), "ff".repeat(8)]]]]);
  });
});

describe("a data point", () => {
  const batch = metrics(
    { name: "g", gauge: { dataPoints: [{ asInt: -5n }, { asDouble: 0 }] } },
    { name: "s", unit: "By", sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [{}] } },
    {
      name: "h",
      histogram: {
        aggregationTemporality: 1,
        dataPoints: [{ count: 3n, sum: 1.5, bucketCounts: [1n, 2n], explicitBounds: [0.5] }],
      },
    },
    {
      name: "e",
      exponentialHistogram: {
        dataPoints: [{ scale: -1, zeroCount: 1n, positive: { offset: -2, bucketCounts: [1n] } }],
      },
    },
    { name: "q", summary: { dataPoints: [{ count: 1n, sum: 2, quantileValues: [{ quantile: 0.5, value: 1 }] }] } },
  );

  it("knows its metric, for every kind of metric", () => {
    const read = ({ name, type, metric }: DataPointView) => [
      name,
      type,
      metric.unit,
      metric.aggregationTemporality,
      metric.isMonotonic,
    ];
    expect(reread(batch, () => undefined, read)).toEqual([
      ["g", "gauge", "", undefined, undefined],
      ["g", "gauge", "", undefined, undefined],
      ["s", "sum", "By", 2, true],
      ["h", "histogram", "", 1, undefined],
      ["e", "exponentialHistogram", "", 0, undefined],
      ["q", "summary", "", undefined, undefined],
    ]);
  });

  it("has the value, count and sum of its kind", () => {
    const read = ({ value, count, sum }: DataPointView) => [value, count, sum];
    expect(reread(batch, () => undefined, read)).toEqual([
      [-5n, undefined, undefined],
      [0, undefined, undefined],
      [undefined, undefined, undefined],
      [undefined, 3n, 1.5],
      [undefined, undefined, undefined],
      [undefined, 1n, 2],
    ]);
    const fields = reread(
      batch,
      () => undefined,
      (point: DataPointView) => point.fields(),
    );
    expect(fields[3]).toEqual({ count: 3n, sum: 1.5, bucketCounts: [1n, 2n], explicitBounds: [0.5] });
    expect(fields[4]).toEqual({ scale: -1, zeroCount: 1n, positive: { offset: -2, bucketCounts: [1n] } });
    expect(fields[5]).toEqual({ count: 1n, sum: 2, quantileValues: [{ quantile: 0.5, value: 1 }] });
  });

  it("takes a double as number and an integer as bigint", () => {
    const numbers = metrics({ gauge: { dataPoints: [{ asInt: 1n }, { asDouble: 1 }] } });
    const edit = (point: DataPointView) => {
      point.value = point.value === 1n ? 2.5 : 7n;
    };
    expect(reread(numbers, edit, (point) => point.value)).toEqual([2.5, 7n]);
  });

  it("changes any field by name and refuses those its kind has not", () => {
    const histogram = metrics({ histogram: { dataPoints: [{ bucketCounts: [1n] }] } });
    const edit = (point: DataPointView) => {
      point.setField("bucketCounts", [4n, 5n]);
      point.setField("max", 9);
      expect(() => point.setField("asInt", 1n)).toThrow(TypeError);
      expect(() => point.setField("attributes", [])).toThrow(TypeError);
      expect(() => {
        point.value = 1;
      }).toThrow(TypeError);
    };
    expect(reread(histogram, edit, (point) => point.fields())).toEqual([{ bucketCounts: [4n, 5n], max: 9 }]);
  });

  it("takes no field that would nest too deep for the next reader", () => {
    for (let depth = 86; depth < 100; depth++) {
      let value: Content = { boolValue: true };
      for (let i = 0; i < depth; i++) value = { arrayValue: { values: [value] } };
      const edit = (point: DataPointView) =>
        point.setField("exemplars", [{ filteredAttributes: [{ key: "k", value }] }]);
      const gauge = metrics({ gauge: { dataPoints: [{}] } });
      if (depth < 88) expect(reread(gauge, edit, (point) => point.name)).toEqual([""]);
      else if (depth > 95)
        expect(() => editRecords(gauge, (point) => edit(point as DataPointView))).toThrow(/200 deep/);
      else checkedEdit(gauge, edit);
    }
  });

  function checkedEdit(batch: Batch, edit: (point: DataPointView) => void): void {
    let edited: Batch;
    try {
      edited = editRecords(batch, (point) => edit(point as DataPointView));
    } catch (error) {
      expect(error).toMatchObject({ code: "SLUICE_MALFORMED" });
      return;
    }
    expect(Batch.admit("metrics", edited.bytes).count).toBe(1);
  }

  it("renames the metric for all its points", () => {
    let n = 0;
    const edit = (point: DataPointView) => {
      if (n++ === 0) point.name = "renamed";
    };
    expect(reread(batch, edit, (point) => point.name).slice(0, 3)).toEqual(["renamed", "renamed", "s"]);
  });

  it("takes the metric with it when it was the last", () => {
    let n = 0;
    const left = editRecords(batch, () => (n++ < 5 ? "drop" : "keep"));
    expect(
      reread(
        left,
        () => undefined,
        (point: DataPointView) => point.name,
      ),
    ).toEqual(["q"]);
    expect(Buffer.from(left.bytes).includes("By")).toBe(false);
  });
});

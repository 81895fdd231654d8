import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { compileCondition, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { anyMatches, dropWhere, keepWhere, transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import type { ContextName } from "../../../../src/runtime/ottl/paths/context.js";
import { OttlSyntaxError } from "../../../../src/runtime/ottl/values/error.js";
import {
  attributes,
  edited,
  evaluate,
  int,
  logsOf,
  METRICS,
  metricsOf,
  SPAN,
  spansOf,
  text,
} from "../../../support/telemetry/ottl.js";
import { recordsOf } from "../../../support/telemetry/trees.js";

const conditions = (context: ContextName, ...texts: string[]) => texts.map((t) => compileCondition(t, context));
const statements = (context: ContextName, ...texts: string[]) => texts.map((t) => compileStatement(t, context));
const LOGS = logsOf(
  { body: text("a"), severityNumber: 1 },
  { body: text("b"), severityNumber: 9 },
  { body: text("c"), severityNumber: 17 },
);

function bodies(batch: Batch): unknown[] {
  return recordsOf("logs", decodeTree(batch)).map(({ record }) => (record["body"] as Tree)["stringValue"]);
}

function admitted(batch: Batch): Batch {
  expect(Batch.admit(batch.signal, batch.bytes).count).toBe(batch.count);
  return batch;
}

describe("dropWhere", () => {
  it("drops the records for which any of the conditions holds", () => {
    expect(bodies(admitted(dropWhere(LOGS, conditions("log", 'body == "a"', "severity_number > 10"))))).toEqual(["b"]);
  });

  it("leaves the same batch when none holds", () => {
    expect(dropWhere(LOGS, conditions("log", "false"))).toBe(LOGS);
    expect(dropWhere(LOGS, [])).toBe(LOGS);
  });

  it("drops resources, scopes, metrics, data points and span events with their content", () => {
    expect(admitted(dropWhere(LOGS, conditions("resource", 'attributes["service.name"] == "checkout"'))).count).toBe(0);
    expect(admitted(dropWhere(LOGS, conditions("scope", 'name == "lib"'))).count).toBe(0);
    const metrics = metricsOf(...Object.values(METRICS));
    const kept = admitted(dropWhere(metrics, conditions("metric", "type == METRIC_DATA_TYPE_SUM", 'name == "g"')));
    expect(recordsOf("metrics", decodeTree(kept)).map(({ metric }) => metric!["name"])).toEqual(["h", "e", "q"]);
    const points = admitted(dropWhere(metrics, conditions("datapoint", "count == nil")));
    expect(recordsOf("metrics", decodeTree(points)).map(({ metric }) => metric!["name"])).toEqual(["h", "e", "q"]);
    const spans = admitted(dropWhere(spansOf(SPAN, SPAN), conditions("spanevent", 'name == "first"')));
    expect(spans.count).toBe(2);
    expect(evaluate("Len(events)", "span", spans)).toBe(1n);
  });

  it("keeps a span that loses all its events", () => {
    const spans = admitted(dropWhere(spansOf(SPAN), conditions("spanevent", "true")));
    expect(spans.count).toBe(1);
    expect(evaluate("[Len(events), name]", "span", spans)).toEqual([0n, "GET /health"]);
  });

  it("throws what a condition throws, or hands it on and keeps the record", () => {
    const failing = conditions("log", 'attributes["missing"] + 1 == 2', 'body == "b"');
    expect(() => dropWhere(LOGS, failing)).toThrow(/cannot calculate/);
    const errors: string[] = [];
    const kept = dropWhere(LOGS, failing, (error, { text }) => errors.push(`${text}: ${error.message}`));
    expect(bodies(kept)).toEqual(["a", "c"]);
    expect(errors).toHaveLength(3);
    expect(errors[0]).toMatch(/^attributes\["missing"\] \+ 1 == 2: cannot calculate with nil/);
  });

  it("refuses a context that the signal does not have", () => {
    expect(() => dropWhere(LOGS, conditions("span", "true"))).toThrow(/no span in a batch of logs/);
  });
});

describe("keepWhere and anyMatches", () => {
  it("are the other side of dropWhere", () => {
    expect(bodies(admitted(keepWhere(LOGS, conditions("log", "severity_number > 5"))))).toEqual(["b", "c"]);
    expect(anyMatches(LOGS, conditions("log", 'body == "c"'))).toBe(true);
    expect(anyMatches(LOGS, conditions("log", 'body == "d"'))).toBe(false);
    expect(keepWhere(LOGS, []).count).toBe(0);
  });
});

describe("transformBatch", () => {
  it("executes statements only where one of the conditions holds", () => {
    const result = admitted(
      transformBatch(LOGS, statements("log", 'set(body, "x")'), conditions("log", "severity_number > 5")),
    );
    expect(bodies(result)).toEqual(["a", "x", "x"]);
  });

  it("continues with the next statement when one fails, and reports the failure", () => {
    const failing = statements("log", 'set(attributes["n"], attributes["missing"] + 1)', 'set(body, "x")');
    expect(() => transformBatch(LOGS, failing)).toThrow(/cannot calculate/);
    const errors: unknown[] = [];
    expect(bodies(transformBatch(LOGS, failing, [], (error) => errors.push(error)))).toEqual(["x", "x", "x"]);
    expect(errors).toHaveLength(3);
  });

  it("gives every record its own cache", () => {
    const result = transformBatch(
      LOGS,
      statements("log", 'set(attributes["seen"], cache["x"])', 'set(cache["x"], body)'),
    );
    expect(result).toBe(LOGS);
  });

  it("keeps unknown fields", () => {
    const unknown = Buffer.from([0xa2, 0x06, 3, 1, 2, 3]);
    const record = Buffer.concat([Buffer.from([26, 1, 65]), unknown]);
    const wrap = (tag: number, body: Buffer) => Buffer.concat([Buffer.from([tag, body.length]), body]);
    const batch = Batch.admit("logs", wrap(10, wrap(18, wrap(18, record))));
    const result = edited(['set(severity_text, "B")', 'set(attributes["a"], 1)'], "log", batch);
    expect(Buffer.from(result.bytes).includes(unknown)).toBe(true);
    expect(evaluate("severity_text", "log", result)).toBe("B");
  });

  it("takes duplicates of a key out with it", () => {
    const doubled = [...attributes({ a: text("1") }), ...attributes({ a: text("2"), b: text("3") })];
    expect(
      evaluate("attributes", "log", edited('delete_key(attributes, "a")', "log", logsOf({ attributes: doubled }))),
    ).toEqual({ b: "3" });
  });

  it("edits many records and what is around them in one pass", () => {
    const batch = logsOf(...Array.from({ length: 50 }, (_, i) => ({ attributes: attributes({ n: int(BigInt(i)) }) })));
    const result = edited(
      [
        'set(attributes["twice"], attributes["n"] * 2)',
        'set(resource.attributes["last"], attributes["n"])',
        'set(scope.name, "x")',
      ],
      "log",
      batch,
    );
    const records = recordsOf("logs", decodeTree(result));
    expect(records.map(({ record }) => (record["attributes"] as Tree[]).at(-1)!["value"])).toEqual(
      Array.from({ length: 50 }, (_, i) => ({ intValue: BigInt(i * 2) })),
    );
    expect(evaluate('[resource.attributes["last"], scope.name]', "log", result)).toEqual([49n, "x"]);
  });

  it("makes a resource where there was none", () => {
    const bare = encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] });
    const result = edited(['set(resource.attributes["a"], "b")', 'set(scope.name, "s")'], "log", bare);
    expect(evaluate('[resource.attributes["a"], scope.name]', "log", result)).toEqual(["b", "s"]);
    expect(evaluate('attributes["a"]', "resource", edited('set(attributes["a"], 1)', "resource", bare))).toBe(1n);
  });
});

describe("an editor of metrics", () => {
  const names = (batch: Batch) => recordsOf("metrics", decodeTree(batch)).map(({ metric }) => metric!["name"]);
  const metricOf = (batch: Batch, name: string) =>
    recordsOf("metrics", decodeTree(batch)).find(({ metric }) => metric!["name"] === name)!.metric!;

  it("scales values, bounds and quantiles", () => {
    const scaled = (name: string) =>
      metricOf(edited('scale_metric(10, "ds")', "metric", metricsOf(METRICS[name]!)), METRICS[name]!["name"] as string);
    expect(scaled("gauge")).toMatchObject({ unit: "ds", gauge: { dataPoints: [{ asDouble: 15 }] } });
    expect(scaled("sum")).toMatchObject({ sum: { dataPoints: [{ asInt: 70n }] } });
    expect(scaled("histogram")).toMatchObject({
      histogram: { dataPoints: [{ sum: 125, explicitBounds: [10, 20], min: 5, max: 90 }] },
    });
    expect(scaled("summary")).toMatchObject({
      summary: { dataPoints: [{ sum: 50, quantileValues: [{ quantile: 0.5, value: 20 }] }] },
    });
    expect(() => scaled("exponentialHistogram")).toThrow(/cannot scale/);
  });

  it("adds percentiles of histograms", () => {
    const all = metricsOf(METRICS["histogram"]!, METRICS["exponentialHistogram"]!, METRICS["gauge"]!);
    const result = edited(
      'extract_percentile_metric(50) where name == "h" or name == "e" or name == "g"',
      "metric",
      all,
    );
    expect(names(result)).toEqual(["h", "e", "g", "h_p50", "e_p50"]);
    expect(metricOf(result, "h_p50")).toMatchObject({ description: "p50", gauge: { dataPoints: [{ asDouble: 2 }] } });
  });

  it("gives percentiles of exponential histograms to the last digit of the Collector's", () => {
    const exponential = metricsOf({
      name: "e",
      exponentialHistogram: {
        dataPoints: [{ count: 210n, scale: 2, positive: { bucketCounts: [20n, 30n, 40n, 50n, 30n, 35n, 5n] } }],
      },
    });
    const result = edited('extract_percentile_metric(95.0) where name == "e"', "metric", exponential);
    expect(metricOf(result, "e_p95")).toMatchObject({ gauge: { dataPoints: [{ asDouble: 2.7592682406908096 }] } });
  });

  it("makes sums and gauges of summaries", () => {
    const summary = metricsOf(METRICS["summary"]!);
    const sums = edited(
      ['convert_summary_count_val_to_sum("delta", true)', 'convert_summary_sum_val_to_sum("delta", true, ".s")'],
      "datapoint",
      summary,
    );
    expect(metricOf(sums, "q_count")).toMatchObject({
      sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [{ asInt: 2n }] },
    });
    expect(metricOf(sums, "q.s")).toMatchObject({ sum: { dataPoints: [{ asDouble: 5 }] } });
    const added = 'convert_summary_sum_val_to_sum("delta", true) where metric.unit == ""';
    const renamed = edited([added, 'set(metric.unit, "new")'], "datapoint", summary);
    expect(metricOf(renamed, "q")).toMatchObject({ unit: "new" });
    expect(metricOf(renamed, "q_sum")["unit"] ?? "").toBe("");
    const gauge = edited("convert_summary_quantile_val_to_gauge()", "metric", summary);
    expect(metricOf(gauge, "q.quantiles")).toMatchObject({ gauge: { dataPoints: [{ asDouble: 2 }] } });
  });

  it("makes an exponential histogram one with bounds, and keeps every positive observation", () => {
    const batch = metricsOf(METRICS["exponentialHistogram"]!);
    for (const distribution of ["upper", "midpoint", "uniform", "random"]) {
      const statement = `convert_exponential_histogram_to_histogram("${distribution}", [0.0, 20.0, 50.0])`;
      const [point] = (metricOf(edited(statement, "metric", batch), "e")["histogram"] as { dataPoints: Tree[] })
        .dataPoints;
      const counts = point!["bucketCounts"] as bigint[];
      expect(counts.reduce((a, b) => a + b, 0n)).toBe(4n);
      expect(point).toMatchObject({ count: 4n, sum: 3, explicitBounds: [0, 20, 50] });
    }
  });

  it("joins buckets of a histogram", () => {
    const batch = edited('set(attributes["one"], "1.0")', "datapoint", metricsOf(METRICS["histogram"]!));
    const points = (statement: string) => metricOf(edited(statement, "datapoint", batch), "h")["histogram"];
    expect(points("merge_histogram_buckets(1)")).toMatchObject({
      dataPoints: [{ bucketCounts: [3n, 3n], explicitBounds: [2] }],
    });
    expect(points('merge_histogram_buckets(2, "limit_buckets")')).toMatchObject({
      dataPoints: [{ bucketCounts: [3n, 3n], explicitBounds: [2] }],
    });
    for (const one of ['"1"', "true", 'attributes["one"]'])
      expect(points(`merge_histogram_buckets(${one})`)).toEqual(points("merge_histogram_buckets(1)"));
    for (const none of ['"x"', "nil", "[1]", '{"a": 1}'])
      expect(() => points(`merge_histogram_buckets(${none})`)).toThrow(OttlSyntaxError);
    expect(() => points('merge_histogram_buckets(attributes["none"])')).toThrow(/expected number, got nil/);
    expect(points("merge_histogram_buckets(7)")).toMatchObject({ dataPoints: [{ bucketCounts: [1n, 2n, 3n] }] });
  });

  it("aggregates over values of an attribute", () => {
    const point = (route: string, asInt: bigint) => ({
      timeUnixNano: 200n,
      attributes: attributes({ route: text(route) }),
      asInt,
    });
    const sum = {
      ...METRICS["sum"]!,
      sum: { aggregationTemporality: 2, dataPoints: [point("/a", 1n), point("/b", 2n), point("/c", 4n)] },
    };
    const result = edited(
      'aggregate_on_attribute_value("sum", "route", ["/a", "/b"], "/ab")',
      "metric",
      metricsOf(sum),
    );
    expect(metricOf(result, "s")).toMatchObject({ sum: { dataPoints: [point("/ab", 3n), point("/c", 4n)] } });
  });

  it("makes a sum a gauge and a gauge a sum", () => {
    const gauge = edited("convert_sum_to_gauge()", "metric", metricsOf(METRICS["sum"]!, METRICS["histogram"]!));
    expect(evaluate("[type, is_monotonic]", "metric", gauge)).toEqual([1n, null]);
    expect(evaluate("value_int", "datapoint", gauge)).toBe(7n);
    const sum = edited('convert_gauge_to_sum("delta", true)', "metric", metricsOf(METRICS["gauge"]!));
    expect(evaluate("[type, is_monotonic, aggregation_temporality]", "metric", sum)).toEqual([2n, true, 1n]);
    const untouched = metricsOf(METRICS["histogram"]!);
    expect(edited(["convert_sum_to_gauge()", 'convert_gauge_to_sum("delta", true)'], "metric", untouched)).toBe(
      untouched,
    );
  });

  it("lets later statements see the new type, and keeps the changes of earlier ones", () => {
    const batch = edited(
      [
        'set(name, "renamed")',
        "set(is_monotonic, false)",
        "convert_sum_to_gauge()",
        'set(unit, "g") where type == METRIC_DATA_TYPE_GAUGE',
      ],
      "metric",
    );
    expect(evaluate("[name, unit, type]", "metric", batch)).toEqual(["renamed", "g", 1n]);
  });

  it("copies a metric once", () => {
    const batch = edited(
      'copy_metric(name = "copy", unit = "x") where name == "s"',
      "metric",
      metricsOf(METRICS["sum"]!, METRICS["gauge"]!),
    );
    expect(names(batch)).toEqual(["s", "g", "copy"]);
    expect(metricOf(batch, "copy")["unit"]).toBe("x");
  });

  it("lets statements visit the metrics that others add", () => {
    const batch = edited(
      [
        'copy_metric(name = "copy") where name == "s"',
        'set(unit, "new") where name == "copy"',
        'convert_sum_to_gauge() where name == "copy"',
        'copy_metric(name = "again") where name == "copy"',
        'set(resource.attributes["last"], name)',
      ],
      "metric",
      metricsOf(METRICS["sum"]!, METRICS["gauge"]!),
    );
    expect(names(batch)).toEqual(["s", "g", "copy", "again"]);
    expect(metricOf(batch, "copy")).toMatchObject({ unit: "new", gauge: { dataPoints: [{ asInt: 7n }] } });
    expect(metricOf(batch, "s")).toMatchObject({ unit: "1", sum: {} });
    expect(evaluate('resource.attributes["last"]', "metric", batch)).toBe("g");
  });

  it("keeps the conditions of a group for the metrics it adds", () => {
    const copies = statements("metric", 'copy_metric(name = "copy")', 'set(unit, "x")');
    const result = transformBatch(metricsOf(METRICS["sum"]!), copies, conditions("metric", 'name == "s"'));
    expect(names(admitted(result))).toEqual(["s", "copy"]);
    expect(metricOf(result, "copy")["unit"]).toBe("1");
  });

  it("stops statements that would add metrics without end, and keeps the others", () => {
    const endless = statements("metric", "copy_metric()", "copy_metric()");
    const batch = metricsOf(METRICS["sum"]!);
    expect(() => transformBatch(batch, endless)).toThrow(/more than 100 metrics from one/);
    const errors: string[] = [];
    const result = admitted(transformBatch(batch, endless, [], (error) => errors.push(error.message)));
    expect(names(result)[0]).toBe("s");
    expect(result.count).toBeLessThan(200);
    expect(errors).toHaveLength(1);
  });

  it("extracts counts and sums of histograms and summaries", () => {
    const all = metricsOf(METRICS["histogram"]!, METRICS["summary"]!);
    const where = "where type == METRIC_DATA_TYPE_HISTOGRAM or type == METRIC_DATA_TYPE_SUMMARY";
    const batch = edited(
      [`extract_count_metric(true) ${where}`, `extract_sum_metric(false, ".total") ${where}`],
      "metric",
      all,
    );
    expect(names(batch)).toEqual(["h", "q", "h_count", "h.total", "q_count", "q.total"]);
    const count = metricOf(batch, "h_count");
    expect(count["unit"]).toBe("1");
    expect(count["sum"]).toMatchObject({
      aggregationTemporality: 1,
      isMonotonic: true,
      dataPoints: [{ asInt: 6n, timeUnixNano: 200n }],
    });
    expect(metricOf(batch, "q.total")["sum"]).toMatchObject({
      aggregationTemporality: 2,
      dataPoints: [{ asDouble: 5 }],
    });
    expect(() => edited("extract_sum_metric(true)", "metric", metricsOf(METRICS["sum"]!))).toThrow(/needs a histogram/);
  });

  it.each([
    ["sum", 9n],
    ["max", 4n],
    ["min", 2n],
    ["mean", 3n],
    ["median", 3n],
    ["count", 3n],
  ])("aggregates points by %s", (how, value) => {
    const point = (route: string, asInt: bigint) => ({
      timeUnixNano: 1n,
      attributes: attributes({ route: text(route), pod: int(asInt) }),
      asInt,
    });
    const metric = {
      name: "m",
      sum: {
        aggregationTemporality: 2,
        dataPoints: [point("/a", 2n), point("/a", 3n), point("/b", 9n), point("/a", 4n)],
      },
    };
    const batch = edited(`aggregate_on_attributes("${how}", ["route"])`, "metric", metricsOf(metric));
    expect(batch.count).toBe(2);
    expect(evaluate("[attributes, value_int]", "datapoint", batch)).toEqual([{ route: "/a" }, value]);
  });

  it("merges exponential histograms of one scale with any offsets", () => {
    const point = (offset: number, ...bucketCounts: bigint[]) => ({
      timeUnixNano: 1n,
      startTimeUnixNano: BigInt(Math.max(0, 10 - offset)),
      count: 3n,
      zeroCount: 1n,
      scale: 2,
      positive: { offset, bucketCounts },
      attributes: attributes({ pod: int(BigInt(offset)) }),
    });
    const dataPoints = [point(2, 1n, 1n), point(0, 2n), point(3, 5n)];
    const metric = { exponentialHistogram: { aggregationTemporality: 2, dataPoints } };
    const batch = edited('aggregate_on_attributes("sum", [])', "metric", metricsOf(metric));
    expect(batch.count).toBe(1);
    expect(
      evaluate(
        "[count, zero_count, positive.offset, positive.bucket_counts, start_time_unix_nano]",
        "datapoint",
        batch,
      ),
    ).toEqual([9n, 3n, 0n, [2n, 0n, 1n, 6n], 7n]);
    const apart = { exponentialHistogram: { dataPoints: [point(0, 1n), point(2 ** 30, 1n)] } };
    expect(() => edited('aggregate_on_attributes("sum", [])', "metric", metricsOf(apart))).toThrow(/too far apart/);
  });

  it("sums histograms bucket by bucket", () => {
    const point = (count: bigint) => ({
      timeUnixNano: 1n,
      count,
      sum: 1.5,
      bucketCounts: [count, 1n],
      explicitBounds: [1],
      attributes: attributes({ pod: int(count) }),
    });
    const metric = { histogram: { aggregationTemporality: 2, dataPoints: [point(2n), point(3n)] } };
    const batch = edited('aggregate_on_attributes("sum", [])', "metric", metricsOf(metric));
    expect(evaluate("[count, sum, bucket_counts]", "datapoint", batch)).toEqual([5n, 3, [5n, 2n]]);
    const anyFunction = edited('aggregate_on_attributes("max", [])', "metric", metricsOf(metric));
    expect(evaluate("[count, sum, bucket_counts]", "datapoint", anyFunction)).toEqual([5n, 3, [5n, 2n]]);
    for (const statement of [
      'aggregate_on_attributes("sum")',
      'aggregate_on_attribute_value("sum", "route", ["/a"], "/b")',
    ])
      expect(() => edited(statement, "metric", metricsOf(METRICS["summary"]!))).toThrow(/cannot aggregate summaries/);
  });
});

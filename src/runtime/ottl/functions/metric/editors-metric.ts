import type { Tree, TreeValue } from "#otlp/bytes";
import { GAUGE_TAG, SUM_TAG } from "#otlp/metric-tags";
import type { ContextName } from "../../paths/context.js";
import type { RecordContext } from "../../paths/record-context.js";
import { OttlError } from "../../values/error.js";
import { type CallArguments, type FunctionSpec, parameters } from "../function-spec.js";
import { AGGREGATIONS, type Aggregation, aggregatePoints } from "./aggregate.js";
import { attributesAndTimes, kindOf, pointsOf } from "./metric-tree.js";

/** Editors of whole metrics. They work on the metric as a tree because they are rare and change its structure. */

const METRIC: readonly ContextName[] = ["metric"];
const DELTA = 1;
const CUMULATIVE = 2;

function temporalityOf(metric: Tree): number | undefined {
  const histogram = (metric["histogram"] ?? metric["exponentialHistogram"]) as Tree | undefined;
  if (histogram !== undefined) return Number(histogram["aggregationTemporality"] ?? 0) || undefined;
  return metric["summary"] === undefined ? undefined : CUMULATIVE;
}

/** Creates a sum from one number of each point of a histogram or summary. */
function extractSum(
  args: CallArguments,
  name: string,
  suffix: string,
  number: (point: Tree, metric: Tree) => Tree | undefined,
) {
  const isMonotonic = args.literalBool("monotonic");
  const ending = args.literalText("suffix", suffix);
  return (ctx: RecordContext) => {
    const metric = ctx.recordTree();
    const aggregationTemporality = temporalityOf(metric);
    if (aggregationTemporality === undefined)
      throw new OttlError(`${name} needs a histogram or summary with a temporality`);
    const dataPoints = pointsOf(metric).flatMap((point) => {
      const value = number(point, metric);
      return value === undefined ? [] : [{ ...attributesAndTimes(point), ...value }];
    });
    if (dataPoints.length === 0) return null;
    ctx.addMetric({
      name: `${String(metric["name"] ?? "")}${ending}`,
      description: metric["description"] ?? "",
      unit: name === "extract_count_metric" ? "1" : (metric["unit"] ?? ""),
      sum: { aggregationTemporality, isMonotonic, dataPoints },
    });
    return null;
  };
}

function aggregationArgument(args: CallArguments): Aggregation {
  const name = args.literalText("aggregation_function");
  if (!AGGREGATIONS.includes(name as Aggregation))
    args.reject("aggregation_function", `the function is one of ${AGGREGATIONS.join(", ")}`);
  return name as Aggregation;
}

/** Points whose attribute has one of the values get the new value and are then aggregated. */
function aggregateOnValue(args: CallArguments) {
  const aggregation = aggregationArgument(args);
  const key = args.literalText("attribute");
  const values = new Set(args.literalTexts("values"));
  const stringValue = args.literalText("new_value");
  return (ctx: RecordContext) => {
    const metric = ctx.recordTree();
    const kind = kindOf(metric);
    if (kind === undefined) return null;
    if (kind === "summary") throw new OttlError("aggregate_on_attribute_value cannot aggregate summaries");
    const dataPoints = pointsOf(metric).map((point) => ({
      ...point,
      attributes: ((point["attributes"] ?? []) as Tree[]).map((attribute) => {
        const text = (attribute["value"] as Tree | undefined)?.["stringValue"] ?? "";
        return attribute["key"] === key && values.has(String(text)) ? { key, value: { stringValue } } : attribute;
      }),
    }));
    const renamed: Tree = { ...metric, [kind]: { ...(metric[kind] as Tree), dataPoints } };
    ctx.replaceRecord(aggregatePoints(renamed, aggregation, undefined) ?? renamed);
    return null;
  };
}

export const METRIC_EDITORS: readonly FunctionSpec[] = [
  {
    name: "convert_sum_to_gauge",
    parameters: [],
    returns: "",
    summary: "Converts a sum to a gauge. Other metrics stay unchanged.",
    example: "convert_sum_to_gauge()",
    contexts: METRIC,
    compile: () => (ctx) => {
      if (ctx.around.metricData.tag() !== SUM_TAG) return null;
      const { sum, ...metric } = ctx.recordTree();
      ctx.replaceRecord({ ...metric, gauge: { dataPoints: (sum as Tree)["dataPoints"] ?? [] } });
      return null;
    },
  },
  {
    name: "convert_gauge_to_sum",
    parameters: parameters("string_agg_temp: STRING", "monotonic: BOOL"),
    returns: "",
    summary: 'Converts a gauge to a sum that is "delta" or "cumulative". Other metrics stay unchanged.',
    example: 'convert_gauge_to_sum("cumulative", true)',
    contexts: METRIC,
    compile(args) {
      const temporality = args.literalText("string_agg_temp");
      const isMonotonic = args.literalBool("monotonic");
      if (temporality !== "delta" && temporality !== "cumulative")
        args.reject("string_agg_temp", 'the temporality is "delta" or "cumulative"');
      const aggregationTemporality = temporality === "delta" ? DELTA : CUMULATIVE;
      return (ctx) => {
        if (ctx.around.metricData.tag() !== GAUGE_TAG) return null;
        const { gauge, ...metric } = ctx.recordTree();
        const dataPoints = (gauge as Tree)["dataPoints"] ?? [];
        ctx.replaceRecord({ ...metric, sum: { dataPoints, aggregationTemporality, isMonotonic } });
        return null;
      };
    },
  },
  {
    name: "copy_metric",
    parameters: parameters("name?: string", "description?: string", "unit?: string"),
    returns: "",
    summary:
      "Adds a copy of the metric to its scope, with another name, description or unit. Statements visit the copy too: the condition must not hold for it.",
    example: 'copy_metric(name = "http.requests.copy") where name == "http.requests"',
    contexts: METRIC,
    compile(args) {
      const changes = ["name", "description", "unit"]
        .filter((name) => args.has(name))
        .map((name) => [name, args.text(name)] as const);
      return (ctx) => {
        const metric = ctx.recordTree();
        for (const [name, text] of changes) metric[name] = text(ctx);
        ctx.addMetric(metric);
        return null;
      };
    },
  },
  {
    name: "extract_count_metric",
    parameters: parameters("monotonic: BOOL", "suffix?: STRING"),
    returns: "",
    summary: "Adds a sum of the counts of a histogram or summary, named after it with `_count`.",
    example: "extract_count_metric(true)",
    contexts: METRIC,
    compile: (args) =>
      extractSum(args, "extract_count_metric", "_count", (point) => ({
        asInt: BigInt.asIntN(64, (point["count"] as bigint | undefined) ?? 0n),
      })),
  },
  {
    name: "extract_sum_metric",
    parameters: parameters("monotonic: BOOL", "suffix?: STRING"),
    returns: "",
    summary: "Adds a sum of the sums of a histogram or summary, named after it with `_sum`.",
    example: "extract_sum_metric(true)",
    contexts: METRIC,
    compile: (args) =>
      extractSum(args, "extract_sum_metric", "_sum", (point, metric) => {
        if (point["sum"] === undefined && metric["summary"] === undefined) return undefined;
        return { asDouble: (point["sum"] as TreeValue | undefined) ?? 0 };
      }),
  },
  {
    name: "aggregate_on_attributes",
    parameters: parameters("aggregation_function: STRING", "attributes?: STRING[]"),
    returns: "",
    summary:
      "Removes all attributes except these from the points of a metric, and merges points with equal attributes and times: sum, max, min, mean, median or count. Histograms are always summed, summaries cannot be aggregated.",
    example: 'aggregate_on_attributes("sum", ["http.route"])',
    contexts: METRIC,
    compile(args) {
      const aggregation = aggregationArgument(args);
      const kept = args.has("attributes") ? new Set(args.literalTexts("attributes")) : undefined;
      return (ctx) => {
        const metric = ctx.recordTree();
        if (metric["summary"] !== undefined) throw new OttlError("aggregate_on_attributes cannot aggregate summaries");
        const aggregated = aggregatePoints(metric, aggregation, kept);
        if (aggregated !== undefined) ctx.replaceRecord(aggregated);
        return null;
      };
    },
  },
  {
    name: "aggregate_on_attribute_value",
    parameters: parameters(
      "aggregation_function: STRING",
      "attribute: STRING",
      "values: STRING[]",
      "new_value: STRING",
    ),
    returns: "",
    summary:
      "Sets the attribute to the new value on points where it has one of the values, and then merges points with equal attributes and times, as aggregate_on_attributes does.",
    example: 'aggregate_on_attribute_value("sum", "status", ["500", "503"], "5xx")',
    contexts: METRIC,
    compile: aggregateOnValue,
  },
];

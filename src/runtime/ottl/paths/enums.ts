import { MESSAGES } from "#otlp/bytes";
import type { ContextName } from "./context.js";

function enumValues(message: string, field: string): [string, bigint][] {
  return MESSAGES[message]!.byName.get(field)!.enumNames!.map((name, i) => [name, BigInt(i)]);
}

const SEVERITIES = enumValues("LogRecord", "severityNumber");
const SPANS = [...enumValues("Span", "kind"), ...enumValues("Status", "code")];
const METRICS: [string, bigint][] = [
  ...enumValues("Sum", "aggregationTemporality"),
  ...["NONE", "GAUGE", "SUM", "HISTOGRAM", "EXPONENTIAL_HISTOGRAM", "SUMMARY"].map((name, i): [string, bigint] => [
    `METRIC_DATA_TYPE_${name}`,
    BigInt(i),
  ]),
];
const FLAGS: [string, bigint][] = [
  ["FLAG_NONE", 0n],
  ["FLAG_NO_RECORDED_VALUE", 1n],
];
const NO_ENUMS: ReadonlyMap<string, bigint> = new Map();

/** Names of enum numbers in each context. */
export const ENUMS: Readonly<Record<ContextName, ReadonlyMap<string, bigint>>> = {
  resource: NO_ENUMS,
  scope: NO_ENUMS,
  log: new Map(SEVERITIES),
  span: new Map(SPANS),
  spanevent: new Map(SPANS),
  metric: new Map(METRICS),
  datapoint: new Map([...METRICS, ...FLAGS]),
  exemplar: new Map([...METRICS, ...FLAGS]),
};

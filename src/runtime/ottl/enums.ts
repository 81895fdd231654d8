import { MESSAGES } from "../telemetry/messages.js";
import type { ContextName } from "./context.js";

function numbered(message: string, field: string): [string, bigint][] {
  return MESSAGES[message]!.byName.get(field)!.values!.map((name, i) => [name, BigInt(i)]);
}

const SEVERITIES = numbered("LogRecord", "severityNumber");
const SPANS = [...numbered("Span", "kind"), ...numbered("Status", "code")];
const METRICS: [string, bigint][] = [
  ...numbered("Sum", "aggregationTemporality"),
  ...["NONE", "GAUGE", "SUM", "HISTOGRAM", "EXPONENTIAL_HISTOGRAM", "SUMMARY"].map((name, i): [string, bigint] => [
    `METRIC_DATA_TYPE_${name}`,
    BigInt(i),
  ]),
];
const FLAGS: [string, bigint][] = [
  ["FLAG_NONE", 0n],
  ["FLAG_NO_RECORDED_VALUE", 1n],
];
const NONE: ReadonlyMap<string, bigint> = new Map();

/** The names of numbers in each context. */
export const ENUMS: Readonly<Record<ContextName, ReadonlyMap<string, bigint>>> = {
  resource: NONE,
  scope: NONE,
  log: new Map(SEVERITIES),
  span: new Map(SPANS),
  spanevent: new Map(SPANS),
  metric: new Map(METRICS),
  datapoint: new Map([...METRICS, ...FLAGS]),
};

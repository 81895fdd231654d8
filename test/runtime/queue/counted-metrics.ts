import type { Metrics } from "../../../src/plugin.js";
import type { MetricAttributes } from "../../../src/runtime/contract/observability.js";

export interface CountedMetrics extends Metrics {
  /** Sum of a counter over all its attributes, or those that contain the given ones; or a gauge's present value. */
  value(name: string, attributes?: MetricAttributes): number;
  readonly names: ReadonlySet<string>;
}

/** Metrics that can be asked for their values. */
export function countedMetrics(): CountedMetrics {
  const series: { name: string; attributes: MetricAttributes; read: () => number }[] = [];
  const add = (name: string, attributes: MetricAttributes, read: () => number) => {
    const one = { name, attributes, read };
    series.push(one);
    return () => void series.splice(series.indexOf(one), 1);
  };
  return {
    counter(name, _description, attributes = {}) {
      let total = 0;
      add(name, attributes, () => total);
      return {
        add(value) {
          total += value;
        },
      };
    },
    gauge: (name, _description, read, attributes = {}) => add(name, attributes, read),
    histogram(name, _description, attributes = {}) {
      let count = 0;
      add(name, attributes, () => count);
      return {
        record() {
          count += 1;
        },
      };
    },
    value(name, wanted = {}) {
      const has = (attributes: MetricAttributes) => Object.entries(wanted).every(([k, v]) => attributes[k] === v);
      return series.filter((one) => one.name === name && has(one.attributes)).reduce((sum, one) => sum + one.read(), 0);
    },
    get names() {
      return new Set(series.map(({ name }) => name));
    },
  };
}

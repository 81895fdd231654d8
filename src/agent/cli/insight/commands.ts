import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS } from "../agent/operator.js";
import { type Command, flag, JSON_OUT, option } from "../command.js";

export const INSIGHT: Command = {
  name: "insight",
  summary: "Show what the traffic consists of and costs, and how to cut it.",
  details: [
    "Shows the largest services of the last hour, or whatever --by names: severity, scope, exporter, pattern, attribute,",
    "metric, span, cardinality or duplicates. The agent needs the extension insight. Numbers are estimated from a sample;",
    "+- is their error. Money per day needs prices in the config.",
    "With cut and an action (drop, sample, dedup, remove_attribute or aggregate_label) it shows the processors that would cut",
    "the row that --by, --name and --signal name, the difference in the config, and what that would save. It changes",
    "nothing. --save FILE writes a config file to be merged after your own. --rehearse lets the agent try it on a sample of",
    "its traffic, and shows what it saves there beside the estimate. Ctrl-C cancels that.",
  ],
  options: {
    by: option("NAME", "What to group by; default: service."),
    place: option("NAME", "exporters, receivers, or the name of an exporter, a receiver or a pipeline."),
    signal: option("NAME", "logs, traces or metrics."),
    service: option("NAME", "Only patterns, metrics or spans that come mostly from this service."),
    limit: option("N", "Number of rows; default: 20, at most 1000."),
    sort: option("COLUMN", "bytes (default), records, cost, series, last_seen or name."),
    name: option("NAME", "With cut: the name of the row."),
    n: option("N", "With cut sample: keep one in N; default: 10."),
    context: option("NAME", "With cut: where an attribute is: resource, scope or record."),
    label: option("NAME", "With cut aggregate_label: the label."),
    pipeline: option("ID", "With cut: the pipeline; default: all of the signal."),
    save: option("FILE", "With cut: write the config to this file, which must not exist."),
    rehearse: flag("With cut: measure on live traffic; needs the role configure."),
    for: option("DURATION", "With --rehearse: length of the sample; default: 30s."),
    "sample-rate": option("SHARE", "With --rehearse: share of the batches; default: 10%."),
    "max-size": option("SIZE", "With --rehearse: default: 32MiB, at most 64MiB."),
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  names: "[cut ACTION]",
  examples: [
    "sluice insight",
    "sluice insight --by pattern --service checkout --limit 10",
    "sluice insight --by cardinality --json",
    "sluice insight cut drop --by pattern --name 'GET /healthz <*>' --signal logs --save cut.yaml",
    "sluice insight cut sample --by service --name checkout --signal logs --n 10 --rehearse --for 30s",
  ],
  load: async () => (await import("./insight.js")).insight,
};

import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS } from "../agent/operator.js";
import { type Command, type CommandOption, flag, JSON_OUT, option } from "../command.js";

/** Options of commands that take a sample of live traffic. */
export const SAMPLE_OPTIONS: Readonly<Record<string, CommandOption>> = {
  for: option("DURATION", "How long to take a sample; default: 60s, at most 1h."),
  "sample-rate": option("SHARE", "Share of the batches to take: 10% or 0.1."),
  "max-size": option("SIZE", "Size of the sample; default: 64MiB, at most 1GiB."),
};

export const TOP: Command = {
  name: "top",
  summary: "Watch the traffic of a running agent.",
  details: [
    "Shows pipelines and exporters with records per second, queues, circuit breakers and dead letters, every second.",
    "q quits. Without a terminal it prints once.",
  ],
  options: {
    once: flag("Print once and exit."),
    ...AGENT_OPTIONS,
    json: flag("Print a line of JSON each second, for programs."),
  },
  examples: ["sluice top", "sluice top --once", "sluice top --once --json"],
  load: async () => (await import("./top.js")).top,
};

export const TAP: Command = {
  name: "tap",
  summary: "Show records that pass through a running agent.",
  details: [
    "Shows the output of a component or pipeline, the input of an exporter, or an edge (an id from the API's /graph).",
    "Personal data and secrets are masked. Tapping does not change or delay data. The number of records that were not shown",
    "is printed to stderr.",
    "--record FILE records a sample for sluice rehearse instead: unmasked batches as they leave the receivers, from all",
    "receivers or the named ones. This needs --why TEXT and is recorded in the audit. Only you can read the file.",
  ],
  options: {
    where: option("OTTL", "Show only records that match this condition: severity_number >= 17."),
    limit: option("N", "Exit after this many records; default: 1000."),
    rate: option("N", "Records per second; default: 10, at most 1000."),
    record: option("FILE", "Record a sample to this file, which must not exist."),
    ...SAMPLE_OPTIONS,
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    json: flag("Print a line of JSON per record, for programs."),
  },
  names: "COMPONENT|PIPELINE",
  examples: [
    "sluice tap logs",
    "sluice tap otlp_http/backend --where 'severity_number >= 17' --limit 5 --json",
    "sluice tap --record traffic.sample --for 60s --why 'rehearse the new filter'",
  ],
  load: async () => (await import("./tap.js")).tap,
};

export const OTTL: Command = {
  name: "ottl",
  summary: "Try OTTL statements on a record.",
  details: [
    "Needs no agent. Shows what each statement changed, or why it failed. Each statement works on the result of the previous",
    "one. Exit code 1 if a statement failed, or if the condition is false.",
  ],
  options: {
    record: option(
      "FILE",
      "A log record, span or metric as OTLP/JSON, or a whole request: a file, - for stdin, or the JSON itself.",
    ),
    context: option("NAME", "log, span, metric and so on; default: inferred from the paths."),
    signal: option("NAME", "logs (default), traces or metrics."),
    condition: option("OTTL", "Evaluate a condition instead of statements."),
    ...JSON_OUT,
  },
  names: "[STATEMENT ...]",
  examples: [
    `sluice ottl --record record.json 'set(log.severity_text, "WARN")'`,
    `sluice ottl --context log --record '{"severityNumber": 17}' --condition 'severity_number > 16'`,
  ],
  load: async () => (await import("./ottl.js")).ottl,
};

import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { type Command, JSON_OUT } from "../command.js";

export const TOP: Command = {
  name: "top",
  summary: "Watch what passes through a running agent.",
  details: [
    "Pipelines and exporters with records per second, queues, circuit breakers and dead letters, drawn anew each second.",
    "q ends it. Where there is no terminal it prints once.",
  ],
  options: {
    once: { type: "boolean", description: "Print once and end." },
    ...AGENT_OPTIONS,
    json: { type: "boolean", description: "Print a line of JSON each second, for programs." },
  },
  examples: ["sluice top", "sluice top --once", "sluice top --once --json"],
  load: async () => (await import("./top.js")).top,
};

export const TAP: Command = {
  name: "tap",
  summary: "Show records of a running agent as they pass.",
  details: [
    "At a component (what leaves it; of an exporter what comes to it), at a pipeline (what comes out of it), or at an id",
    "of the API's /graph. Personal data and secrets are masked. Nothing is changed or held up; what passed and was not shown is",
    "counted on stderr.",
  ],
  options: {
    where: { type: "string", value: "OTTL", description: "Only records for which it holds: severity_number >= 17." },
    limit: { type: "string", value: "N", description: "End after so many records; default: 1000." },
    rate: { type: "string", value: "N", description: "Records per second; default: 10, at most 1000." },
    ...AGENT_OPTIONS,
    json: { type: "boolean", description: "Print a line of JSON a record, for programs." },
  },
  names: "COMPONENT|PIPELINE",
  examples: ["sluice tap logs", "sluice tap otlp_http/backend --where 'severity_number >= 17' --limit 5 --json"],
  load: async () => (await import("./tap.js")).tap,
};

export const OTTL: Command = {
  name: "ottl",
  summary: "Try OTTL statements on a record.",
  details: [
    "Needs no agent. Says for each statement what it changed, or why it failed; each goes on with what the one before it",
    "left. Exit code 1 when one failed, or when the condition does not hold.",
  ],
  options: {
    record: {
      type: "string",
      value: "FILE",
      description:
        "A log record, span or metric as OTLP/JSON, or a whole request: a file, - for stdin, or the JSON itself.",
    },
    context: { type: "string", value: "NAME", description: "log, span, metric and so on; default: by the paths." },
    signal: { type: "string", value: "NAME", description: "logs (default), traces or metrics." },
    condition: { type: "string", value: "OTTL", description: "Decide a condition in place of statements." },
    ...JSON_OUT,
  },
  names: "[STATEMENT ...]",
  examples: [
    `sluice ottl --record record.json 'set(log.severity_text, "WARN")'`,
    `sluice ottl --context log --record '{"severityNumber": 17}' --condition 'severity_number > 16'`,
  ],
  load: async () => (await import("./ottl.js")).ottl,
};

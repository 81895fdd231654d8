import { type Command, type CommandGroup, JSON_OUT } from "../command.js";
import { AGENT_OPTIONS } from "./find-agent.js";
import { OPERATOR_OPTIONS } from "./operator.js";

export const STATUS: Command = {
  name: "status",
  summary: "Show how a running agent's exporters are.",
  details: [
    "For each exporter: whether it is UP, DEGRADED or DOWN, its circuit breaker, what waits in its queue and for how",
    "long, dead letters, and the share of the calls of the last minute that failed; below, why and what to do.",
  ],
  options: {
    check: { type: "boolean", description: "Exit with 1 when an exporter is not UP." },
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  examples: ["sluice status", "sluice status --check --json", "sluice status --api http://10.0.0.7:55679"],
  load: async () => (await import("./status.js")).status,
};

const OPTIONS = {
  by: OPERATOR_OPTIONS["by"]!,
  reason: { ...OPERATOR_OPTIONS["why"]! },
  ...AGENT_OPTIONS,
  ...JSON_OUT,
};

const pause: Command = {
  name: "exporter pause",
  summary: "Stop sending; what comes waits in the queue.",
  details: ["It stays paused until it is resumed or the agent is restarted."],
  options: OPTIONS,
  names: "ID",
  examples: ["sluice exporter pause otlp_http --reason maintenance"],
  load: async () => (await import("./exporter.js")).pause,
};

const resume: Command = {
  name: "exporter resume",
  summary: "Go on sending.",
  details: [],
  options: OPTIONS,
  names: "ID",
  examples: ["sluice exporter resume otlp_http"],
  load: async () => (await import("./exporter.js")).resume,
};

const retry: Command = {
  name: "exporter retry",
  summary: "Let nothing wait any longer for the time of its retry.",
  details: ["For when the backend is known to be well again."],
  options: OPTIONS,
  names: "ID",
  examples: ["sluice exporter retry otlp_http"],
  load: async () => (await import("./exporter.js")).retry,
};

const breaker: Command = {
  name: "exporter breaker",
  summary: "Hold the circuit breaker open or closed, or let it decide again.",
  details: ["open sends nothing; closed sends whatever happens; auto is how it began."],
  options: OPTIONS,
  names: "ID open|closed|auto",
  examples: ["sluice exporter breaker otlp_http open", "sluice exporter breaker otlp_http auto"],
  load: async () => (await import("./exporter.js")).breaker,
};

export const EXPORTER: CommandGroup = {
  name: "exporter",
  summary: "Pause, resume and try exporters of a running agent.",
  details: [
    "Asks the agent that runs at http://127.0.0.1:55679, or the one named with --api. sluice status shows the ids.",
  ],
  examples: ["sluice exporter pause otlp_http", "sluice exporter retry otlp_http"],
  commands: [pause, resume, retry, breaker],
};

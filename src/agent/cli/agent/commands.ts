import { type Command, type CommandGroup, flag, JSON_OUT, option } from "../command.js";
import { FAIL_ON } from "../rehearse/commands.js";
import { AGENT_OPTIONS } from "./find-agent.js";
import { OPERATOR_OPTIONS, REASON_OPTION } from "./operator.js";

export const STATUS: Command = {
  name: "status",
  summary: "Show the state of a running agent's exporters.",
  details: [
    "For each exporter: its state (UP, DEGRADED or DOWN), its circuit breaker, the size and age of its queue, its dead",
    "letters, and the share of failed calls in the last minute; then the reasons and what to do.",
  ],
  options: {
    check: flag("Exit with 1 when an exporter is not UP."),
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  examples: ["sluice status", "sluice status --check --json", "sluice status --api http://10.0.0.7:55679"],
  load: async () => (await import("./status.js")).status,
};

export const RELOAD: Command = {
  name: "reload",
  summary: "Reload the config of a running agent.",
  details: [
    "The agent reads its config files again and checks them. If they have errors, or if a component cannot start, the agent",
    "keeps the old config and prints the problems. Otherwise it replaces only what has changed, without an interruption.",
    "Exit code 0 if the new config runs, 1 if not.",
    "With --rehearse the agent first runs the new and the old pipelines on a sample of its traffic, without exporters, and",
    "shows the difference. It then asks whether to reload. If a condition of --fail-on holds, it does not, and exits with 3.",
  ],
  options: {
    diff: flag("Only show what a reload would change."),
    rehearse: flag("Rehearse first; see sluice rehearse."),
    for: option("DURATION", "With --rehearse: length of the sample; default: 60s."),
    "sample-rate": option("SHARE", "With --rehearse: share of the batches; default: 10%."),
    "max-size": option("SIZE", "With --rehearse: default: 32MiB, at most 64MiB."),
    ...FAIL_ON,
    yes: flag("With --rehearse: do not ask."),
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  examples: [
    "sluice reload",
    "sluice reload --diff",
    "sluice reload --rehearse --for 60s",
    "sluice reload --rehearse --fail-on 'drop>1%' --fail-on 'errors>0' --yes",
  ],
  load: async () => (await import("./reload.js")).reload,
};

const OPTIONS = {
  ...OPERATOR_OPTIONS,
  reason: REASON_OPTION,
  ...AGENT_OPTIONS,
  ...JSON_OUT,
};

const pause: Command = {
  name: "exporter pause",
  summary: "Stop sending; new data waits in the queue.",
  details: ["The exporter stays paused until it is resumed or the agent restarts."],
  options: OPTIONS,
  names: "ID",
  examples: ["sluice exporter pause otlp_http --why maintenance"],
  load: async () => (await import("./exporter.js")).pause,
};

const resume: Command = {
  name: "exporter resume",
  summary: "Resume sending.",
  details: [],
  options: OPTIONS,
  names: "ID",
  examples: ["sluice exporter resume otlp_http"],
  load: async () => (await import("./exporter.js")).resume,
};

const retry: Command = {
  name: "exporter retry",
  summary: "Retry all waiting entries now.",
  details: ["Use it when you know that the backend works again."],
  options: OPTIONS,
  names: "ID",
  examples: ["sluice exporter retry otlp_http"],
  load: async () => (await import("./exporter.js")).retry,
};

const breaker: Command = {
  name: "exporter breaker",
  summary: "Force the circuit breaker open or closed, or make it automatic again.",
  details: ["open: sends nothing. closed: sends despite failures. auto: the default."],
  options: OPTIONS,
  names: "ID open|closed|auto",
  examples: ["sluice exporter breaker otlp_http open", "sluice exporter breaker otlp_http auto"],
  load: async () => (await import("./exporter.js")).breaker,
};

export const EXPORTER: CommandGroup = {
  name: "exporter",
  summary: "Pause, resume and retry exporters of a running agent.",
  details: [
    "Connects to the agent at http://127.0.0.1:55679, or to the one given with --api. sluice status shows the ids.",
  ],
  examples: ["sluice exporter pause otlp_http", "sluice exporter retry otlp_http"],
  commands: [pause, resume, retry, breaker],
};

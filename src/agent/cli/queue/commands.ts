import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS } from "../agent/operator.js";
import { type Command, type CommandGroup, flag, JSON_OUT, option } from "../command.js";

const list: Command = {
  name: "queue list",
  summary: "List orphaned queues, which no exporter or pipeline of the config uses.",
  details: ["Exit code 0 if there is none, 1 if there are some."],
  options: { ...AGENT_OPTIONS, ...JSON_OUT },
  examples: ["sluice queue list", "sluice queue list --json"],
  load: async () => (await import("./orphaned-queues.js")).list,
};

const adopt: Command = {
  name: "queue adopt",
  summary: "Move the entries of an orphaned queue into the queue of another exporter.",
  details: [
    "The other exporter sends the entries that were waiting. It must be in a pipeline of their signal. The entries pass those",
    "processors of its pipelines that handle replays, such as pii. Dead letters stay dead letters: sluice dlq replay sends",
    "them. An emptied queue is removed. The command waits for the end; Ctrl-C stops only the wait. Nothing is lost or sent",
    "twice if the agent is killed: run the command again.",
    "Exit code 0 if everything was moved. Otherwise 1, and the reasons are printed.",
  ],
  options: {
    to: option("EXPORTER", "The exporter that gets the entries."),
    pipeline: option(
      "NAME",
      "Process entries whose pipeline was removed like those of this pipeline (pii, versioning).",
    ),
    "as-is": flag("Send entries whose pipeline was removed without processing them."),
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  names: "QUEUE",
  examples: ["sluice queue adopt otlp_http/old --to otlp_http/new", "sluice queue adopt debug --to otlp_http --as-is"],
  load: async () => (await import("./orphaned-queues.js")).adopt,
};

const remove: Command = {
  name: "queue delete",
  summary: "Permanently delete an orphaned queue with all its entries.",
  details: ["Asks for confirmation; use --yes in scripts."],
  options: {
    yes: { type: "boolean", short: "y", description: "Do not ask for confirmation." },
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  names: "QUEUE",
  examples: ["sluice queue delete otlp_http/old", "sluice queue delete otlp_http/old --yes --why 'INC-17'"],
  load: async () => (await import("./orphaned-queues.js")).remove,
};

export const QUEUE: CommandGroup = {
  name: "queue",
  summary: "List, adopt and delete the queues of removed exporters.",
  details: [
    "If you remove or rename an exporter, its queue stays on disk. Its entries are not sent until you configure an exporter",
    "of that name again, or let another exporter adopt the queue. You can also delete the queue. Needs a running agent.",
  ],
  examples: ["sluice queue list", "sluice queue adopt otlp_http/old --to otlp_http/new"],
  commands: [list, adopt, remove],
};

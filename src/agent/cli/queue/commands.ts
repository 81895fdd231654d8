import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS } from "../agent/operator.js";
import { type Command, type CommandGroup, JSON_OUT } from "../command.js";

const list: Command = {
  name: "queue list",
  summary: "List orphaned queues: those that no exporter or pipeline of the config uses.",
  details: ["Exit code 0 if there is none, 1 if there are some."],
  options: { ...AGENT_OPTIONS, ...JSON_OUT },
  examples: ["sluice queue list", "sluice queue list --json"],
  load: async () => (await import("./list.js")).list,
};

const adopt: Command = {
  name: "queue adopt",
  summary: "Move the entries of an orphaned queue into the queue of another exporter.",
  details: [
    "Entries that waited are sent by the other exporter, which must be in a pipeline of their signal. They pass those",
    "processors of its pipelines that handle replays, such as pii. Dead letters stay dead letters: sluice dlq replay sends",
    "them. An emptied queue is removed. Waits for the end; Ctrl-C stops waiting, not the adoption. Nothing is lost or doubled",
    "if the agent is killed: run the command again.",
    "Exit code 0 if everything was moved, 1 if not; the reasons are printed.",
  ],
  options: {
    to: { type: "string", value: "EXPORTER", description: "The exporter that gets the entries." },
    pipeline: {
      type: "string",
      value: "NAME",
      description: "Treat entries of an unknown pipeline like those of this one (pii, versioning).",
    },
    "as-is": { type: "boolean", description: "Send entries of an unknown pipeline untreated." },
    ...OPERATOR_OPTIONS,
    ...AGENT_OPTIONS,
    ...JSON_OUT,
  },
  names: "QUEUE",
  examples: ["sluice queue adopt otlp_http/old --to otlp_http/new", "sluice queue adopt debug --to otlp_http --as-is"],
  load: async () => (await import("./adopt.js")).adopt,
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
  load: async () => (await import("./delete.js")).remove,
};

export const QUEUE: CommandGroup = {
  name: "queue",
  summary: "List, adopt and delete queues that removed exporters have left.",
  details: [
    "An exporter that was removed from the config, or renamed, leaves its queue. Nobody sends what is in it until you",
    "configure an exporter of that name again, let another one adopt the queue, or delete it. Needs a running agent.",
  ],
  examples: ["sluice queue list", "sluice queue adopt otlp_http/old --to otlp_http/new"],
  commands: [list, adopt, remove],
};

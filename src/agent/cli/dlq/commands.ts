import { AUDITED_ACTIONS, FAILURE_REASONS } from "#contract/operations";
import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS, REVEAL_OPTIONS } from "../agent/operator.js";
import { type Command, type CommandGroup, type CommandOption, JSON_OUT } from "../command.js";

const CONNECTION_OPTIONS: Record<string, CommandOption> = {
  ...AGENT_OPTIONS,
  dir: {
    type: "string",
    value: "DIR",
    description: "Work on the queues in this directory while no agent runs (extensions.reliability.directory).",
  },
  config: {
    type: "string",
    multiple: true,
    short: "c",
    value: "FILE",
    description: "Work on the queues of this config while no agent runs, with the keys they are encrypted with.",
  },
};

const FILTERS: Record<string, CommandOption> = {
  exporter: { type: "string", value: "ID", description: "Of this exporter." },
  reason: {
    type: "string",
    value: "REASON",
    description: `${FAILURE_REASONS.join(", ")}.`,
  },
  category: { type: "string", value: "NAME", description: "Of this category: schema, business, integration ..." },
  signature: { type: "string", value: "HASH", description: "Alike failures; dlq stats shows the signatures." },
  signal: { type: "string", value: "SIGNAL", description: "logs, traces or metrics." },
  event: { type: "string", value: "NAME", description: "With this event, span or metric name; * stands for any text." },
  where: { type: "string", value: "OTTL", description: "With a record for which this condition holds." },
  attribute: {
    type: "string",
    value: "KEY=VALUE",
    description: "With a record, or a resource, that has this attribute; * stands for any text.",
  },
  text: { type: "string", value: "TEXT", description: "With this text anywhere in its records." },
  since: {
    type: "string",
    value: "TIME",
    description: "Failed at or after: 2026-01-31T08:00, or 2h for two hours ago.",
  },
  until: { type: "string", value: "TIME", description: "Failed before." },
};

const YES: Record<string, CommandOption> = { yes: { type: "boolean", short: "y", description: "Do not ask." } };
const ALL: Record<string, CommandOption> = { all: { type: "boolean", description: "Every dead letter." } };
const DRY_RUN: Record<string, CommandOption> = {
  "dry-run": { type: "boolean", description: "Only say what would happen." },
};

const list: Command = {
  name: "dlq list",
  summary: "List dead letters, the newest first.",
  details: ["Prints a page; --cursor, as printed below it, gives the next."],
  options: {
    ...FILTERS,
    limit: { type: "string", value: "N", description: "Entries on the page, 1 to 1000; default 50." },
    cursor: { type: "string", value: "CURSOR", description: "Where the page before ended." },
    oldest: { type: "boolean", description: "The oldest first." },
    deleted: { type: "boolean", description: "Those that were deleted and are still kept." },
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  examples: ["sluice dlq list", "sluice dlq list --exporter otlp_http --since 2h --reason permanent"],
  load: async () => (await import("./list.js")).list,
};

const show: Command = {
  name: "dlq show",
  summary: "Show one entry: its error, its attempts, its earlier cycles.",
  details: [
    "With --payload also its records, with personal data and secrets masked as the processor pii would. --reveal shows them",
    "as they are; it needs a reason, and who saw what when is kept in the audit.",
  ],
  options: {
    payload: { type: "boolean", description: "Show the records too, as OTLP/JSON, masked." },
    revision: {
      type: "string",
      value: "N",
      description: "Show the records as they were after N edits, 0: as they came.",
    },
    ...REVEAL_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  names: "ID",
  examples: [
    "sluice dlq show 5f0c1d2e3a4b5c6d-17",
    "sluice dlq show 5f0c1d2e3a4b5c6d-17 --payload",
    "sluice dlq show 5f0c1d2e3a4b5c6d-17 --reveal --reason 'INC-17'",
  ],
  load: async () => (await import("./show.js")).show,
};

const replay: Command = {
  name: "dlq replay",
  summary: "Put dead letters back into their queues.",
  details: [
    "Select them by their ids, by filters, or with --all. They keep their ids and their history.",
    "Left where they are: what was replayed too often, was partly taken before or is found by replay.require_approval, has",
    "expired, cannot be read, or whose backend is down, and what came from a pipeline that the config does not have: nobody",
    "knows what pii would have to do to it (--pipeline, --as-is). The reasons are printed. --approve replays also the first",
    "three kinds and those whose backend is down.",
    "Exit code 0 when all of them were queued again, 1 when some were not. What fails again is a dead letter again.",
    "With --to they go into the queue of another exporter. They still pass the processors of the pipeline they came from that",
    "have a step for what is replayed, such as pii, and those of the pipelines that end in that exporter.",
    "--diff, a dry run, shows them before and after statements and processors; --reveal --why TEXT shows them unmasked.",
    "With --wait it waits until every one has left its queue, tells what became of them, and exits with 0 only if all of",
    "them were delivered. Ctrl-C stops waiting, not the sending.",
  ],
  options: {
    ...ALL,
    ...FILTERS,
    limit: { type: "string", value: "N", description: "At most so many, the oldest first." },
    ...OPERATOR_OPTIONS,
    rate: { type: "string", value: "N", description: "Entries per second; default: the exporter's own rate." },
    generation: {
      type: "string",
      value: "NAME",
      description: "Names the config or code it is sent with, for the history; default: the agent's own.",
    },
    wait: { type: "boolean", description: "Wait for what becomes of them; exit with 0 only if all were delivered." },
    timeout: { type: "string", value: "TIME", description: "With --wait: wait no longer than that, such as 5m." },
    approve: { type: "boolean", description: "Also what is risky." },
    pipeline: {
      type: "string",
      value: "NAME",
      description: "Treat those whose pipeline is not in the config as those of this one (pii, versioning).",
    },
    to: {
      type: "string",
      value: "EXPORTER",
      description: "Send them to this exporter instead of the one they failed at.",
    },
    transform: {
      type: "string",
      multiple: true,
      value: "OTTL",
      description: "Change them first with this statement; the originals are kept. Can be given again.",
    },
    diff: {
      type: "boolean",
      description: "Only show what would be sent of the first of them beside what is stored, masked.",
    },
    reveal: REVEAL_OPTIONS["reveal"]!,
    "as-is": { type: "boolean", description: "Send those whose pipeline is not in the config untreated, as they are." },
    ...DRY_RUN,
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  names: "[ID ...]",
  examples: [
    "sluice dlq replay --all --dry-run",
    "sluice dlq replay --all --wait --timeout 5m",
    "sluice dlq replay 5f0c1d2e3a4b5c6d-17 --by ann",
    "sluice dlq replay --signature 0f3a9c21d4e8 --rate 10",
    "sluice dlq replay --signature 0f3a9c21d4e8 --transform 'delete_key(log.attributes, \"order.total\")' --diff",
    "sluice dlq replay --exporter otlp_http/old --to otlp_http/new",
  ],
  load: async () => (await import("./replay.js")).replay,
};

const edit: Command = {
  name: "dlq edit",
  summary: "Change the records of one dead letter, as OTLP/JSON.",
  details: [
    "Opens $VISUAL or $EDITOR with its records as they are, which is kept in the audit and needs a reason. What you save is",
    "checked: it must be OTLP of the same signal. The original stays in the history (dlq show ID --revision 0). Nothing is sent:",
    "dlq replay does that. When somebody else has changed the entry meanwhile, nothing is changed, and your text is kept.",
  ],
  options: {
    file: {
      type: "string",
      short: "f",
      value: "FILE",
      description: "Take the new records from this file; -: standard input.",
    },
    reason: { type: "string", value: "TEXT", description: "Why it is changed, for the audit (or --why TEXT)." },
    ...OPERATOR_OPTIONS,
    revision: {
      type: "string",
      value: "N",
      description: "With --file: the revision that the file was made from; default: the present one.",
    },
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  names: "ID",
  examples: [
    "sluice dlq edit 5f0c1d2e3a4b5c6d-17 --reason 'INC-17: wrong currency'",
    "sluice dlq edit 5f0c1d2e3a4b5c6d-17 --file mended.json --reason INC-17",
  ],
  load: async () => (await import("./edit.js")).edit,
};

const remove: Command = {
  name: "dlq delete",
  summary: "Delete the dead letters with these ids for good.",
  details: ["Asks before it deletes several; in a script say --yes. When one id is unknown, none is deleted."],
  options: { ...YES, ...OPERATOR_OPTIONS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  names: "ID ...",
  examples: ["sluice dlq delete 5f0c1d2e3a4b5c6d-17"],
  load: async () => (await import("./delete.js")).remove,
};

const purge: Command = {
  name: "dlq purge",
  summary: "Delete all dead letters that filters find, or --all, for good.",
  details: [
    "Says how many there are and asks; in a script say --yes. It is done when nothing of them is in the files of the queue",
    "any more (of one in PostgreSQL: in its tables). With dead_letter.keep_deleted they are kept for that time first.",
  ],
  options: { ...ALL, ...FILTERS, ...DRY_RUN, ...YES, ...OPERATOR_OPTIONS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  examples: ["sluice dlq purge --signature 0f3a9c21d4e8", "sluice dlq purge --all --yes"],
  load: async () => (await import("./purge.js")).purge,
};

const restore: Command = {
  name: "dlq restore",
  summary: "Bring deleted dead letters back, for as long as they are kept.",
  details: ["With dead_letter.keep_deleted, deleted ones are kept for that time; dlq list --deleted shows them."],
  options: { ...ALL, ...FILTERS, ...OPERATOR_OPTIONS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  names: "[ID ...]",
  examples: ["sluice dlq restore 5f0c1d2e3a4b5c6d-17", "sluice dlq restore --signature 0f3a9c21d4e8"],
  load: async () => (await import("./restore.js")).restore,
};

const exportCommand: Command = {
  name: "dlq export",
  summary: "Write dead letters with their records as lines of JSON.",
  details: [
    "The records are masked, for people to read: such lines cannot be imported. With --reveal --reason TEXT they are whole, each",
    "line has a checksum, and dlq import reads them again; that is kept in the audit. The dead letters stay where they are.",
    "They are plain text, also those of a queue that is encrypted.",
  ],
  options: {
    ...FILTERS,
    out: { type: "string", short: "o", value: "FILE", description: "Where to write; default: standard output." },
    ...REVEAL_OPTIONS,
    reason: {
      type: "string",
      value: "TEXT",
      description: "Of this reason, as in dlq list; with --reveal it says why instead, unless --why does.",
    },
    ...CONNECTION_OPTIONS,
  },
  examples: [
    "sluice dlq export --reveal --reason 'move to a new agent' --out dead-letters.jsonl",
    "sluice dlq export --exporter otlp_http | gzip > dead.gz",
  ],
  load: async () => (await import("./export.js")).exportDeadLetters,
};

const importCommand: Command = {
  name: "dlq import",
  summary: "Take in dead letters that were exported, or entries that were set aside.",
  details: [
    "They keep their ids: what is there already is not taken in again. A file with a damaged line changes nothing and the",
    "lines are named, unless --skip-damaged says to take in the others.",
    "With --set-aside: the entries in the files of a damaged queue that can be read, and that the queue did not have any",
    "more when it was repaired. Those that were waiting become dead letters with the reason imported.",
  ],
  options: {
    "skip-damaged": { type: "boolean", description: "Take in what is not damaged." },
    "set-aside": { type: "string", value: "FOLDER", description: "A folder in .set-aside, beside the queues." },
    ...OPERATOR_OPTIONS,
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  names: "[FILE]",
  examples: [
    "sluice dlq import dead-letters.jsonl",
    "sluice dlq import --set-aside ./data/queue/.set-aside/otlp_http-2026-01-31T08-00-00-000Z",
  ],
  load: async () => (await import("./import.js")).importDeadLetters,
};

const stats: Command = {
  name: "dlq stats",
  summary: "Count dead letters by reason, exporter and kind of failure.",
  details: ["Alike failures have the same signature: --signature selects them in list, replay, purge and export."],
  options: { ...FILTERS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  examples: ["sluice dlq stats", "sluice dlq stats --since 24h --json"],
  load: async () => (await import("./stats.js")).stats,
};

const audit: Command = {
  name: "dlq audit",
  summary: "Who revealed, replayed, deleted or changed what, when and why.",
  details: [
    "The newest first. Nothing here can be changed or deleted; extensions.reliability.audit.retention says how long it is kept.",
  ],
  options: {
    since: { type: "string", value: "TIME", description: "At or after: 2026-01-31T08:00, or 2h for two hours ago." },
    until: { type: "string", value: "TIME", description: "Before." },
    actor: { type: "string", value: "NAME", description: "Done by this one." },
    action: { type: "string", value: "NAME", description: `${AUDITED_ACTIONS.join(", ")}.` },
    limit: { type: "string", value: "N", description: "Records on the page, 1 to 1000; default 50." },
    cursor: { type: "string", value: "CURSOR", description: "Where the page before ended." },
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  examples: ["sluice dlq audit", "sluice dlq audit --action reveal --since 24h --json"],
  load: async () => (await import("./audit.js")).audit,
};

export const DLQ: CommandGroup = {
  name: "dlq",
  summary: "See, understand and replay what could not be delivered.",
  details: [
    "Asks the agent that runs at http://127.0.0.1:55679, or the one named with --api. When no agent answers there and",
    "./data/queue exists, works on that directory; --dir names another. The agent must not run then.",
    "",
    "Exit codes: 0 all well, 1 it failed or not all was done, 2 wrong usage.",
  ],
  examples: ["sluice dlq stats", "sluice dlq list --since 2h", "sluice dlq replay --all --by ann"],
  commands: [list, show, replay, edit, remove, purge, restore, exportCommand, importCommand, stats, audit],
};

import { AUDITED_ACTIONS, FAILURE_REASONS } from "#contract/operations";
import { AGENT_OPTIONS } from "../agent/find-agent.js";
import { OPERATOR_OPTIONS, REASON_OPTION, REVEAL_OPTIONS } from "../agent/operator.js";
import { type Command, type CommandGroup, type CommandOption, flag, JSON_OUT, option } from "../command.js";

const CONNECTION_OPTIONS: Record<string, CommandOption> = {
  ...AGENT_OPTIONS,
  dir: option("DIR", "Work on the queues in this directory while no agent runs (extensions.reliability.directory)."),
  config: {
    type: "string",
    multiple: true,
    short: "c",
    value: "FILE",
    description: "Work on the queues of this config while no agent runs, with its encryption keys.",
  },
};

const FILTERS: Record<string, CommandOption> = {
  exporter: option("ID", "Only dead letters of this exporter."),
  reason: option("REASON", `Only dead letters with this reason: ${FAILURE_REASONS.join(", ")}.`),
  category: option("NAME", "Only dead letters of this category: schema, business, integration ..."),
  signature: option("HASH", "Only failures with this signature; dlq stats shows them."),
  signal: option("SIGNAL", "Only dead letters of logs, traces or metrics."),
  event: option("NAME", "Only dead letters with this event, span or metric name; * matches any text."),
  where: option("OTTL", "Only dead letters with a record that matches this condition."),
  attribute: option("KEY=VALUE", "Only dead letters with this attribute in a record or resource; * matches any text."),
  text: option("TEXT", "Only dead letters with this text in their records."),
  since: option("TIME", "Only failures since this time: 2026-01-31T08:00, or 2h for two hours ago."),
  until: option("TIME", "Only failures before this time."),
};

const YES: Record<string, CommandOption> = {
  yes: { type: "boolean", short: "y", description: "Do not ask for confirmation." },
};
const ALL: Record<string, CommandOption> = { all: flag("Select every dead letter.") };
const DRY_RUN: Record<string, CommandOption> = {
  "dry-run": flag("Only show what would happen."),
};

const list: Command = {
  name: "dlq list",
  summary: "List dead letters, newest first.",
  details: ["Prints one page. To get the next page, pass the printed cursor with --cursor."],
  options: {
    ...FILTERS,
    limit: option("N", "Entries on the page, 1 to 1000; default 50."),
    cursor: option("CURSOR", "Cursor printed below the previous page."),
    oldest: flag("Oldest first."),
    deleted: flag("List deleted ones that are still kept."),
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  examples: ["sluice dlq list", "sluice dlq list --exporter otlp_http --since 2h --reason permanent"],
  load: async () => (await import("./list.js")).list,
};

const show: Command = {
  name: "dlq show",
  summary: "Show one entry: its error, its attempts, its earlier replays.",
  details: [
    "With --payload, also shows its records, with personal data and secrets masked as by the processor pii. --reveal shows",
    "them unmasked; it needs a reason, and is recorded in the audit.",
  ],
  options: {
    payload: flag("Show the records too, as OTLP/JSON, masked."),
    revision: option("N", "Show the records after N edits; 0: the original."),
    ...REVEAL_OPTIONS,
    reason: REASON_OPTION,
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  names: "ID",
  examples: [
    "sluice dlq show 5f0c1d2e3a4b5c6d-17",
    "sluice dlq show 5f0c1d2e3a4b5c6d-17 --payload",
    "sluice dlq show 5f0c1d2e3a4b5c6d-17 --reveal --why INC-17",
  ],
  load: async () => (await import("./show.js")).show,
};

const replay: Command = {
  name: "dlq replay",
  summary: "Put dead letters back into their queues.",
  details: [
    "Select them by their ids, by filters, or with --all. They keep their ids and their history.",
    "Some entries are skipped, and the reasons are printed: entries that were replayed too often, were partly accepted",
    "before, match replay.require_approval, have expired or cannot be read, and entries whose backend is down. --approve",
    "replays them too, except for entries that have expired or cannot be read. If the config no longer has the pipeline of",
    "an entry, Sluice does not know which processors (such as pii) it must pass: add --pipeline NAME or --as-is.",
    "Exit code 0 if all were queued, 1 if some were not. Entries that fail again become dead letters again.",
    "With --to, they go into the queue of another exporter. They still pass the processors that handle replays, such as",
    "pii: those of their own pipeline, and those of the pipelines that end in that exporter.",
    "--diff is a dry run. It shows entries before and after statements and processors; --reveal --why TEXT unmasks them.",
    "With --wait, it waits until all have left their queues, prints the outcomes, and exits with 0 only if all were",
    "delivered. Ctrl-C ends the wait; the agent keeps sending.",
  ],
  options: {
    ...ALL,
    ...FILTERS,
    limit: option("N", "Replay at most this many, oldest first."),
    ...OPERATOR_OPTIONS,
    rate: option("N", "Entries per second; 0: as fast as the backend takes them. Default: the exporter's own rate."),
    generation: option("NAME", "Name of the config or code version, for the history; default: the agent's own."),
    wait: flag("Wait for the outcomes; exit with 0 only if all were delivered."),
    timeout: option("TIME", "With --wait: time limit, such as 5m."),
    approve: flag("Also replay risky entries (see above)."),
    pipeline: option(
      "NAME",
      "Process entries whose pipeline was removed like those of this pipeline (pii, versioning).",
    ),
    to: option("EXPORTER", "Send to this exporter instead of the one that failed."),
    transform: {
      type: "string",
      multiple: true,
      value: "OTTL",
      description: "Change the records first with this statement; the originals are kept. Repeatable.",
    },
    diff: flag("Dry run: for the first entries, compare what would be sent with what is stored, masked."),
    reveal: REVEAL_OPTIONS["reveal"]!,
    "as-is": flag("Send entries whose pipeline was removed without processing them."),
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
    "Opens $VISUAL or $EDITOR with the unmasked records. This needs --why TEXT and is recorded in the audit. The saved text",
    "must be OTLP/JSON of the same signal. dlq show ID --revision 0 shows the original. Nothing is sent until you run",
    "dlq replay. If another user changes the entry at the same time, your change is not applied, and your file is kept.",
  ],
  options: {
    file: {
      type: "string",
      short: "f",
      value: "FILE",
      description: "Read the new records from this file; -: standard input.",
    },
    ...OPERATOR_OPTIONS,
    reason: REASON_OPTION,
    revision: option("N", "With --file: the revision that the file was made from; default: the current one."),
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  names: "ID",
  examples: [
    "sluice dlq edit 5f0c1d2e3a4b5c6d-17 --why 'INC-17: wrong currency'",
    "sluice dlq edit 5f0c1d2e3a4b5c6d-17 --file fixed.json --why INC-17",
  ],
  load: async () => (await import("./edit.js")).edit,
};

const remove: Command = {
  name: "dlq delete",
  summary: "Permanently delete the dead letters with these ids.",
  details: [
    "Asks for confirmation before it deletes several; use --yes in scripts. If an id is unknown, none is deleted.",
  ],
  options: { ...YES, ...OPERATOR_OPTIONS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  names: "ID ...",
  examples: ["sluice dlq delete 5f0c1d2e3a4b5c6d-17"],
  load: async () => (await import("./remove.js")).remove,
};

const purge: Command = {
  name: "dlq purge",
  summary: "Permanently delete all dead letters that match filters, or --all.",
  details: [
    "Prints how many there are and asks for confirmation; use --yes in scripts. It returns when they are erased from",
    "the queue's files (or tables in PostgreSQL). With dead_letter.keep_deleted, they can be restored for that time.",
  ],
  options: { ...ALL, ...FILTERS, ...DRY_RUN, ...YES, ...OPERATOR_OPTIONS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  examples: ["sluice dlq purge --signature 0f3a9c21d4e8", "sluice dlq purge --all --yes"],
  load: async () => (await import("./remove.js")).purge,
};

const restore: Command = {
  name: "dlq restore",
  summary: "Restore deleted dead letters that are still kept.",
  details: [
    "Needs dead_letter.keep_deleted, which keeps deleted dead letters for that time. dlq list --deleted shows them.",
  ],
  options: { ...ALL, ...FILTERS, ...OPERATOR_OPTIONS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  names: "[ID ...]",
  examples: ["sluice dlq restore 5f0c1d2e3a4b5c6d-17", "sluice dlq restore --signature 0f3a9c21d4e8"],
  load: async () => (await import("./remove.js")).restore,
};

const exportCommand: Command = {
  name: "dlq export",
  summary: "Write dead letters with their records as JSON lines.",
  details: [
    "The records are masked: you can read the lines, but not import them. With --reveal --why TEXT the records are",
    "complete, and dlq import can read the lines, which have checksums. This is recorded in the audit. Exporting deletes",
    "nothing. The output is not encrypted, even if the queue is.",
  ],
  options: {
    ...FILTERS,
    out: { type: "string", short: "o", value: "FILE", description: "Output file; default: standard output." },
    ...REVEAL_OPTIONS,
    ...CONNECTION_OPTIONS,
  },
  examples: [
    "sluice dlq export --reveal --why 'move to a new agent' --out dead-letters.jsonl",
    "sluice dlq export --exporter otlp_http | gzip > dead.gz",
  ],
  load: async () => (await import("./export.js")).exportDeadLetters,
};

const importCommand: Command = {
  name: "dlq import",
  summary: "Import exported dead letters, or entries that were set aside.",
  details: [
    "They keep their ids. Those that exist already are skipped. If a file has damaged lines, nothing is imported and the",
    "lines are listed, unless --skip-damaged is given.",
    "With --set-aside: imports entries from the files of a damaged queue that its repair did not recover.",
    "Entries that were waiting to be sent become dead letters with the reason imported.",
  ],
  options: {
    "skip-damaged": flag("Import the lines that are not damaged."),
    "set-aside": option("FOLDER", "A folder in .set-aside, next to the queues."),
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
  summary: "Count dead letters by reason, exporter and signature.",
  details: ["Similar failures share a signature: --signature selects them in list, replay, purge and export."],
  options: { ...FILTERS, ...CONNECTION_OPTIONS, ...JSON_OUT },
  examples: ["sluice dlq stats", "sluice dlq stats --since 24h --json"],
  load: async () => (await import("./stats.js")).stats,
};

const audit: Command = {
  name: "dlq audit",
  summary: "Show who revealed, replayed, deleted or changed what, when and why.",
  details: [
    "Newest first. The audit cannot be changed; extensions.reliability.audit.retention sets how long it is kept.",
  ],
  options: {
    since: option("TIME", "Only actions since this time: 2026-01-31T08:00, or 2h for two hours ago."),
    until: option("TIME", "Only actions before this time."),
    actor: option("NAME", "Only actions of this person."),
    action: option("NAME", `${AUDITED_ACTIONS.join(", ")}.`),
    limit: option("N", "Records on the page, 1 to 1000; default 50."),
    cursor: option("CURSOR", "Cursor printed below the previous page."),
    ...CONNECTION_OPTIONS,
    ...JSON_OUT,
  },
  examples: ["sluice dlq audit", "sluice dlq audit --action reveal --since 24h --json"],
  load: async () => (await import("./audit.js")).audit,
};

export const DLQ: CommandGroup = {
  name: "dlq",
  summary: "Inspect and replay dead letters (undeliverable data).",
  details: [
    "Connects to the agent at http://127.0.0.1:55679, or to the one given with --api. If no agent answers there and",
    "./data/queue exists, dlq works on that directory (or the one given with --dir). No agent may use it at that time.",
    "",
    "Exit codes: 0 success, 1 failed or incomplete, 2 wrong usage.",
  ],
  examples: ["sluice dlq stats", "sluice dlq list --since 2h", "sluice dlq replay --all --by ann"],
  commands: [list, show, replay, edit, remove, purge, restore, exportCommand, importCommand, stats, audit],
};

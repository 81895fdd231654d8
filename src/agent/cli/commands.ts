import { EXPORTER, RELOAD, STATUS } from "./agent/commands.js";
import { CONFIG, type Command, type CommandGroup, flag, NEEDED_CONFIG, option } from "./command.js";
import { COMPONENTS, GRAPH, INIT, MIGRATE, PRINT_CONFIG, SCHEMA, TEST, VALIDATE } from "./config-commands.js";
import { DLQ } from "./dlq/commands.js";
import { INSIGHT } from "./insight/commands.js";
import { OTTL, TAP, TOP } from "./live/commands.js";
import { piiCommands } from "./pii/commands.js";
import { QUEUE } from "./queue/commands.js";
import { REHEARSAL_CHILD, rehearseCommand } from "./rehearse/commands.js";
import { REHYDRATE } from "./rehydrate/commands.js";
import { WORKER_COMMAND } from "./workers/assignment.js";

const RUN: Command = {
  name: "run",
  summary: "Run the agent until SIGTERM or SIGINT.",
  details: [
    "On SIGTERM or SIGINT (Ctrl-C), stops accepting data, delivers what it has, and exits with 0.",
    "On a second signal, stops at once and exits with 1. It refuses undelivered data, so the senders keep it.",
    "On SIGHUP, reloads the config; see sluice reload. If the new config has errors, the agent keeps the old one.",
  ],
  options: {
    ...NEEDED_CONFIG,
    "shutdown-timeout": option(
      "DURATION",
      "How long a stop may take to deliver data; default: service.shutdown_timeout (10s).",
    ),
    watch: flag("Reload the config when one of its files changes."),
  },
  examples: [
    "sluice run",
    "sluice run --config pipeline.yaml",
    "sluice run --config base.yaml --config production.yaml --set service.telemetry.logs.level=debug",
  ],
  load: async () => (await import("./run.js")).run,
};

const DEMO: Command = {
  name: "demo",
  summary: "See in two minutes what happens when a backend fails.",
  details: [
    "Runs a shop that sends data, an agent, and a backend. The backend is first down, and then refuses records. The demo",
    "leads you step by step from the failure to its cause and to the replay, in the console and on the command line.",
    "Everything runs in this process, with files in a temporary folder. When you quit (q or Ctrl-C), the files are deleted.",
    "Without a terminal it continues by itself, as with --auto.",
  ],
  options: {
    auto: flag("Run all steps including the replay without waiting for keys."),
    "no-open": flag("Do not open the console in a browser."),
    port: option("N", "Port of the console; default: 55679, or a free port if that is in use. 0: any free port."),
    json: flag("Print a line of JSON per event; implies --auto."),
  },
  examples: ["sluice demo", "sluice demo --auto --json"],
  load: async () => (await import("./demo/demo.js")).demo,
};

const CREATE: Command = {
  name: "create",
  summary: "Write a starter package for your own component.",
  details: [
    "The kind is processor, receiver, exporter, connector, extension or handler. The package has TypeScript source, a test,",
    "and a config that runs it. npm test, npm run build and npm run dev work at once. Never overwrites a file.",
  ],
  options: {
    directory: option("DIR", "Output directory; default: a directory with the package's name."),
  },
  names: "<kind> <name>",
  examples: ["sluice create processor my-processor", "sluice create exporter @acme/archive --directory archive"],
  load: async () => (await import("./create/create.js")).create,
};

const ADMIN_TOKEN: Command = {
  name: "admin-token",
  summary: "Create a token for the admin API, and its hash for the config.",
  details: [
    "Put the hash into extensions.admin.tokens of the config. Set SLUICE_ADMIN_TOKEN to the token to use it with sluice.",
  ],
  options: {},
  examples: ["sluice admin-token"],
  load: async () => (await import("./admin-token.js")).adminToken,
};

const COMPLETION: Command = {
  name: "completion",
  summary: "Print a completion script for your shell.",
  details: [
    "bash: put  source <(sluice completion bash)  into ~/.bashrc.",
    "zsh:  put  source <(sluice completion zsh)  into ~/.zshrc, after compinit.",
    "fish: sluice completion fish > ~/.config/fish/completions/sluice.fish",
  ],
  options: {},
  names: "bash|zsh|fish",
  examples: ["sluice completion bash", "sluice completion fish > ~/.config/fish/completions/sluice.fish"],
  load: async () => (await import("./completion/completion.js")).completion,
};

const DEV: Command = {
  name: "dev",
  summary: "Run a config while you write it or its plugins.",
  details: [
    "Runs the agent. Reloads the config and its plugins when you save a file. Shows a few records per second as exporters",
    "get them, masked. Problems stay on the screen until you fix them. Meanwhile, the last version that worked keeps",
    "running. If the config is broken at the start, the agent starts as soon as you have fixed it.",
    "Plugins may be TypeScript. Node.js 22.18 and newer run it; older versions need the typescript package next to the plugin.",
    "Keys: p pauses the records, f filters them by an OTTL condition, r restarts the agent, q or Ctrl-C quits.",
    "Without a terminal it prints plain lines: records to stdout, everything else to stderr.",
  ],
  options: {
    ...NEEDED_CONFIG,
    at: {
      type: "string",
      multiple: true,
      value: "ID",
      description: "Show records at this component or pipeline instead of at the exporters. Repeatable.",
    },
    where: option("OTTL", "Show only records that match: severity_number >= 17."),
    rate: option("N", "Records shown per second; default: 10, at most 100. 0: none."),
  },
  examples: ["sluice dev", "sluice dev --config example.yaml --set plugins=[./src/index.ts]"],
  load: async () => (await import("./dev/dev-session.js")).dev,
};

const OUTBOX: CommandGroup = {
  name: "outbox",
  summary: "Prepare a database for the receiver `outbox`.",
  details: ["Prints SQL, and runs nothing."],
  examples: ["sluice outbox migration | psql shop"],
  commands: [
    {
      name: "outbox migration",
      summary: "Print SQL that creates or updates the table of an outbox.",
      details: [
        "With a config, for the tables and columns of its `outbox` receivers; without one, for the defaults, including the",
        "table event_handled. The SQL is only printed. It can be run repeatedly.",
      ],
      options: CONFIG,
      examples: ["sluice outbox migration | psql shop", "sluice outbox migration --config pipeline.yaml"],
      load: async () => (await import("./outbox-migration.js")).printMigration,
    },
  ],
};

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  RUN,
  DEV,
  VALIDATE,
  MIGRATE,
  TEST,
  COMPONENTS,
  GRAPH,
  rehearseCommand(CONFIG["set"]!),
  OTTL,
  PRINT_CONFIG,
  INIT,
  DEMO,
  CREATE,
  SCHEMA,
  ADMIN_TOKEN,
  STATUS,
  RELOAD,
  TOP,
  INSIGHT,
  TAP,
  EXPORTER,
  QUEUE,
  DLQ,
  REHYDRATE,
  OUTBOX,
  piiCommands(CONFIG),
  COMPLETION,
];

export function findCommand(name: string): Command | CommandGroup | undefined {
  return [...COMMANDS, REHEARSAL_CHILD, WORKER_CHILD].find((command) => command.name === name);
}

/** Not for people: the process that an agent with several workers starts for each of them. */
const WORKER_CHILD: Command = {
  name: WORKER_COMMAND,
  summary: "Work for the agent that has started this process.",
  details: [],
  options: {},
  examples: [],
  load: async () => (await import("./workers/worker-child.js")).workerChild,
};

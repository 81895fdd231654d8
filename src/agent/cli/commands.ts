import { EXPORTER, RELOAD, STATUS } from "./agent/commands.js";
import { type Command, type CommandGroup, type CommandOption, DEFAULT_CONFIG, JSON_OUT } from "./command.js";
import { devCommand } from "./dev/commands.js";
import { DLQ } from "./dlq/commands.js";
import { INSIGHT } from "./insight/commands.js";
import { OTTL, TAP, TOP } from "./live/commands.js";
import { outboxCommands } from "./outbox/commands.js";
import { piiCommands } from "./pii/commands.js";
import { QUEUE } from "./queue/commands.js";
import { REHEARSAL_CHILD, rehearseCommand } from "./rehearse/commands.js";
import { REHYDRATE } from "./rehydrate/commands.js";
import { WORKER_CHILD } from "./workers/commands.js";

/** Options of every command that reads a config. */
const CONFIG: Record<string, CommandOption> = {
  config: {
    type: "string",
    multiple: true,
    short: "c",
    value: "FILE",
    description: "A config file, env:NAME or yaml:TEXT. Repeatable: maps are merged, later values win.",
  },
  set: {
    type: "string",
    multiple: true,
    value: "KEY=VALUE",
    description: "Override one value of the config: --set exporters.debug.verbosity=detailed. The value is YAML.",
  },
  "feature-gates": {
    type: "string",
    multiple: true,
    value: "GATES",
    description: "Accepted for command lines of the Collector; has no effect.",
  },
};

/** The same for commands that need a config. */
const NEEDED_CONFIG: Record<string, CommandOption> = {
  ...CONFIG,
  config: {
    ...CONFIG["config"]!,
    description: `${CONFIG["config"]!.description} Default: ${DEFAULT_CONFIG}.`,
    defaultFile: DEFAULT_CONFIG,
  },
};

/** Options of commands about components: they name plugins to load besides the built-in components. */
const PLUGINS: Record<string, CommandOption> = {
  config: {
    type: "string",
    multiple: true,
    short: "c",
    value: "FILE",
    description: "A config file whose plugins are loaded too. Repeatable.",
  },
  plugin: {
    type: "string",
    multiple: true,
    value: "NAME",
    description: "A plugin to load: a package name or the path of a file. Repeatable.",
  },
};

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  {
    name: "run",
    summary: "Run the agent until SIGTERM or SIGINT.",
    details: [
      "On SIGTERM or SIGINT (Ctrl-C), stops accepting data, delivers what it has, and exits with 0.",
      "On a second signal, stops at once and exits with 1. It refuses undelivered data, so the senders keep it.",
      "On SIGHUP, reloads the config; see sluice reload. If the new config has errors, the agent keeps the old one.",
    ],
    options: {
      ...NEEDED_CONFIG,
      "shutdown-timeout": {
        type: "string",
        value: "DURATION",
        description: "How long a stop may take to deliver data; default: service.shutdown_timeout (10s).",
      },
      watch: {
        type: "boolean",
        description: "Reload the config when one of its files changes.",
      },
    },
    examples: [
      "sluice run",
      "sluice run --config pipeline.yaml",
      "sluice run --config base.yaml --config production.yaml --set service.telemetry.logs.level=debug",
    ],
    load: async () => (await import("./run.js")).run,
  },
  devCommand(NEEDED_CONFIG),
  {
    name: "validate",
    summary: "Check a config without running it.",
    details: ["Prints all problems with file and line. Exit code 0 if the config is valid, 1 if not."],
    options: {
      ...NEEDED_CONFIG,
      diff: {
        type: "string",
        value: "FILE",
        description: "Also show what changes if an agent with this config reloads the checked one.",
      },
      ...JSON_OUT,
    },
    examples: [
      "sluice validate",
      "sluice validate --config pipeline.yaml",
      "sluice validate --config new.yaml --diff pipeline.yaml",
    ],
    load: async () => (await import("./validate.js")).validate,
  },
  {
    name: "migrate",
    summary: "Update an old config to current names, and show the changes.",
    details: [
      "Renames types and keys to their current names. Removes components that no longer have an effect, together with",
      "their references. Everything else stays as written: comments, order, variables. Secrets are shown as [REDACTED].",
      "Exit code 0 if the result is valid, 1 if it has problems that you must fix yourself.",
    ],
    options: {
      write: {
        type: "boolean",
        description: "Write the file. The old text is kept in FILE.bak, which must not exist.",
      },
      ...JSON_OUT,
    },
    names: "FILE",
    examples: ["sluice migrate pipeline.yaml", "sluice migrate pipeline.yaml --write"],
    load: async () => (await import("./migrate/migrate.js")).migrate,
  },
  {
    name: "test",
    summary: "Run a config on test records, and check the output.",
    details: [
      "Runs the config without its receivers and exporters. Sends the records of a test through processors and connectors,",
      "and compares the result with the expected records. Opens no port, sends nothing, and writes no files.",
      "docs/how-to/config-tests.md describes the test files. Exit code 0 if all tests passed, 1 if one failed.",
    ],
    options: {
      ...NEEDED_CONFIG,
      filter: { type: "string", value: "TEXT", description: "Run only tests whose name contains this text." },
      ...JSON_OUT,
    },
    names: "FILE ...",
    examples: ["sluice test --config pipeline.yaml tests.yaml"],
    load: async () => (await import("./config-tests/config-tests.js")).testConfig,
  },
  {
    name: "components",
    summary: "List the components, or the keys and defaults of one.",
    details: [
      "Prints one line per component. Give names to see the keys of those components: sluice components otlp batch",
      "With --config or --plugin, lists components of plugins too.",
    ],
    options: {
      full: { type: "boolean", description: "Print the keys of all components." },
      short: { type: "boolean", description: "Print one line per component, even if names are given." },
      ...PLUGINS,
      ...JSON_OUT,
    },
    names: "[name ...]",
    examples: [
      "sluice components",
      "sluice components batch",
      "sluice components --plugin ./my-processor.js my_processor",
      "sluice components --json",
    ],
    load: async () => (await import("./components.js")).components,
  },
  {
    name: "graph",
    summary: "Draw the pipelines of a config.",
    details: [
      "Prints a Mermaid flowchart, which GitHub, GitLab and many wikis render, or an SVG picture that follows the",
      "reader's light or dark theme.",
    ],
    options: {
      ...NEEDED_CONFIG,
      format: { type: "string", value: "NAME", description: "mermaid (default) or svg." },
      ...JSON_OUT,
    },
    examples: [
      "sluice graph --config pipeline.yaml",
      "sluice graph --config pipeline.yaml --format svg > pipeline.svg",
    ],
    load: async () => (await import("./graph/graph.js")).graph,
  },
  rehearseCommand(CONFIG["set"]!),
  OTTL,
  {
    name: "print-config",
    summary: "Print the config after merging and substitution.",
    details: ["Secrets are printed as [REDACTED]."],
    options: {
      ...NEEDED_CONFIG,
      defaults: { type: "boolean", description: "Include every key that is not set, with its default." },
      ...JSON_OUT,
    },
    examples: [
      "sluice print-config --config base.yaml --config production.yaml",
      "sluice print-config --config pipeline.yaml --defaults",
    ],
    load: async () => (await import("./print-config.js")).printConfig,
  },
  {
    name: "init",
    summary: "Write a starter config.",
    details: [
      "Asks questions if it runs in a terminal without options. Never overwrites a file. Comments in the config explain",
      "every part of it.",
    ],
    options: {
      out: {
        type: "string",
        short: "o",
        value: "FILE",
        description: "Output file; default: sluice.yaml. - means standard output.",
      },
      endpoint: { type: "string", value: "URL", description: "Where to send data; default: print it." },
      protocol: { type: "string", value: "NAME", description: "http or grpc; default: depends on the endpoint." },
      signals: {
        type: "string",
        value: "LIST",
        description: "Comma-separated signals: logs, traces, metrics; default: all.",
      },
      pii: { type: "boolean", description: "Mask personal data and secrets." },
      public: { type: "boolean", description: "Accept data from other machines too." },
      yes: { type: "boolean", short: "y", description: "Ask nothing." },
    },
    examples: ["sluice init", "sluice init --endpoint http://localhost:4318 --signals logs,traces --pii"],
    load: async () => (await import("./init/init.js")).init,
  },
  {
    name: "demo",
    summary: "See in two minutes what happens when a backend fails.",
    details: [
      "Runs a shop that sends data, an agent, and a backend. The backend is first down, and then refuses records. The demo",
      "leads you step by step from the failure to its cause and to the replay, in the console and on the command line.",
      "Everything runs in this process, with files in a temporary folder. When you quit (q or Ctrl-C), the files are deleted.",
      "Without a terminal it continues by itself, as with --auto.",
    ],
    options: {
      auto: { type: "boolean", description: "Run all steps including the replay without waiting for keys." },
      "no-open": { type: "boolean", description: "Do not open the console in a browser." },
      port: {
        type: "string",
        value: "N",
        description: "Port of the console; default: 55679, or a free port if that is in use. 0: any free port.",
      },
      json: { type: "boolean", description: "Print a line of JSON per event; implies --auto." },
    },
    examples: ["sluice demo", "sluice demo --auto --json"],
    load: async () => (await import("./demo/demo.js")).demo,
  },
  {
    name: "create",
    summary: "Write a starter package for your own component.",
    details: [
      "The kind is processor, receiver, exporter, connector, extension or handler. The package has TypeScript source, a test,",
      "and a config that runs it. npm test, npm run build and npm run dev work at once. Never overwrites a file.",
    ],
    options: {
      directory: {
        type: "string",
        value: "DIR",
        description: "Output directory; default: a directory with the package's name.",
      },
    },
    names: "<kind> <name>",
    examples: ["sluice create processor my-processor", "sluice create exporter @acme/archive --directory archive"],
    load: async () => (await import("./create/create.js")).create,
  },
  {
    name: "schema",
    summary: "Print a JSON Schema of the config, for editors.",
    details: [
      "With --config or --plugin, the schema includes the components of plugins. An editor with the YAML language server",
      "uses the schema if the first line of a config is",
      "  # yaml-language-server: $schema=./sluice.schema.json",
    ],
    options: PLUGINS,
    examples: ["sluice schema > sluice.schema.json", "sluice schema --config pipeline.yaml > sluice.schema.json"],
    load: async () => (await import("./schema.js")).schema,
  },
  {
    name: "admin-token",
    summary: "Create a token for the admin API, and its hash for the config.",
    details: [
      "Put the hash into extensions.admin.tokens of the config. Set SLUICE_ADMIN_TOKEN to the token to use it with sluice.",
    ],
    options: {},
    examples: ["sluice admin-token"],
    load: async () => (await import("./admin-token.js")).adminToken,
  },
  STATUS,
  RELOAD,
  TOP,
  INSIGHT,
  TAP,
  EXPORTER,
  QUEUE,
  DLQ,
  REHYDRATE,
  outboxCommands(CONFIG),
  piiCommands(CONFIG),
  {
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
  },
];

export function findCommand(name: string): Command | CommandGroup | undefined {
  return [...COMMANDS, REHEARSAL_CHILD, WORKER_CHILD].find((command) => command.name === name);
}

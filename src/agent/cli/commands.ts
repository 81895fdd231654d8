import { EXPORTER, STATUS } from "./agent/commands.js";
import { type Command, type CommandGroup, type CommandOption, JSON_OUT } from "./command.js";
import { DLQ } from "./dlq/commands.js";
import { OTTL, TAP, TOP } from "./live/commands.js";
import { outboxCommands } from "./outbox/commands.js";

const CONFIG: Record<string, CommandOption> = {
  config: {
    type: "string",
    multiple: true,
    short: "c",
    value: "FILE",
    description: "A config file, env:NAME or yaml:TEXT. May be given several times: maps are merged, later ones win.",
  },
  set: {
    type: "string",
    multiple: true,
    value: "KEY=VALUE",
    description: "One value over all files: --set exporters.debug.verbosity=detailed. The value is YAML.",
  },
};

/** Options of commands about components: they name plugins to load besides the built-in components. */
const PLUGINS: Record<string, CommandOption> = {
  config: {
    type: "string",
    multiple: true,
    short: "c",
    value: "FILE",
    description: "A config file whose plugins count too. May be given several times.",
  },
  plugin: {
    type: "string",
    multiple: true,
    value: "NAME",
    description: "A package, or the path of a file, with components. May be given several times.",
  },
};

export const COMMANDS: readonly (Command | CommandGroup)[] = [
  {
    name: "run",
    summary: "Run the agent until SIGTERM or SIGINT.",
    details: [
      "SIGTERM, SIGINT (Ctrl-C) or SIGHUP stops taking data, delivers what was taken, and exits with 0.",
      "A second signal stops at once: what is not delivered is refused, so its senders keep it; exit code 1.",
    ],
    options: {
      ...CONFIG,
      "shutdown-timeout": {
        type: "string",
        value: "DURATION",
        description: "How long the drain may take, over service.shutdown_timeout (10s).",
      },
    },
    examples: [
      "sluice run --config pipeline.yaml",
      "sluice run --config base.yaml --config production.yaml --set service.telemetry.logs.level=debug",
    ],
    load: async () => (await import("./run.js")).run,
  },
  {
    name: "validate",
    summary: "Check a config and start nothing.",
    details: ["Prints every problem with its place. Exit code 0 when the config would run, 1 when not."],
    options: { ...CONFIG, ...JSON_OUT },
    examples: ["sluice validate --config pipeline.yaml", "sluice validate --config pipeline.yaml --json"],
    load: async () => (await import("./validate.js")).validate,
  },
  {
    name: "migrate",
    summary: "Rewrite a config of old to today's names, and show what changes.",
    details: [
      "Types and keys get the names that they have today, and what has ended and does nothing is taken out, with the places",
      "that name it. All else stays as it is written: comments, order, variables. Secrets are shown as [REDACTED].",
      "Exit code 0 when the config would run then, 1 when something is wrong with it that only you can mend.",
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
    summary: "Try a config on records, and say whether what comes out is as expected.",
    details: [
      "Runs the config without its receivers and exporters: what a test puts in passes processors and connectors, and",
      "what would be sent is held against what the test expects. No port is opened, nothing is sent or written.",
      "docs/config-tests.md says how tests are written. Exit code 0 when all passed, 1 when one failed.",
    ],
    options: {
      ...CONFIG,
      filter: { type: "string", value: "TEXT", description: "Only tests with this text in their names." },
      ...JSON_OUT,
    },
    names: "FILE ...",
    examples: ["sluice test --config pipeline.yaml tests.yaml"],
    load: async () => (await import("./config-tests/config-tests.js")).testConfig,
  },
  {
    name: "components",
    summary: "List the components, with their keys and defaults.",
    details: [
      "Give names to see only these: sluice components otlp batch",
      "With --config or --plugin, those of the plugins too.",
    ],
    options: {
      short: { type: "boolean", description: "One line each: kind, type and what it does." },
      ...PLUGINS,
      ...JSON_OUT,
    },
    names: "[name ...]",
    examples: [
      "sluice components --short",
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
      "As a flowchart of Mermaid, which GitHub, GitLab and many wikis draw, or as a picture (SVG) that follows the",
      "reader's light or dark colours.",
    ],
    options: {
      ...CONFIG,
      format: { type: "string", value: "NAME", description: "mermaid (default) or svg." },
      ...JSON_OUT,
    },
    examples: [
      "sluice graph --config pipeline.yaml",
      "sluice graph --config pipeline.yaml --format svg > pipeline.svg",
    ],
    load: async () => (await import("./graph/graph.js")).graph,
  },
  OTTL,
  {
    name: "print-config",
    summary: "Print the config as it is after merging and substitution.",
    details: ["Secrets are printed as [REDACTED]."],
    options: {
      ...CONFIG,
      defaults: { type: "boolean", description: "Add what is not written: every key with its default." },
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
    summary: "Write a config to start from.",
    details: [
      "Asks what it is to do when it is run in a terminal without options that say so. Nothing is overwritten; what is",
      "written says of everything in it what it is for.",
    ],
    options: {
      out: {
        type: "string",
        short: "o",
        value: "FILE",
        description: "Where to write; default: sluice.yaml. - prints it.",
      },
      endpoint: { type: "string", value: "URL", description: "Where data goes. Default: it is printed." },
      protocol: { type: "string", value: "NAME", description: "http or grpc; default: by the endpoint." },
      signals: { type: "string", value: "LIST", description: "Some of logs, traces, metrics; default: all." },
      pii: { type: "boolean", description: "Mask personal data and secrets." },
      public: { type: "boolean", description: "Take data from other machines, too." },
      yes: { type: "boolean", short: "y", description: "Ask nothing." },
    },
    examples: ["sluice init", "sluice init --endpoint http://localhost:4318 --signals logs,traces --pii"],
    load: async () => (await import("./init/init.js")).init,
  },
  {
    name: "demo",
    summary: "See in two minutes what happens when a backend fails.",
    details: [
      "Runs a shop that sends, an agent, and a backend that is down first and refuses records then, and leads you step by",
      "step from the failure over its cause to the replay, in the console and on the command line. All of it is in this",
      "process; its files are in a temporary folder. q, Ctrl-C or the end of the last step stops it, and nothing stays.",
      "Where there is no terminal it goes on by itself, as with --auto.",
    ],
    options: {
      auto: { type: "boolean", description: "Go from step to step, replay and end, without waiting for anybody." },
      "no-open": { type: "boolean", description: "Do not open the console in a browser." },
      port: {
        type: "string",
        value: "N",
        description: "The port of the console; default: 55679, or any when that is taken. 0: any that is free.",
      },
      json: { type: "boolean", description: "Print a line of JSON for each thing that happens; with that --auto." },
    },
    examples: ["sluice demo", "sluice demo --auto --json"],
    load: async () => (await import("./demo/demo.js")).demo,
  },
  {
    name: "create",
    summary: "Write a package with a component of your own to start from.",
    details: [
      "The kind is processor, receiver or exporter. The package has source in TypeScript, a test, and a config that runs",
      "it; npm test and npm run build pass as it is. Nothing is overwritten.",
    ],
    options: {
      directory: { type: "string", value: "DIR", description: "Where to write it. Default: a folder with its name." },
    },
    names: "<kind> <name>",
    examples: ["sluice create processor my-processor", "sluice create exporter @acme/archive --directory archive"],
    load: async () => (await import("./create/create.js")).create,
  },
  {
    name: "schema",
    summary: "Print a JSON Schema of the config, for editors.",
    details: [
      "With --config or --plugin it knows the components of the plugins too. An editor with the YAML language server",
      "uses it when the first line of a config is",
      "  # yaml-language-server: $schema=./sluice.schema.json",
    ],
    options: PLUGINS,
    examples: ["sluice schema > sluice.schema.json", "sluice schema --config pipeline.yaml > sluice.schema.json"],
    load: async () => (await import("./schema.js")).schema,
  },
  {
    name: "admin-token",
    summary: "Make a token for the admin API, and what a config holds of it.",
    details: ["The hash goes into extensions.admin.tokens; whoever asks has the token in SLUICE_ADMIN_TOKEN."],
    options: {},
    examples: ["sluice admin-token"],
    load: async () => (await import("./admin-token.js")).adminToken,
  },
  STATUS,
  TOP,
  TAP,
  EXPORTER,
  DLQ,
  outboxCommands(CONFIG),
  {
    name: "completion",
    summary: "Print what makes a shell complete commands and options.",
    details: [
      "bash: put  source <(sluice completion bash)  into ~/.bashrc.",
      "zsh:  put  source <(sluice completion zsh)  into ~/.zshrc, behind compinit.",
      "fish: sluice completion fish > ~/.config/fish/completions/sluice.fish",
    ],
    options: {},
    names: "bash|zsh|fish",
    examples: ["sluice completion bash", "sluice completion fish > ~/.config/fish/completions/sluice.fish"],
    load: async () => (await import("./completion/completion.js")).completion,
  },
];

export function findCommand(name: string): Command | CommandGroup | undefined {
  return COMMANDS.find((command) => command.name === name);
}

import { type Command, flag, JSON_OUT, NEEDED_CONFIG, option, PLUGINS } from "./command.js";

// The commands that write, check and show configs.

export const VALIDATE: Command = {
  name: "validate",
  summary: "Check a config without running it.",
  details: ["Prints all problems with file and line. Exit code 0 if the config is valid, 1 if not."],
  options: {
    ...NEEDED_CONFIG,
    diff: option("FILE", "Also show what changes if an agent with this config reloads the checked one."),
    ...JSON_OUT,
  },
  examples: [
    "sluice validate",
    "sluice validate --config pipeline.yaml",
    "sluice validate --config new.yaml --diff pipeline.yaml",
  ],
  load: async () => (await import("./show-config.js")).validate,
};

export const MIGRATE: Command = {
  name: "migrate",
  summary: "Update an old config to current names, and show the changes.",
  details: [
    "Renames types and keys to their current names. Removes components that no longer have an effect, together with",
    "their references. Everything else stays as written: comments, order, variables. Secrets are shown as [REDACTED].",
    "Exit code 0 if the result is valid, 1 if it has problems that you must fix yourself.",
  ],
  options: {
    write: flag("Write the file. The old text is kept in FILE.bak, which must not exist."),
    ...JSON_OUT,
  },
  names: "FILE",
  examples: ["sluice migrate pipeline.yaml", "sluice migrate pipeline.yaml --write"],
  load: async () => (await import("./migrate/migrate.js")).migrate,
};

export const TEST: Command = {
  name: "test",
  summary: "Run a config on test records, and check the output.",
  details: [
    "Runs the config without its receivers and exporters. Sends the records of a test through processors and connectors,",
    "and compares the result with the expected records. Opens no port, sends nothing, and writes no files.",
    "docs/how-to/config-tests.md describes the test files. Exit code 0 if all tests passed, 1 if one failed.",
  ],
  options: {
    ...NEEDED_CONFIG,
    filter: option("TEXT", "Run only tests whose name contains this text."),
    ...JSON_OUT,
  },
  names: "FILE ...",
  examples: ["sluice test --config pipeline.yaml tests.yaml"],
  load: async () => (await import("./config-tests/config-tests.js")).testConfig,
};

export const COMPONENTS: Command = {
  name: "components",
  summary: "List the components, or the keys and defaults of one.",
  details: [
    "Prints one line per component. Give names to see the keys of those components: sluice components otlp batch",
    "With --config or --plugin, lists components of plugins too.",
  ],
  options: {
    full: flag("Print the keys of all components."),
    short: flag("Print one line per component, even if names are given."),
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
};

export const GRAPH: Command = {
  name: "graph",
  summary: "Draw the pipelines of a config.",
  details: [
    "Prints a Mermaid flowchart, which GitHub, GitLab and many wikis render, or an SVG picture that follows the",
    "reader's light or dark theme.",
  ],
  options: {
    ...NEEDED_CONFIG,
    format: option("NAME", "mermaid (default) or svg."),
    ...JSON_OUT,
  },
  examples: ["sluice graph --config pipeline.yaml", "sluice graph --config pipeline.yaml --format svg > pipeline.svg"],
  load: async () => (await import("./graph/graph.js")).graph,
};

export const PRINT_CONFIG: Command = {
  name: "print-config",
  summary: "Print the config after merging and substitution.",
  details: ["Secrets are printed as [REDACTED]."],
  options: {
    ...NEEDED_CONFIG,
    defaults: flag("Include every key that is not set, with its default."),
    ...JSON_OUT,
  },
  examples: [
    "sluice print-config --config base.yaml --config production.yaml",
    "sluice print-config --config pipeline.yaml --defaults",
  ],
  load: async () => (await import("./show-config.js")).printConfig,
};

export const INIT: Command = {
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
    endpoint: option("URL", "Where to send data; default: print it."),
    protocol: option("NAME", "http or grpc; default: depends on the endpoint."),
    signals: option("LIST", "Comma-separated signals: logs, traces, metrics; default: all."),
    pii: flag("Mask personal data and secrets."),
    public: flag("Accept data from other machines too."),
    yes: { type: "boolean", short: "y", description: "Ask nothing." },
  },
  examples: ["sluice init", "sluice init --endpoint http://localhost:4318 --signals logs,traces --pii"],
  load: async () => (await import("./init/init.js")).init,
};

export const SCHEMA: Command = {
  name: "schema",
  summary: "Print a JSON Schema of the config, for editors.",
  details: [
    "With --config or --plugin, the schema includes the components of plugins. An editor with the YAML language server",
    "uses the schema if the first line of a config is",
    "  # yaml-language-server: $schema=./sluice.schema.json",
  ],
  options: PLUGINS,
  examples: ["sluice schema > sluice.schema.json", "sluice schema --config pipeline.yaml > sluice.schema.json"],
  load: async () => (await import("./components.js")).schema,
};

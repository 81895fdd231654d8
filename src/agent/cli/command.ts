import type { Registry } from "#config/resolve";
import type { MapNode } from "#config/text";
import type { Terminal } from "./terminal.js";

export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** Placeholder of the value in the help, such as `FILE`. */
  readonly value?: string;
  readonly description: string;
  /** The file in the current folder that is meant, if it exists, when the option is not given. */
  readonly defaultFile?: string;
}

/** An option with a value. */
export function option(value: string, description: string): CommandOption {
  return { type: "string", value, description };
}

/** An option without a value. */
export function flag(description: string): CommandOption {
  return { type: "boolean", description };
}

export type OptionValues = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

export interface CommandContext {
  readonly values: OptionValues;
  readonly terminal: Terminal;
  /**
   * Loads the components that a config may name: all of them, or at least those that this config needs. Help never
   * calls it.
   */
  readonly registry: (config?: MapNode) => Promise<Registry>;
}

/** One command: its help, and how to load its code. Only the code of the command that runs is loaded. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly details: readonly string[];
  readonly options: Readonly<Record<string, CommandOption>>;
  /** Placeholder of the positional arguments in the help, such as `[name ...]`. Without it the command takes none. */
  readonly names?: string;
  readonly examples: readonly string[];
  /** Loads the command. The loaded function returns the exit code. */
  readonly load: () => Promise<(context: CommandContext) => Promise<number>>;
}

/** Commands that share a first word: `sluice dlq list`, `sluice dlq show`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly details: readonly string[];
  readonly examples: readonly string[];
  /** Each command's name begins with the name of the group. */
  readonly commands: readonly Command[];
}

export function isGroup(command: Command | CommandGroup): command is CommandGroup {
  return "commands" in command;
}

/** The config that `sluice init` writes, and that commands read if no other is named. */
export const DEFAULT_CONFIG = "sluice.yaml";

/** Option of every command whose output programs may read. */
export const JSON_OUT: Readonly<Record<string, CommandOption>> = {
  json: flag("Print JSON, for programs."),
};

/** Options of every command that reads a config. */
export const CONFIG: Record<string, CommandOption> = {
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
export const NEEDED_CONFIG: Record<string, CommandOption> = {
  ...CONFIG,
  config: {
    ...CONFIG["config"]!,
    description: `${CONFIG["config"]!.description} Default: ${DEFAULT_CONFIG}.`,
    defaultFile: DEFAULT_CONFIG,
  },
};

/** Options of commands about components: they name plugins to load besides the built-in components. */
export const PLUGINS: Record<string, CommandOption> = {
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

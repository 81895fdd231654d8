import type { MapNode, Registry } from "#config";
import type { Terminal } from "./terminal.js";

export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** How the value is called in the help: `FILE`. */
  readonly value?: string;
  readonly description: string;
}

export type OptionValues = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>;

export interface CommandContext {
  readonly values: OptionValues;
  readonly terminal: Terminal;
  /** The components a config may name: all, or at least those that matter for this one. Help needs none. */
  readonly registry: (config?: MapNode) => Promise<Registry>;
}

/** One command: what the help says of it, and where its code is. Only the command that runs is loaded. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly details: readonly string[];
  readonly options: Readonly<Record<string, CommandOption>>;
  /** How its plain arguments are called in the help: `[name ...]`. Without, it takes none. */
  readonly names?: string;
  readonly examples: readonly string[];
  /** Gives the exit code. */
  readonly load: () => Promise<(context: CommandContext) => Promise<number>>;
}

/** Commands about one thing: `sluice dlq list`, `sluice dlq show`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly details: readonly string[];
  readonly examples: readonly string[];
  /** Their names begin with that of the group. */
  readonly commands: readonly Command[];
}

export function isGroup(command: Command | CommandGroup): command is CommandGroup {
  return "commands" in command;
}

/** Of every command that prints something a program may read. */
export const JSON_OUT: Readonly<Record<string, CommandOption>> = {
  json: { type: "boolean", description: "Print JSON, for programs." },
};

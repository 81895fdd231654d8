import { existsSync } from "node:fs";
import type { Registry } from "#config/resolve";
import type { MapNode } from "#config/text";
import { nearest } from "#contract/schema";
import { type Command, type CommandContext, type CommandGroup, isGroup, type OptionValues } from "./command.js";
import { COMMANDS, findCommand } from "./commands.js";
import { commandHelp, overview } from "./help.js";
import { parseArguments } from "./parse-arguments.js";
import { isVersion, printVersion } from "./process/version.js";
import { EXIT, type Terminal, UnansweredError, UsageError } from "./terminal.js";

/** Runs one command line and returns the exit code. */
export async function main(
  argv: readonly string[],
  terminal: Terminal,
  registry: CommandContext["registry"] = builtinRegistry,
): Promise<number> {
  const [first, ...rest] = argv;
  try {
    if (first === undefined) throw new UsageError("a command is missing");
    if (isVersion(first)) return printVersion(terminal);
    if (first === "--help" || first === "-h") return print(terminal, overview(terminal.out.columns));
    if (first === "help") return print(terminal, helpFor(rest, terminal.out.columns));
    const command = commandOf(first);
    if (!isGroup(command)) return await runCommand(command, rest, terminal, registry);
    if (rest[0] === "--help" || rest[0] === "-h") return print(terminal, commandHelp(command, terminal.out.columns));
    return await runCommand(subcommandOf(command, rest[0]), rest.slice(1), terminal, registry);
  } catch (error) {
    if (error instanceof UnansweredError) {
      terminal.err.write(`\nsluice: ${error.message}: stopped\n`);
      return EXIT.failed;
    }
    if (!(error instanceof UsageError)) throw error;
    const hint = error.suggestion === undefined ? "" : `; ${error.suggestion}`;
    terminal.err.write(`sluice: ${error.message}${hint}\nSee ${helpCommandFor(argv)}.\n`);
    return EXIT.usage;
  }
}

async function runCommand(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
  registry: CommandContext["registry"],
): Promise<number> {
  const { values, names } = parseArguments(command, args);
  if (values["help"] === true) return print(terminal, commandHelp(command, terminal.out.columns));
  if (names.length > 0 && command.names === undefined) {
    const hint = "config" in command.options ? `to name a config, write --config ${names[0]}` : undefined;
    throw new UsageError(`unexpected argument "${names[0]}"`, hint);
  }
  const execute = await command.load();
  return execute({ values: { ...defaultFiles(command), ...values, names }, terminal, registry });
}

function defaultFiles({ options }: Command): OptionValues {
  const files = Object.entries(options).flatMap(([name, { defaultFile }]) =>
    defaultFile !== undefined && existsSync(defaultFile) ? [[name, [defaultFile]] as const] : [],
  );
  return Object.fromEntries(files);
}

function helpFor([name, member]: readonly string[], columns: number | undefined): string {
  if (name === undefined) return overview(columns);
  const command = commandOf(name);
  return commandHelp(isGroup(command) && member !== undefined ? subcommandOf(command, member) : command, columns);
}

function helpCommandFor([first, second]: readonly string[]): string {
  const command = first === undefined ? undefined : findCommand(first);
  if (command === undefined) return "sluice --help";
  const member = isGroup(command) && command.commands.find(({ name }) => name === `${first} ${second}`);
  return `sluice ${member ? member.name : first} --help`;
}

function subcommandOf(group: CommandGroup, name: string | undefined): Command {
  const names = group.commands.map((command) => command.name.slice(group.name.length + 1));
  if (name === undefined) throw new UsageError(`${group.name} needs a command: ${names.join(", ")}`);
  const found = group.commands[names.indexOf(name)];
  if (found !== undefined) return found;
  const guess = nearest(name, names);
  throw new UsageError(`unknown command "${group.name} ${name}"`, guess && `did you mean "${group.name} ${guess}"?`);
}

function commandOf(name: string): Command | CommandGroup {
  const command = findCommand(name);
  if (command !== undefined) return command;
  const isOption = name.startsWith("-");
  const guess = isOption
    ? undefined
    : nearest(
        name,
        COMMANDS.map((each) => each.name),
      );
  throw new UsageError(
    isOption ? `unknown option ${name}; the command comes first` : `unknown command "${name}"`,
    guess && `did you mean "${guess}"?`,
  );
}

function print(terminal: Terminal, text: string): number {
  terminal.out.write(text);
  return EXIT.ok;
}

/** Imported on demand, because help needs no component. */
async function builtinRegistry(config?: MapNode): Promise<Registry> {
  const loader = await import("../builtins/builtins.js");
  return loader.builtinRegistry(config);
}

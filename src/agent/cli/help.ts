import { type Command, type CommandGroup, type CommandOption, isGroup } from "./command.js";
import { COMMANDS } from "./commands.js";

const HELP: CommandOption = { type: "boolean", short: "h", description: "Show this help." };

export function overview(): string {
  return lines(
    "Sluice receives, processes and forwards OpenTelemetry data.",
    "",
    "Usage: sluice <command> [options]",
    "",
    "Commands:",
    ...table(COMMANDS.map((command) => [command.name, command.summary])),
    "",
    "Options:",
    ...table([
      ["-h, --help", "Show this help; sluice help <command> shows the help of a command."],
      ["-v, --version", "Show the version."],
    ]),
    "",
    "Examples:",
    "  sluice validate --config pipeline.yaml",
    "  sluice run --config pipeline.yaml",
    "",
    "Exit codes: 0 success, 1 bad config or failed run, 2 wrong usage.",
  );
}

export function commandHelp(command: Command | CommandGroup): string {
  return isGroup(command) ? groupHelp(command) : singleHelp(command);
}

function groupHelp(group: CommandGroup): string {
  return lines(
    group.summary,
    "",
    `Usage: sluice ${group.name} <command> [options]`,
    "",
    "Commands:",
    ...table(group.commands.map((command) => [command.name, command.summary])),
    "",
    ...group.details,
    "",
    "Examples:",
    ...group.examples.map((example) => `  ${example}`),
  );
}

function singleHelp(command: Command): string {
  const options = Object.entries({ ...command.options, help: HELP });
  return lines(
    command.summary,
    "",
    `Usage: ${usageLine(command)}`,
    "",
    ...command.details,
    "",
    "Options:",
    ...table(options.map(([name, option]) => [optionText(name, option), option.description])),
    "",
    "Examples:",
    ...command.examples.map((example) => `  ${example}`),
  );
}

function usageLine(command: Command): string {
  const config = "set" in command.options && "config" in command.options ? " [--config FILE]" : "";
  return `sluice ${command.name}${config} [options]${command.names === undefined ? "" : ` ${command.names}`}`;
}

function optionText(name: string, { short, value }: CommandOption): string {
  return `${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
}

function table(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function lines(...all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}

import { type Command, type CommandGroup, type CommandOption, isGroup } from "./command.js";
import { COMMANDS } from "./commands.js";
import { wrapLine } from "./print/fit-line.js";

const HELP: CommandOption = { type: "boolean", short: "h", description: "Show this help." };

/** Longer lines are hard to read, even if the terminal is wider. */
const MAX_COLUMNS = 120;

/** The help of `sluice` itself, for a terminal of this width. */
export function overview(columns?: number): string {
  return lines(
    columns,
    "Sluice receives, processes and forwards OpenTelemetry data.",
    "",
    "Usage: sluice <command> [options]",
    "",
    "Commands:",
    ...table(COMMANDS.map((command) => [command.name, command.summary])),
    "",
    "Options:",
    ...table([
      ["-h, --help", "Show this help. For a command: sluice help <command>"],
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

/** The help of one command or group of commands, for a terminal of this width. */
export function commandHelp(command: Command | CommandGroup, columns?: number): string {
  return isGroup(command) ? groupHelp(command, columns) : singleHelp(command, columns);
}

function groupHelp(group: CommandGroup, columns: number | undefined): string {
  return lines(
    columns,
    group.summary,
    "",
    `Usage: sluice ${group.name} <command> [options]`,
    "",
    "Commands:",
    ...table(group.commands.map((command) => [command.name, command.summary])),
    "",
    ...paragraphs(group.details),
    "",
    "Examples:",
    ...group.examples.map((example) => `  ${example}`),
  );
}

function singleHelp(command: Command, columns: number | undefined): string {
  const options = Object.entries({ ...command.options, help: HELP });
  return lines(
    columns,
    command.summary,
    "",
    `Usage: ${usageLine(command)}`,
    "",
    ...paragraphs(command.details),
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

/** Joins the lines of a paragraph. A line that ends a sentence ends its paragraph, and indented lines stay alone. */
function paragraphs(details: readonly string[]): string[] {
  const joined: string[] = [];
  for (const line of details) {
    const last = joined.at(-1);
    const isNew = last === undefined || last.endsWith(".") || last.startsWith(" ") || line.startsWith(" ");
    if (isNew) joined.push(line);
    else joined[joined.length - 1] = `${last} ${line}`;
  }
  return joined;
}

interface HelpRow {
  readonly left: string;
  readonly right: string;
  /** Width of the left column, to which lines of the right column are indented. */
  readonly width: number;
}

function table(rows: readonly (readonly [string, string])[]): HelpRow[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => ({ left, right, width }));
}

/** Without a width, rows of tables stay whole: programs may search them. */
function lines(columns: number | undefined, ...all: readonly (string | HelpRow)[]): string {
  return `${all.flatMap((line) => wrapHelp(line, columns)).join("\n")}\n`;
}

function wrapHelp(line: string | HelpRow, columns: number | undefined): string[] {
  const width = Math.min(columns ?? MAX_COLUMNS, MAX_COLUMNS);
  if (typeof line === "string") return line.startsWith(" ") ? [line] : wrapLine(line, width);
  const row = `  ${line.left.padEnd(line.width)}  ${line.right}`;
  return columns === undefined ? [row] : wrapLine(row, width, " ".repeat(line.width + 4));
}

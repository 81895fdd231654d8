import { type Command, type CommandContext, type CommandOption, isGroup } from "../command.js";
import { COMMANDS } from "../commands.js";
import { EXIT, UsageError } from "../terminal.js";
import { bashScript, type CompletedCommand, type CompletedOption, fishScript, zshScript } from "./scripts.js";

const SCRIPTS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `sluice completion` */
export async function completion({ values, terminal }: CommandContext): Promise<number> {
  const [shell = "", ...others] = (values["names"] ?? []) as readonly string[];
  const script = Object.hasOwn(SCRIPTS, shell) && others.length === 0 ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError(`expected one of ${Object.keys(SCRIPTS).join(", ")}`);
  terminal.out.write(script(completedCommands()));
  return EXIT.ok;
}

function completedCommands(): CompletedCommand[] {
  const help: CompletedCommand = {
    name: "help",
    summary: "Show the help of a command.",
    options: [],
    names: COMMANDS.map(({ name }) => name),
    takesFiles: false,
    commands: [],
  };
  return [
    ...COMMANDS.map((command) => {
      if (!isGroup(command)) return completed(command, command.name);
      const { name, summary, commands } = command;
      const inner = commands.map((each) => completed(each, each.name.slice(name.length + 1)));
      return { name, summary, options: [], names: [], takesFiles: false, commands: inner };
    }),
    help,
  ];
}

function completed({ summary, options, names }: Command, name: string): CompletedCommand {
  const shown = { ...options, help: { type: "boolean", short: "h", description: "Show this help." } as const };
  return {
    name,
    summary,
    commands: [],
    names: choicesIn(names),
    takesFiles: names?.includes("FILE") ?? false,
    options: Object.entries(shown).map(([each, option]) => completedOption(each, option)),
  };
}

/** Splits `open|closed` of `ID open|closed` into two words; `[name ...]` has none. */
function choicesIn(names = ""): string[] {
  return names.split(" ").flatMap((word) => (word.includes("|") ? word.split("|") : []));
}

function completedOption(name: string, { short, description, type, value }: CommandOption): CompletedOption {
  const kind = value === "FILE" ? "file" : value === "DIR" || value === "FOLDER" ? "directory" : "text";
  return { name, short, description, value: type === "boolean" ? undefined : kind };
}

import type { CompletedCommand, CompletedOption } from "./completed-command.js";

export function fishScript(commands: readonly CompletedCommand[]): string {
  return [
    "# fish completion for sluice: sluice completion fish | source",
    "complete -c sluice -f",
    "complete -c sluice -n __fish_use_subcommand -s v -l version -d 'Show the version.'",
    ...commands.flatMap((command) => [
      `complete -c sluice -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.summary)}`,
      ...linesOf(command, `__fish_seen_subcommand_from ${command.name}`),
      "",
    ]),
  ].join("\n");
}

function linesOf(command: CompletedCommand, seen: string): string[] {
  const names = command.commands.map(({ name }) => name).join(" ");
  return [
    ...command.options.map((option) => optionLine(option, seen)),
    ...command.names.map((name) => `complete -c sluice -n ${quoted(seen)} -a ${name}`),
    ...(command.takesFiles ? [`complete -c sluice -n ${quoted(seen)} -F`] : []),
    ...command.commands.flatMap((each) => [
      `complete -c sluice -n ${quoted(`${seen}; and not __fish_seen_subcommand_from ${names}`)} -a ${each.name} -d ${quoted(each.summary)}`,
      ...linesOf(each, `${seen}; and __fish_seen_subcommand_from ${each.name}`),
    ]),
  ];
}

function optionLine({ name, short, description, value }: CompletedOption, seen: string): string {
  const shortText = short === undefined ? "" : ` -s ${short}`;
  const needs = value === undefined ? "" : value === "text" ? " -x" : " -r -F";
  return `complete -c sluice -n ${quoted(seen)} -l ${name}${shortText}${needs} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

/** A command, or a group of commands, as shells complete it. */
export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** Only a group has any. */
  readonly commands: readonly CompletedCommand[];
  /** Words that may be given as positional arguments. */
  readonly names: readonly string[];
  /** Whether the positional arguments are files. */
  readonly takesFiles: boolean;
}

export interface CompletedOption {
  readonly name: string;
  readonly short: string | undefined;
  readonly description: string;
  /** The kind of its value; undefined for a switch. */
  readonly value: "file" | "directory" | "text" | undefined;
}

/** The script runs on bash 3.2 and newer, and does not need the package bash-completion. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const options = commands.flatMap((command) => [command, ...command.commands]).flatMap((command) => command.options);
  return `# bash completion for sluice: source <(sluice completion bash)
_sluice() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words= files=
  COMPREPLY=()
  case $before in
    ${bashPattern(options, "file")}) local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${bashPattern(options, "directory")}) local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$word")); return ;;
    ${bashPattern(options, "text")}) return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case $command in
${commands.map(bashCase).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ -n "$files" ] && [[ $word != -* ]]; then local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _sluice sluice
`;
}

function bashCase(command: CompletedCommand): string {
  if (command.commands.length === 0) return `      ${command.name}) ${bashWords(command)} ;;`;
  const names = command.commands.map(({ name }) => name).join(" ");
  return `      ${command.name})
        if [ "$COMP_CWORD" -eq 2 ]; then words="${names} --help"; else
          case \${COMP_WORDS[2]} in
${command.commands.map((each) => `            ${each.name}) ${bashWords(each)} ;;`).join("\n")}
          esac
        fi ;;`;
}

function bashWords({ options, names, takesFiles }: CompletedCommand): string {
  const words = [...names, ...options.map(({ name }) => `--${name}`)].join(" ");
  return `words="${words}"${takesFiles ? " files=1" : ""}`;
}

/** A `case` pattern of all options whose value is of this kind. An option name has the same kind in all commands. */
function bashPattern(options: readonly CompletedOption[], kind: CompletedOption["value"]): string {
  const flagsOf = ({ name, short }: CompletedOption) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
  return [...new Set(options.filter(({ value }) => value === kind).flatMap(flagsOf))].join("|");
}

const ZSH_ACTIONS = { file: "_files", directory: "_files -/", text: " " } as const;

export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef sluice
# zsh completion for sluice: source <(sluice completion zsh), or into a file _sluice of your $fpath
_sluice() {
  local -a commands
  if (( CURRENT == 2 )); then
    commands=(
${commands.map(described("      ")).join("\n")}
    )
    _describe 'command' commands
    return
  fi
  case $words[2] in
${commands.map(zshCase).join("\n")}
  esac
}
compdef _sluice sluice
`;
}

function zshCase(command: CompletedCommand): string {
  if (command.commands.length === 0)
    return `    ${command.name})
      shift words; (( CURRENT-- ))
      ${zshArguments(command, "        ")} ;;`;
  return `    ${command.name})
      if (( CURRENT == 3 )); then
        commands=(
${command.commands.map(described("          ")).join("\n")}
        )
        _describe 'command' commands
        return
      fi
      local inner=$words[3]
      shift 2 words; (( CURRENT -= 2 ))
      case $inner in
${command.commands.map((each) => `        ${each.name})\n          ${zshArguments(each, "            ")} ;;`).join("\n")}
      esac ;;`;
}

function described(indent: string) {
  return ({ name, summary }: CompletedCommand) => `${indent}${zshQuoted(`${name}:${summary.replaceAll(":", "\\:")}`)}`;
}

function zshArguments({ options, names, takesFiles }: CompletedCommand, indent: string): string {
  const plain = takesFiles ? "*:file:_files" : names.length > 0 ? `*:name:(${names.join(" ")})` : "*: : ";
  const specs = [...options.map(zshOption), zshQuoted(plain)];
  return `_arguments ${specs.map((spec) => `\\\n${indent}${spec}`).join(" ")}`;
}

/** One option as zsh's `_arguments` takes it: `'(-c --config)'{-c,--config}'[description]:FILE:_files'` */
function zshOption({ name, short, description, value }: CompletedOption): string {
  const text = `[${description.replace(/[[\]\\:]/g, "\\$&")}]`;
  const rest = value === undefined ? text : `${text}:${value}:${ZSH_ACTIONS[value]}`;
  if (short === undefined) return zshQuoted(`--${name}${rest}`);
  return `${zshQuoted(`(-${short} --${name})`)}{-${short},--${name}}${zshQuoted(rest)}`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function fishScript(commands: readonly CompletedCommand[]): string {
  return [
    "# fish completion for sluice: sluice completion fish | source",
    "complete -c sluice -f",
    "complete -c sluice -n __fish_use_subcommand -s v -l version -d 'Show the version.'",
    ...commands.flatMap((command) => [
      `complete -c sluice -n __fish_use_subcommand -a ${command.name} -d ${fishQuoted(command.summary)}`,
      ...fishLines(command, `__fish_seen_subcommand_from ${command.name}`),
      "",
    ]),
  ].join("\n");
}

function fishLines(command: CompletedCommand, seen: string): string[] {
  const names = command.commands.map(({ name }) => name).join(" ");
  return [
    ...command.options.map((option) => fishOption(option, seen)),
    ...command.names.map((name) => `complete -c sluice -n ${fishQuoted(seen)} -a ${name}`),
    ...(command.takesFiles ? [`complete -c sluice -n ${fishQuoted(seen)} -F`] : []),
    ...command.commands.flatMap((each) => [
      `complete -c sluice -n ${fishQuoted(`${seen}; and not __fish_seen_subcommand_from ${names}`)} -a ${each.name} -d ${fishQuoted(each.summary)}`,
      ...fishLines(each, `${seen}; and __fish_seen_subcommand_from ${each.name}`),
    ]),
  ];
}

function fishOption({ name, short, description, value }: CompletedOption, seen: string): string {
  const shortText = short === undefined ? "" : ` -s ${short}`;
  const needs = value === undefined ? "" : value === "text" ? " -x" : " -r -F";
  return `complete -c sluice -n ${fishQuoted(seen)} -l ${name}${shortText}${needs} -d ${fishQuoted(description)}`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}

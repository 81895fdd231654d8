import type { CompletedCommand, CompletedOption } from "./completed-command.js";

/** The script runs on bash 3.2 and newer, and does not need the package bash-completion. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const options = commands.flatMap((command) => [command, ...command.commands]).flatMap((command) => command.options);
  return `# bash completion for sluice: source <(sluice completion bash)
_sluice() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} words= files=
  COMPREPLY=()
  case $before in
    ${flagPattern(options, "file")}) local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${flagPattern(options, "directory")}) local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$word")); return ;;
    ${flagPattern(options, "text")}) return ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case $command in
${commands.map(commandCase).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [ -n "$files" ] && [[ $word != -* ]]; then local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _sluice sluice
`;
}

function commandCase(command: CompletedCommand): string {
  if (command.commands.length === 0) return `      ${command.name}) ${completionWords(command)} ;;`;
  const names = command.commands.map(({ name }) => name).join(" ");
  return `      ${command.name})
        if [ "$COMP_CWORD" -eq 2 ]; then words="${names} --help"; else
          case \${COMP_WORDS[2]} in
${command.commands.map((each) => `            ${each.name}) ${completionWords(each)} ;;`).join("\n")}
          esac
        fi ;;`;
}

function completionWords({ options, names, takesFiles }: CompletedCommand): string {
  const words = [...names, ...options.map(({ name }) => `--${name}`)].join(" ");
  return `words="${words}"${takesFiles ? " files=1" : ""}`;
}

/** A `case` pattern of all options whose value is of this kind. An option name has the same kind in all commands. */
function flagPattern(options: readonly CompletedOption[], kind: CompletedOption["value"]): string {
  const flagsOf = ({ name, short }: CompletedOption) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
  return [...new Set(options.filter(({ value }) => value === kind).flatMap(flagsOf))].join("|");
}

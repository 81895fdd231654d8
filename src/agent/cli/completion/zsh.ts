import type { CompletedCommand, CompletedOption } from "./completed-command.js";

const ACTIONS = { file: "_files", directory: "_files -/", text: " " } as const;

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
${commands.map(commandCase).join("\n")}
  esac
}
compdef _sluice sluice
`;
}

function commandCase(command: CompletedCommand): string {
  if (command.commands.length === 0)
    return `    ${command.name})
      shift words; (( CURRENT-- ))
      ${argumentsOf(command, "        ")} ;;`;
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
${command.commands.map((each) => `        ${each.name})\n          ${argumentsOf(each, "            ")} ;;`).join("\n")}
      esac ;;`;
}

function described(indent: string) {
  return ({ name, summary }: CompletedCommand) => `${indent}${quoted(`${name}:${summary.replaceAll(":", "\\:")}`)}`;
}

function argumentsOf({ options, names, takesFiles }: CompletedCommand, indent: string): string {
  const plain = takesFiles ? "*:file:_files" : names.length > 0 ? `*:name:(${names.join(" ")})` : "*: : ";
  const specs = [...options.map(optionSpec), quoted(plain)];
  return `_arguments ${specs.map((spec) => `\\\n${indent}${spec}`).join(" ")}`;
}

/** One option as zsh's `_arguments` takes it: `'(-c --config)'{-c,--config}'[description]:FILE:_files'` */
function optionSpec({ name, short, description, value }: CompletedOption): string {
  const text = `[${description.replace(/[[\]\\:]/g, "\\$&")}]`;
  const rest = value === undefined ? text : `${text}:${value}:${ACTIONS[value]}`;
  if (short === undefined) return quoted(`--${name}${rest}`);
  return `${quoted(`(-${short} --${name})`)}{-${short},--${name}}${quoted(rest)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

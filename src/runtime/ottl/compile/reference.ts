import { type FunctionSpec, signature } from "../functions/function-spec.js";
import { FUNCTIONS } from "../functions/table.js";
import { CONTEXT_SIGNALS, CONTEXTS } from "../paths/context.js";
import { ENUMS } from "../paths/enums.js";
import { PATHS } from "../paths/paths.js";
import { CONFIG_DIFFERENCES, type ConfigDifference } from "./config-differences.js";
import { DIFFERENCES, type OttlDifference } from "./differences.js";

/** docs/reference/ottl-functions.md: all functions and paths, from the tables that the compiler uses. */
export function ottlReference(): string {
  const specs = [...FUNCTIONS.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const isEditor = ({ name }: FunctionSpec) => /^[a-z]/.test(name);
  return `${[
    "# OTTL: functions and paths",
    "Made from the code by `node scripts/ottl-reference.js`; do not edit.",
    "Arguments in square brackets are optional. Every argument can be given by name: `Substring(body, start = 0, length = 5)`. Types in capital letters must be literals. `path` and `map path` are the fields that are changed; `pattern` is a regular expression of RE2, `glob` has `*` and `?`, and `converter` is the name of a converter such as `SHA256`.",
    "## All functions",
    "The Collector has all of them, under these names and with these arguments.",
    functionTable(specs),
    "## What differs from the Collector",
    "Compared with contrib 0.159 and 0.160 on its own tests, documentation and function tables and on random arguments. Sluice reports errors in statements as config errors, before it starts. Limits and other differences are in [OTTL](../how-to/ottl.md#coming-from-the-collector).",
    differenceTable(DIFFERENCES),
    "### Settings that differ",
    "The effect on a record that the config matches.",
    configTable(CONFIG_DIFFERENCES),
    "## Editors",
    ...specs.filter(isEditor).map(functionText),
    "## Converters",
    ...specs.filter((spec) => !isEditor(spec)).map(functionText),
    "## Paths",
    'Each path may also begin with the name of its context: `log.body` for `body`. Maps and lists take keys: `attributes["a"]["b"][0]`.',
    ...CONTEXTS.map(contextText),
  ].join("\n\n")}\n`;
}

function functionTable(specs: readonly FunctionSpec[]): string {
  const rows = specs.map((spec) => {
    const contexts = spec.contexts?.join(", ") ?? "all";
    return `| [\`${signature(spec)}\`](#${spec.name.toLowerCase()}) | ${spec.returns || "-"} | ${contexts} |`;
  });
  return ["| function | gives | contexts |", "|---|---|---|", ...rows].join("\n");
}

function differenceTable(differences: readonly OttlDifference[]): string {
  const rows = differences.map(
    ({ what, after = [], example, there, here }) =>
      `| ${what} | ${[...after, example].map(codeCell).join(", then ")} | ${there} | ${hereText(here)} |`,
  );
  return ["| what | example | Collector | here |", "|---|---|---|---|", ...rows].join("\n");
}

function codeCell(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

function configTable(differences: readonly ConfigDifference[]): string {
  const rows = differences.map(({ what, component, config, there, here }) => {
    const answer = typeof here === "string" ? here : `refused: ${here.refused}`;
    return `| ${component} | ${what} | ${codeCell(config)} | ${there} | ${answer} |`;
  });
  return ["| component | what | config | Collector | here |", "|---|---|---|---|---|", ...rows].join("\n");
}

function hereText(here: OttlDifference["here"]): string {
  if ("refused" in here) return `refused: ${here.refused}`;
  return "fails" in here ? `fails: ${here.fails}` : `\`${here.gives ?? "nil"}\``;
}

function functionText(spec: FunctionSpec): string {
  const rows = spec.parameters.map(
    ({ name, type, optional }) => `- \`${name}\`: ${type}${optional ? ", optional" : ""}`,
  );
  const returns = spec.returns === "" ? [] : [`Gives ${spec.returns}.`];
  const where = spec.contexts === undefined ? [] : [`Only in the context ${spec.contexts.join(" and ")}.`];
  return [
    `### ${spec.name}`,
    `\`${signature(spec)}\``,
    [spec.summary, ...returns, ...where].join(" "),
    ...(rows.length === 0 ? [] : [rows.join("\n")]),
    `\`\`\`ottl\n${spec.example}\n\`\`\``,
  ].join("\n\n");
}

function contextText(context: (typeof CONTEXTS)[number]): string {
  const paths = Object.entries(PATHS[context]).filter(([path]) => !path.startsWith(`${context}.`));
  const table = paths.map(([path, { type }]) => `| \`${path}\` | ${type} |`);
  const enums = [...ENUMS[context]].map(([name, value]) => `\`${name}\` (${value})`);
  return [
    `### ${context}`,
    `Signals: ${CONTEXT_SIGNALS[context].join(", ")}.`,
    ["| path | type |", "|---|---|", ...table].join("\n"),
    ...(enums.length === 0 ? [] : [`Names of numbers: ${enums.join(", ")}.`]),
  ].join("\n\n");
}

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The text of the man page, made from the same table as the help. The build writes it to dist/sluice.1.
 *
 * @typedef {{ type: string, short?: string, value?: string, description: string }} Option
 * @typedef {{ name: string, summary: string, details: readonly string[], examples: readonly string[], names?: string,
 *   options?: Record<string, Option>, commands?: readonly Command[] }} Command
 * @param {{ commands: readonly Command[], version: string }} facts
 */
export function manPage({ commands, version }) {
  const all = commands.flatMap((command) => [command, ...(command.commands ?? [])]);
  return `${[
    '.\\" Made by scripts/man-page.js from the commands in src/agent/cli/.',
    `.TH SLUICE 1 "" "sluice ${version}" "User Commands"`,
    ".SH NAME",
    "sluice \\- receive, process and forward OpenTelemetry data",
    ".SH SYNOPSIS",
    ".B sluice",
    ".I command",
    ".RI [ options ]",
    ".SH DESCRIPTION",
    "A YAML file, written as for the OpenTelemetry Collector, describes a graph of receivers, processors and exporters;",
    ".B sluice run",
    "runs it. What a client was told is safe is on disk until its backend has taken it; what a backend refuses for good",
    "is kept as a dead letter that can be seen, understood and replayed.",
    ".SH COMMANDS",
    ...all.flatMap(commandLines),
    ".SH EXIT STATUS",
    ...definition("0", "All is well."),
    ...definition("1", "The config is bad, the agent failed, or what was asked for could not be done."),
    ...definition("2", "The command line was misused."),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(([name, meaning]) => definition(name, meaning)),
    ".SH FILES",
    ...definition("./data/queue", "Where queues are kept, unless extensions.reliability.directory says otherwise."),
    ...definition("./data/admin-token", "The token of the admin API and of the console; only its owner can read it."),
    ".SH SEE ALSO",
    "The pages in the package's folder docs/, docs/operate/runbook.md above all; the console of a running agent at",
    "http://127.0.0.1:55679/.",
  ].join("\n")}\n`;
}

const ENVIRONMENT = [
  ["SLUICE_API", "The agent that commands ask; http://127.0.0.1:55679 without."],
  ["SLUICE_ADMIN_TOKEN", "What lets them in, in place of the token file of an agent on the same machine."],
  ["HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "Proxies of exporters, by Go's rules."],
  ["NO_COLOR", "Prints no colours when it is set."],
];

function commandLines({ name, summary, details, examples, options, names, commands }) {
  const usage = commands === undefined ? `[options]${names === undefined ? "" : ` ${names}`}` : "command [options]";
  return [
    `.SS "sluice ${escaped(name)} ${escaped(usage)}"`,
    escaped(summary),
    ...(details.length === 0 ? [] : [".PP", ...paragraph(details)]),
    ...Object.entries(options ?? {}).flatMap(([option, facts]) => optionLines(option, facts)),
    ...(commands !== undefined || examples.length === 0
      ? []
      : [".PP", "Examples:", ".PP", ".RS 4", ".nf", ...examples.map(escaped), ".fi", ".RE"]),
  ];
}

/** Indented lines stay as they are; the others are filled. */
function paragraph(lines) {
  return lines.flatMap((line) => (/^\s/.test(line) ? [".br", `\\& ${escaped(line)}`] : [escaped(line)]));
}

function optionLines(name, { short, value, description }) {
  const flags = `${short === undefined ? "" : `\\-${short}, `}\\-\\-${escaped(name)}`;
  const shown = value === undefined ? `.B "${flags}"` : `.BI "${flags} " "${escaped(value)}"`;
  return [".TP", shown, escaped(description)];
}

function definition(term, meaning) {
  return [".TP", `.B "${escaped(term)}"`, escaped(meaning)];
}

/** Escapes roff syntax: backslashes, literal hyphens, quotes in arguments, a dot at the start. */
function escaped(text) {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replaceAll("…", "...")
    .replace(/^\./, "\\&.");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { COMMANDS } = await import("../dist/agent/cli/commands.js");
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  writeFileSync(new URL("../dist/sluice.1", import.meta.url), manPage({ commands: COMMANDS, version }));
}

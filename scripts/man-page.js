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
    "runs it. Acknowledged data stays on disk until the backend has accepted it. Data that a backend refuses permanently",
    "becomes a dead letter, which you can inspect and replay.",
    ".SH COMMANDS",
    ...all.flatMap(commandLines),
    ".SH EXIT STATUS",
    ...definition("0", "Success."),
    ...definition("1", "The config is invalid, the agent failed, or the command could not be completed."),
    ...definition("2", "Wrong usage: an unknown command or option."),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(([name, meaning]) => definition(name, meaning)),
    ".SH FILES",
    ...definition("./data/queue", "The queues, unless extensions.reliability.directory names another directory."),
    ...definition("./data/admin-token", "The token of the admin API and of the console; only its owner can read it."),
    ".SH SEE ALSO",
    "The pages in the package's folder docs/, such as docs/operate/runbook.md, and the console of a running agent at",
    "http://127.0.0.1:55679/.",
  ].join("\n")}\n`;
}

const ENVIRONMENT = [
  ["SLUICE_API", "URL of the agent that commands connect to; default: http://127.0.0.1:55679."],
  ["SLUICE_ADMIN_TOKEN", "Token for the admin API; default: the token file of an agent on the same machine."],
  ["HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "Proxies of exporters, by Go's rules."],
  ["NO_COLOR", "If set, no colours are printed."],
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

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The text of docs/reference/errors.md, made from the tables of codes.
 *
 * @typedef {{ cause: string, action: string }} Facts
 * @param {{
 *   errors: Record<string, Facts & { appearsIn: string, kind?: string }>,
 *   problems: Record<string, Facts>,
 *   apiErrors: Record<string, Facts & { status: number }>,
 * }} tables
 */
export function errorReference({ errors, problems, apiErrors }) {
  const appearingIn = (place) => Object.entries(errors).filter(([, facts]) => facts.appearsIn === place);
  return `${[
    INTRODUCTION,
    "## What a sender is told",
    REFUSALS,
    table("retry", appearingIn("refusal"), ({ kind }) => RETRY[kind] ?? "it depends"),
    "## What a dead letter says",
    DEAD_LETTERS,
    table("kind", appearingIn("dead_letter"), ({ kind }) => kind),
    "## What is thrown",
    THROWN,
    table("", appearingIn("thrown")),
    "## Problems of a config",
    PROBLEMS,
    table("", Object.entries(problems)),
    "## What the admin API answers",
    API,
    table("status", Object.entries(apiErrors), ({ status }) => status),
  ].join("\n\n")}\n`;
}

const INTRODUCTION = `# Error codes

<!-- Made by node scripts/pages/error-reference.js from the tables in src/: edit those. -->

Every error that Sluice makes has a code. A code is stable: texts may get better, codes stay. They stand in the agent's log
(\`code\`), with every failed attempt and dead letter (\`sluice dlq show\`, the [API](../openapi.yaml)), in what a program that embeds
Sluice gets, and \`retry_on_failure.retry_on\` and \`permanent_on\` take them. Plugins have codes of their own.

Errors of a backend or of the network have its own word for it beside the code, as \`status\`: \`HTTP 503\`, \`UNAVAILABLE\`,
\`ECONNREFUSED\`.`;

const REFUSALS = `Who sent the data still has it: nothing that was refused has been acknowledged. [Delivery](delivery.md) has the answers over
HTTP and gRPC. _Later_ means that the sender is told when.`;

const DEAD_LETTERS = `What could not be delivered is kept with one of these codes, or with one of those above; [Dead letters](../operate/dead-letters.md) tells
how to see, mend and replay it.`;

const THROWN = "Errors that a program, a plugin or a test meets; recognise them by `code`, not by class.";

const PROBLEMS = `\`sluice validate\` and \`sluice run\` print each problem with its place and what to write. The codes are in the output of
\`sluice validate --json\`, in the log, and in \`problems\` of the errors \`SLUICE_CONFIG\` and \`SLUICE_AGENT_START\`. All problems of a config are found at once.`;

const API =
  'An answer that is no success has the body `{"error": {"code", "message"}}`; see [the API](../openapi.yaml).';

const RETRY = { transient: "yes", throttled: "later", permanent: "no" };

function table(title, rows, cell) {
  const line = (first, second, third, fourth) =>
    `| ${first} | ${cell === undefined ? "" : `${second} | `}${third} | ${fourth} |`;
  return [
    line("code", title, "cause", "what to do"),
    line("---", "---", "---", "---"),
    ...rows.map(([code, facts]) => line(`\`${code}\``, cell?.(facts), inCell(facts.cause), inCell(facts.action))),
  ].join("\n");
}

/** A bar would end a table cell, even inside code. */
const inCell = (text) => text.replaceAll("|", "\\|");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [{ ERRORS }, { PROBLEMS: problems }, { API_ERRORS }] = await Promise.all([
    import("../../dist/runtime/contract/errors/error-codes.js"),
    import("../../dist/runtime/config/text/problem-codes.js"),
    import("../../dist/extensions/admin-api/http-error.js"),
  ]);
  const page = errorReference({ errors: ERRORS, problems, apiErrors: API_ERRORS });
  writeFileSync(new URL("../../docs/reference/errors.md", import.meta.url), page);
}

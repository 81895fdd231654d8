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
    "## Refused data",
    REFUSALS,
    table("retry", appearingIn("refusal"), ({ kind }) => RETRY[kind] ?? "it depends"),
    "## Dead letters",
    DEAD_LETTERS,
    table("kind", appearingIn("dead_letter"), ({ kind }) => kind),
    "## Thrown errors",
    THROWN,
    table("", appearingIn("thrown")),
    "## Problems of a config",
    PROBLEMS,
    table("", Object.entries(problems)),
    "## Errors of the admin API",
    API,
    table("status", Object.entries(apiErrors), ({ status }) => status),
  ].join("\n\n")}\n`;
}

const INTRODUCTION = `# Error codes

<!-- Made by node scripts/pages/error-reference.js from the tables in src/: edit those. -->

Every error of Sluice has a code. Codes are stable, but messages may improve. You find the code:

- in the agent's log, as \`code\`
- in failed attempts and dead letters: \`sluice dlq show\` and the [API](../openapi.yaml) show it
- in errors that your program gets if it embeds Sluice

You can also use codes in \`retry_on_failure.retry_on\` and \`permanent_on\`. Plugins have their own codes.

An error of a backend or of the network also has a \`status\`, which is the other side's own name for it: \`HTTP 503\`,
\`UNAVAILABLE\`, \`ECONNREFUSED\`.`;

const REFUSALS = `A sender gets one of these codes if its data is refused. Refused data was not acknowledged, so the sender still has it.
[Delivery](delivery.md) shows the answers over HTTP and gRPC. In the column "retry", _later_ means that the answer tells the
sender how long to wait.`;

const DEAD_LETTERS = `A dead letter has one of these codes, or one of those above. [Dead letters](../operate/dead-letters.md) explains how to see, fix
and replay it.`;

const THROWN = "Programs, plugins and tests get these errors. Recognise them by `code`, not by class.";

const PROBLEMS = `\`sluice validate\` and \`sluice run\` print each problem with its place and what to write. The codes are in the output of
\`sluice validate --json\`, in the log, and in \`problems\` of the errors \`SLUICE_CONFIG\` and \`SLUICE_AGENT_START\`.
All problems of a config are reported together.`;

const API = 'An error has the body `{"error": {"code", "message"}}`; see [the API](../openapi.yaml).';

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

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The text of docs/components/README.md, made from what the components say about themselves.
 *
 * @param {readonly { kind: string, type: string, aliases?: readonly string[], summary: string }[]} factories
 */
export function componentList(factories) {
  const sections = Object.entries(KINDS).map(([kind, { title, purpose }]) => {
    const rows = factories.filter((factory) => factory.kind === kind).sort((a, b) => (a.type < b.type ? -1 : 1));
    return [`## ${title}`, purpose, ["| type | what it does |", "| --- | --- |", ...rows.map(row)].join("\n")].join(
      "\n\n",
    );
  });
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

const INTRODUCTION = `# Components

<!-- Made by node scripts/pages/component-list.js from the summaries of the components: edit those. -->

\`sluice components\` prints this list, and \`sluice components otlp\` shows every key of a component with its default.
The Collector's older spellings work too, such as \`otlphttp\` and \`logging\`.
[Coming from the Collector](../coming-from-the-collector.md) says what differs from the Collector's component of the same name.`;

const KINDS = {
  receiver: { title: "Receivers", purpose: "Receivers take data in." },
  processor: { title: "Processors", purpose: "Processors change, drop or sample data." },
  exporter: {
    title: "Exporters",
    purpose:
      "Exporters send data on. Each one that sends data has a [durable queue](../operate/reliability.md) in front of it.",
  },
  connector: {
    title: "Connectors",
    purpose: "A connector joins two pipelines: it is an exporter of one and a receiver of the other.",
  },
  extension: { title: "Extensions", purpose: "Extensions serve the whole agent." },
};

function row({ kind, type, aliases = [], summary }) {
  const name = `[\`${type}\`](${kind}s/${type}.md)`;
  const also = aliases.length === 0 ? "" : ` (also ${aliases.map((alias) => `\`${alias}\``).join(", ")})`;
  return `| ${name}${also} | ${summary.replaceAll("|", "\\|")} |`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { builtins } = await import("../../dist/agent/builtins/builtins.js");
  writeFileSync(new URL("../../docs/components/README.md", import.meta.url), componentList(await builtins()));
}

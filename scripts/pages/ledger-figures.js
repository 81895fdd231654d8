import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Writes the figures of bench/ledger.json into docs/reference/performance.md and README.md, between their markers.
 *
 * @typedef {{ name: string, kind: string, node: string, value: number }} Cell
 */
const KINDS = {
  ratio: "CPU / bare",
  p99: "p99 / bare",
  loop: "longest delay, ms",
  allocated: "bytes allocated a record",
  copied: "bytes copied a record",
  functions: "functions",
  files: "files",
};
const OTHERS = {
  start: "start to first answer / `node -e 0`",
  version: "time / `node -e 0`",
  package: "kB",
  rss: "MiB resident",
};

/** Files with a marked part, and what belongs there. @type {Record<string, (cells: readonly Cell[]) => string>} */
export const MARKED = {
  "docs/reference/performance.md": (cells) =>
    cells.length === 0 ? "\n\nNothing was measured yet.\n\n" : `\n\n${tables(cells)}\n\n`,
  "README.md": (cells) => {
    const ratio = cells.find(({ name, kind }) => name === "16 x 100" && kind === "ratio");
    return ratio === undefined
      ? ""
      : `Passing a record through costs ${ratio.value.toFixed(2)} times the CPU of a program that only forwards bytes.`;
  },
};

/** The text with the part between its markers made anew. @param {string} text @param {(cells: readonly Cell[]) => string} make @param {readonly Cell[]} cells */
export function withFigures(text, make, cells) {
  const marked = /(<!-- ledger: node scripts\/pages\/ledger-figures\.js -->).*(<!-- end of ledger -->)/s;
  if (!marked.test(text)) throw new Error("the text has no markers of the ledger");
  return text.replace(marked, (_, start, end) => `${start}${make(cells)}${end}`);
}

/** @param {readonly Cell[]} cells */
function tables(cells) {
  const versions = [...new Set(cells.map(({ node }) => node))];
  return versions
    .flatMap((node) => {
      const own = cells.filter((cell) => cell.node === node);
      return [`Node.js ${node}:`, loads(own), others(own)].filter((part) => part !== "");
    })
    .join("\n\n");
}

/** A row for each cell, a column for each kind. @param {readonly Cell[]} cells */
function loads(cells) {
  const names = [...new Set(cells.filter(({ kind }) => kind in KINDS).map(({ name }) => name))];
  const figureOf = (/** @type {string} */ name, /** @type {string} */ kind) =>
    cells.find((cell) => cell.name === name && cell.kind === kind)?.value ?? "";
  return markdown(
    ["cell", ...Object.values(KINDS)],
    names.map((name) => [name, ...Object.keys(KINDS).map((kind) => figureOf(name, kind))]),
  );
}

/** @param {readonly Cell[]} cells */
function others(cells) {
  const rows = cells.flatMap(({ name, kind, value }) =>
    kind in OTHERS ? [[name, OTHERS[/** @type {keyof typeof OTHERS} */ (kind)], value]] : [],
  );
  return rows.length === 0 ? "" : markdown(["what", "figure", "value"], rows);
}

/** @param {string[]} head @param {(string | number)[][]} rows */
function markdown(head, rows) {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const place = (/** @type {string} */ path) => new URL(`../../${path}`, import.meta.url);
  const { cells } = JSON.parse(readFileSync(place("bench/ledger.json"), "utf8"));
  for (const [path, make] of Object.entries(MARKED))
    writeFileSync(place(path), withFigures(readFileSync(place(path), "utf8"), make, cells));
}

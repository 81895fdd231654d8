import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROW_NUMBERS, ROWS, type RowNumber } from "../rows.js";

/** The letters of the rows, in the order of the page. */
export const LETTERS: Readonly<Record<string, string>> = {
  R: "Retry",
  C: "Classification of errors",
  B: "Circuit breaker",
  D: "Queue and dead letters",
  X: "Poison",
  P: "Replay",
  L: "Rate limits",
  S: "Sampling",
  I: "Personal data and secrets",
  V: "Versions of events and schemas",
  H: "Health, metrics and alerts",
  E: "Embedding",
  O: "Operators",
  K: "Brokers and databases",
};

/** A test of a row, as the source has it. */
interface RowTest {
  readonly file: string;
  readonly number: string;
  readonly title: string;
}

/** The last run of `npm run acceptance -- --write`. */
interface Results {
  readonly date: string;
  readonly node: string;
  readonly rows: Readonly<Partial<Record<RowNumber, string>>>;
}

/** The last run of `npm run acceptance -- --figures --write`. */
interface Figures {
  readonly date: string;
  readonly node: string;
  readonly machine: string;
  readonly command: string;
  readonly figures: readonly {
    readonly name: string;
    readonly asked: string;
    readonly measured: string;
    readonly method: string;
  }[];
}

/** The letter whose rows a file tests: `d.test.ts`, or `d-rules.test.ts` if there are too many rows for one file. */
export function letterOf(file: string): string | undefined {
  return /^([a-z])(-[a-z-]+)?\.test\.ts$/.exec(file)?.[1]?.toUpperCase();
}

const folder = join(import.meta.dirname, "..");
export const RESULTS_FILE = join(import.meta.dirname, "results.json");
const FIGURES_FILE = join(import.meta.dirname, "figures.json");
export const PAGE_FILE = join(folder, "../../docs/reference/promises.md");

/** Returns every call of `row` and `notYet` in the files of letters. */
export function readTests(): RowTest[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".test.ts"));
  return files.flatMap((file) => {
    const calls = readFileSync(join(folder, file), "utf8").matchAll(
      /^(?:row|notYet)\(\s*"(\w+)",\s*("(?:[^"\\]|\\.)*")/gm,
    );
    return [...calls].map(([, number, title]) => ({ file, number: number!, title: JSON.parse(title!) as string }));
  });
}

/** The page of promises, made from the rows, the titles of their tests, and what was measured last. */
export function promisesPage(): string {
  const tests = readTests();
  const results = read<Results>(RESULTS_FILE);
  const figures = read<Figures>(FIGURES_FILE);
  const sections = Object.entries(LETTERS).map(([letter, name]) => sectionOf(letter, name, tests, results));
  return `${[introduction(results), figuresSection(figures), ...sections].join("\n\n")}\n`;
}

function read<Content>(file: string): Content | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Content) : undefined;
}

function introduction(results: Results | undefined): string {
  const counts = results === undefined ? "" : ` ${runOf(results)}`;
  return `# Promises

This page lists what Sluice promises, in the words in which it was asked for, and the test that holds each promise. Read
it if you want to know whether to believe us, and try it on your machine:

\`\`\`sh
npm run acceptance
\`\`\`

This starts the built agent for each row, uses it as an operator does, and prints one line per row. Brokers, databases
and processes are real. A row that needs a server that is not installed is skipped and says so. See
[the servers](../contributing/tests.md#servers-for-the-broker-tests).${counts}

Each row quotes the document that asked for the behaviour: [e11y], [foodies], [adr54], [skill] or [story]. If a row was
corrected later, the later words follow the first and win over them. The tests are in \`test/acceptance/\`.`;
}

function runOf({ date, node, rows }: Results): string {
  const states = Object.values(rows);
  const parts = ["ok", "failed", "not yet", "skipped"].map((state) => {
    const count = states.filter((each) => each === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return `\n\nThe results below are those of ${date} with Node.js ${node}: ${parts.flat().join(", ")}.`;
}

function figuresSection(figures: Figures | undefined): string {
  if (figures === undefined) return "## Figures\n\nNot measured yet.";
  const lines = figures.figures.map(({ name, asked, measured, method }) => tableRow([name, asked, measured, method]));
  return `## Figures

Measured on ${figures.date} with Node.js ${figures.node} on ${figures.machine}, by:

\`\`\`sh
${figures.command}
\`\`\`

| figure | asked for | measured | how |
| --- | --- | --- | --- |
${lines.join("\n")}`;
}

function sectionOf(letter: string, name: string, tests: readonly RowTest[], results: Results | undefined): string {
  const lines = ROW_NUMBERS.filter((number) => number.startsWith(letter)).map((number) => {
    const titles = tests.filter((test) => test.number === number).map(({ title }) => title);
    return tableRow([number, ROWS[number].join(" "), titles.join("; "), results?.rows[number] ?? ""]);
  });
  const files = [...new Set(tests.map(({ file }) => file))].filter((file) => letterOf(file) === letter);
  const names = files.map((file) => `\`test/acceptance/${file}\``);
  return `## ${name}

Tests: ${names.join(", ")}

| row | promise | what the test shows: Sluice ... | result |
| --- | --- | --- | --- |
${lines.join("\n")}`;
}

/** Angle brackets would be HTML. */
function tableRow(cells: readonly string[]): string {
  const escaped = cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
  return `| ${escaped.join(" | ")} |`;
}

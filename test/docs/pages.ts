import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const project = join(import.meta.dirname, "../..");

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** Of its opening fence. */
  readonly line: number;
  /** The first word after the fence; empty when there is none. */
  readonly language: string;
  readonly text: string;
}

/** The README and everything in docs/, seen from the root. */
export const pages: readonly string[] = [
  "README.md",
  ...readdirSync(join(project, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file.replaceAll("\\", "/")}`)
    .sort(),
];

export const blocks: readonly Block[] = pages.flatMap(blocksOf);

/** Where a page has code that is only indented, so that nobody can say what language it is: `page:line`. */
export const indented: readonly string[] = pages.flatMap((page) => {
  let inBlock = false;
  let inList = false;
  return linesOf(page).flatMap((line, i, lines) => {
    if (line.trimStart().startsWith("```")) inBlock = !inBlock;
    if (/^\S/.test(line)) inList = /^([-*]|\d+\.) /.test(line);
    const begins = /^ {4}/.test(line) && lines[i - 1]?.trim() === "";
    return begins && !inBlock && !inList ? [`${page}:${i + 1}`] : [];
  });
});

function blocksOf(page: string): Block[] {
  const lines = linesOf(page);
  const found: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const [, indent, language] = /^(\s*)```+\s*(\S*)/.exec(lines[i]!) ?? [];
    if (indent === undefined) continue;
    const end = lines.findIndex((line, at) => at > i && line.trim() === "```");
    if (end < 0) throw new Error(`${page}:${i + 1} begins a block that does not end`);
    const text = lines.slice(i + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    found.push({ page, line: i + 1, language: language ?? "", text: `${text.join("\n")}\n` });
    i = end;
  }
  return found;
}

function linesOf(page: string): string[] {
  return readFileSync(join(project, page), "utf8").split("\n");
}

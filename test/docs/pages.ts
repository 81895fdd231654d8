import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export const project = join(import.meta.dirname, "../..");

/** A page of the documentation: the README, or a file in docs/. */
export interface Page {
  /** Seen from the root, such as `docs/how-to/pii.md`. */
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** Of its opening fence. */
  readonly line: number;
  /** The first word after the fence; empty when there is none. */
  readonly language: string;
  readonly text: string;
  /** In a tutorial: the terminal that a command is started in, or that shows this. It is the second word after the fence. */
  readonly terminal: string | undefined;
  /** The file that it is, when its first line is a comment with nothing but a name: `// first.js`. */
  readonly file: string | undefined;
}

export const pages: readonly Page[] = [
  "README.md",
  ...readdirSync(join(project, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file.replaceAll("\\", "/")}`)
    .sort(),
].map((name) => {
  const text = readFileSync(join(project, name), "utf8");
  return { name, text, blocks: blocksOf(name, text) };
});

export const blocks: readonly Block[] = pages.flatMap((page) => page.blocks);

/** The texts of a page's blocks in a language. */
export function blocksIn(page: Page, language: string): string[] {
  return page.blocks.filter((block) => block.language === language).map(({ text }) => text);
}

/** Returns the places with code that is only indented, so that its language is unknown: `page:line`. */
export function indentedCode({ name, text }: Page): string[] {
  let inBlock = false;
  let inList = false;
  return text.split("\n").flatMap((line, i, lines) => {
    if (line.trimStart().startsWith("```")) inBlock = !inBlock;
    if (/^\S/.test(line)) inList = /^([-*]|\d+\.) /.test(line);
    const begins = /^ {4}/.test(line) && lines[i - 1]?.trim() === "";
    return begins && !inBlock && !inList ? [`${name}:${i + 1}`] : [];
  });
}

/** The text of a page without its blocks; lines keep their numbers. */
function proseOf({ text }: Page): string {
  return text.replaceAll(/^\s*```[\s\S]*?^\s*```$/gm, (block) => block.replaceAll(/.+/g, ""));
}

/** Where a row of a table has more or fewer cells than its head, so that it is shown cut off: `page:line`. */
export function brokenRows(page: Page): string[] {
  let columns: number | undefined;
  return proseOf(page)
    .split("\n")
    .flatMap((line, i) => {
      const cells = line.startsWith("|") ? line.split(/(?<!\\)\|/).length : undefined;
      const isBroken = columns !== undefined && cells !== undefined && cells !== columns;
      columns = cells && (columns ?? cells);
      return isBroken ? [`${page.name}:${i + 1}`] : [];
    });
}

/** The files and folders that a page links to, seen from the root, and the heading if one is named: `docs/how-to/pii.md#keys`. */
export function linksOf(page: Page): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => (link.startsWith("#") ? page.name + link : posix.join(posix.dirname(page.name), link)));
}

/** Returns the anchors that a link may name behind `#`, as GitHub makes them from the headings. */
export function anchorsOf(page: Page): string[] {
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function blocksOf(page: string, pageText: string): Block[] {
  const lines = pageText.split("\n");
  const found: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const [, indent, language = "", terminal] = /^(\s*)```+\s*(\S*)(?: +(\S+))?/.exec(lines[i]!) ?? [];
    if (indent === undefined) continue;
    const end = lines.findIndex((line, at) => at > i && line.trim() === "```");
    if (end < 0) throw new Error(`${page}:${i + 1} begins a block that does not end`);
    const inside = lines.slice(i + 1, end).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    const text = `${inside.join("\n")}\n`;
    const file = /^(?:\/\/|#) ([\w.-]+\.\w+)\n/.exec(text)?.[1];
    found.push({ page, line: i + 1, language, terminal, text, file });
    i = end;
  }
  return found;
}

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { anchorsOf, type Block, brokenRows, indentedCode, linksOf, pages, project } from "./pages.js";
import { removeProject } from "./project.js";
import { GENERATED, type Row, TABLE } from "./table.js";

/** Languages that every page may use without a line in the table: blocks.test.ts tries them, or people read them. */
const TRIED_ANYWHERE = ["yaml", "json", "ts", "text"];
/** So may it a block of nothing but these commands. */
const READ_ANYWHERE = /^(sluice|npm run) /;

const rowsOf = (page: string) => TABLE.filter((row) => row.page === page);
const place = ({ page, line, language }: Block) => `${page}:${line} (${language === "" ? "no language" : language})`;

function isTried({ page, language, text }: Block): boolean {
  if (TRIED_ANYWHERE.includes(language)) return true;
  if (rowsOf(page).some(({ runs = [] }) => runs.includes(language))) return true;
  const lines = text.trim().split("\n");
  return language === "sh" && lines.every((line) => READ_ANYWHERE.test(line));
}

afterAll(removeProject);

describe.each(pages.map((page) => [page.name, page] as const))("%s", (name, page) => {
  it("has no block that is not tried: a line in table.ts says who does it", () => {
    expect(page.blocks.filter((block) => !isTried(block)).map(place)).toEqual([]);
  });

  if (!GENERATED.includes(name)) {
    it("has its code in fences, which say what language it is in", () => {
      expect(indentedCode(page)).toEqual([]);
    });
  }

  it("has tables whose rows have as many cells as their heads", () => {
    expect(brokenRows(page)).toEqual([]);
  });

  it("has links that lead somewhere", () => {
    expect(linksOf(page).filter((link) => !isThere(link))).toEqual([]);
  });

  for (const { runs = [], by, isSlow } of rowsOf(name)) {
    it.each(runs)("has blocks in %s", (language) => {
      expect(page.blocks.map((block) => block.language)).toContain(language);
    });
    if (isSlow) continue;
    if (typeof by === "function") by(page);
    else it(`is held by ${by}`, () => expect(isNamedIn(by, name)).toBe(true));
  }
});

it("the table has only pages that are there", () => {
  const names = pages.map(({ name }) => name);
  expect(TABLE.map((row: Row) => row.page).filter((name) => !names.includes(name))).toEqual([]);
});

const anchorsByPage = new Map<string, ReadonlySet<string>>();

/** Whether what a link names is there, with the heading if it names one of a page. */
function isThere(link: string): boolean {
  const [name = "", anchor] = link.split("#");
  const target = pages.find((page) => page.name === name);
  if (target === undefined || anchor === undefined) return existsSync(join(project, name));
  const anchors = anchorsByPage.get(name) ?? new Set(anchorsOf(target));
  anchorsByPage.set(name, anchors);
  return anchors.has(anchor);
}

/** Whether a test elsewhere is there, and says which page it is for. */
function isNamedIn(test: string, page: string): boolean {
  const file = join(project, test);
  return existsSync(file) && readFileSync(file, "utf8").includes(page.replace("docs/", ""));
}

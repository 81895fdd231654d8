import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import MiniSearch from "minisearch";
import { afterAll, describe, expect, it } from "vitest";
import { pages } from "./pages.js";

interface Site {
  readonly pages: readonly { readonly name: string; readonly target: string }[];
}

const script = new URL("../../scripts/docs.js", import.meta.url).href;
const { buildSite } = (await import(script)) as { buildSite: (out: string) => Site };
const folder = mkdtempSync(join(tmpdir(), "sluice-site-"));
afterAll(() => rmSync(folder, { recursive: true }));

const site = buildSite(folder);
const htmlOf = (target: string) => readFileSync(join(folder, target), "utf8");
const references = site.pages.flatMap(({ target }) =>
  [...htmlOf(target).matchAll(/ (href|src)="([^"]*)"/g)].map(([, kind, value]) => ({ target, kind, value: value! })),
);

describe("the site of the pages", () => {
  it("has every page", () => {
    expect(site.pages.map(({ name }) => name)).toEqual(expect.arrayContaining(pages.map(({ name }) => name)));
  });

  it("lists every page of docs/ in its navigation, but for single decisions", () => {
    const [, navigation] = /<nav[^>]*>([\s\S]*?)<\/nav>/.exec(htmlOf("docs/index.html"))!;
    const unlisted = site.pages
      .filter(({ name }) => /^docs\/(?!decisions\/\d)/.test(name))
      .filter(({ target }) => !navigation!.includes(`href="${target.slice("docs/".length)}"`));
    expect(unlisted).toEqual([]);
  });

  it("leads from each page of its navigation to the next", () => {
    expect(htmlOf("docs/components/receivers/kafka.html")).toMatch(
      /<a rel="prev" href="[^"]+">Previous: .+<a rel="next" href="[^"]+">Next: /,
    );
  });

  it("links only to what is there", () => {
    const broken = references
      .filter(({ value }) => !/^[a-z]+:/.test(value))
      .filter(({ target, value }) => !isThere(target, value))
      .map(({ target, value }) => `${target}: ${value}`);
    expect(broken).toEqual([]);
  });

  it("loads nothing from elsewhere", () => {
    expect(references.filter(({ kind, value }) => kind === "src" && /^([a-z]+:|\/\/)/.test(value))).toEqual([]);
    for (const { target } of site.pages) expect(htmlOf(target)).toContain("default-src 'none'");
  });

  it("finds a section by its words, by their beginnings and with a slip", () => {
    const holder: { sluiceSearch?: { index: never; options: never } } = {};
    new Function("globalThis", htmlOf("search-index.js"))(holder);
    const { index, options } = holder.sluiceSearch!;
    const search = MiniSearch.loadJS(index, options);
    const first = (text: string) => search.search(text).map(({ id }) => id as string)[0];
    expect(first("SluiceBreakerOpen")).toBe("docs/operate/runbook.html#sluicebreakeropen");
    expect(first("circuit break")).toMatch(/^docs\//);
    expect(first("dead leters")).toMatch(/dead/);
    expect(search.search("xyzzyplugh")).toEqual([]);
  });
});

function isThere(target: string, value: string): boolean {
  const [path = "", anchor] = value.split("#") as [string, string?];
  const file = path === "" ? target : join(dirname(target), path);
  if (!existsSync(join(folder, file))) return false;
  return anchor === undefined || anchor === "" || htmlOf(file).includes(` id="${anchor}"`);
}

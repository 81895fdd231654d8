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
const read = new Map<string, string>();
function htmlOf(target: string): string {
  const html = read.get(target) ?? readFileSync(join(folder, target), "utf8");
  read.set(target, html);
  return html;
}
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

  const scope = { MiniSearch } as unknown as {
    sluiceSearch: { index: never; options: never };
    sluiceFind: (index: MiniSearch, text: string) => { id: string }[];
  };
  for (const script of ["search-index.js", "query.js"]) new Function("globalThis", htmlOf(script))(scope);
  const index = MiniSearch.loadJS(scope.sluiceSearch.index, scope.sluiceSearch.options);

  /** The results of the site's search, the best first. */
  const search = (text: string) => scope.sluiceFind(index, text).map(({ id }) => id);

  it("finds a section by its words, by their beginnings and with a slip", () => {
    expect(search("SluiceBreakerOpen")[0]).toBe("docs/operate/runbook.html#sluicebreakeropen");
    expect(search("circuit break")[0]).toMatch(/^docs\//);
    expect(search("dead leters")[0]).toMatch(/dead/);
    expect(search("xyzzyplugh")).toEqual([]);
  });

  it.each([
    ["how do I drop debug logs", /recipes\.html#how-do-i-drop-debug-logs|filter\.html/],
    ["How can I mask credit cards?", /pii\.html|recipes\.html#how-do-i-mask/],
    ["what happens when the queue is full", /reliability|delivery|recipes|runbook|troubleshooting/],
    ["use more than one core", /workers\.html|recipes\.html#how-do-i-use-all-cores/],
    ["replay dead letters", /dead-letters\.html|recipes\.html#how-do-i-see-and-resend/],
    ["how do I write a plugin", /plugins\.html|recipes\.html#how-do-i-run-my-own-code/],
    ["migrate from the collector", /collector|recipes\.html#how-do-i-move/],
    ["sending_queue max_bytes", /docs\//],
  ])("answers %j on its first three results", (question, page) => {
    expect(search(question).slice(0, 3)).toEqual(expect.arrayContaining([expect.stringMatching(page)]));
  });

  it("colours code, and never changes its text", () => {
    const html = htmlOf("docs/how-to/recipes.html");
    expect(html).toContain('<span class="code-key">filter/debug</span>');
    const shown = [...html.matchAll(/<pre><code[^>]*>([\s\S]*?)<\/code>/g)].map(([, code]) => plain(code!));
    const recipes = pages.find(({ name }) => name === "docs/how-to/recipes.md")!;
    expect(shown).toEqual(recipes.blocks.map(({ text }) => text));
  });

  it("says which version its pages describe", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    expect(htmlOf("index.html")).toContain(`>${version}</a>`);
  });
});

function plain(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, "")
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");
}

function isThere(target: string, value: string): boolean {
  const [path = "", anchor] = value.split("#") as [string, string?];
  const file = path === "" ? target : join(dirname(target), path);
  if (!existsSync(join(folder, file))) return false;
  return anchor === undefined || anchor === "" || htmlOf(file).includes(` id="${anchor}"`);
}

/**
 * Makes a site of the pages: README.md, docs/ and the files they link to, as HTML that needs no server and no other
 * host, with a search that works offline. `npm run docs` writes it to site/; `node scripts/docs.js FOLDER` writes it
 * elsewhere.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import MarkdownIt from "markdown-it";
import MiniSearch from "minisearch";
import { highlight } from "./docs-site/highlight.js";
import { SEARCH_OPTIONS } from "./docs-site/search-options.js";

const root = dirname(import.meta.dirname);
const { version: VERSION } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const assets = join(root, "scripts", "docs-site");

/** @typedef {{ name: string, target: string, title: string, html: string, sections: readonly Section[], links: readonly string[] }} Page */
/** @typedef {{ id: string, heading: string, level: string, text: string, links: string[] }} Section */

/** Writes the site; returns its contents, for tests. */
export function buildSite(out) {
  rmSync(out, { recursive: true, force: true });
  const pages = pageNames().map(readPage);
  const navigation = navigationOf(pages);
  const order = navigation.flatMap((group) => group.pages);
  for (const page of pages) write(out, page.target, pageHtml(page, navigation, order));
  const others = new Set(pages.flatMap(({ links }) => links).filter((name) => !targetOf(name).endsWith(".html")));
  for (const name of others) copy(out, name);
  for (const file of ["style.css", "search.js", "query.js", "page.js"]) cpSync(join(assets, file), join(out, file));
  const searching = dirname(createRequire(import.meta.url).resolve("minisearch"));
  cpSync(join(searching, "../umd/index.js"), join(out, "minisearch.js"));
  write(
    out,
    "search-index.js",
    `globalThis.sluiceSearch = ${JSON.stringify({ index: searchIndex(pages), options: SEARCH_OPTIONS })};\n`,
  );
  return { pages: pages.map(({ name, target }) => ({ name, target })), files: [...others] };
}

/** The README and other pages at the top first, then every page in docs/. */
function pageNames() {
  const inDocs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .map((file) => posix.join("docs", file.replaceAll("\\", "/")))
    .filter((file) => file.endsWith(".md"));
  return ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", ...inDocs.sort()];
}

/** The path of a project file on the site: a page becomes HTML, a README the index of its folder. */
function targetOf(name) {
  if (!name.endsWith(".md")) return name;
  return name.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html");
}

/** @returns {Page} */
function readPage(name) {
  const tokens = markdown.parse(readFileSync(join(root, name), "utf8"), {});
  const links = [];
  const sections = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      const heading = plainText(tokens[i + 1]);
      const id = headingId(heading, sections);
      token.attrSet("id", id);
      sections.push({ id, heading, level: token.tag, text: "", links: [] });
    } else if (sections.length > 0 && tokens[i - 1]?.type !== "heading_open") {
      sections.at(-1).text += ` ${plainText(token)}`;
    }
    for (const child of token.children ?? []) {
      const attribute = child.type === "image" ? "src" : "href";
      const written = child.attrGet(attribute);
      if (written === null || /^[a-z]+:/i.test(written) || written.startsWith("#")) continue;
      const [file, hash] = written.split("#");
      const linked = posix.join(posix.dirname(name), file).replace(/\/$/, "");
      links.push(linked);
      sections.at(-1)?.links.push(linked);
      const isFolder = statSync(join(root, linked)).isDirectory();
      const target = isFolder ? `${linked}/index.html` : targetOf(linked);
      child.attrSet(attribute, pathBetween(targetOf(name), target) + (hash === undefined ? "" : `#${hash}`));
    }
  }
  const html = markdown.renderer.render(tokens, markdown.options, {});
  return { name, target: targetOf(name), title: sections[0]?.heading ?? name, html, sections, links };
}

/** We write the pages ourselves, so HTML in them, such as comments, is intended. */
const markdown = new MarkdownIt({
  html: true,
  highlight: (code, language) => highlight(code, language, escaped) ?? "",
});
// A table may be wider than a phone: it scrolls sideways by itself, without the page.
markdown.renderer.rules.table_open = () => '<div class="table"><table>\n';
markdown.renderer.rules.table_close = () => "</table></div>\n";

function plainText(token) {
  if (token.type === "fence") return token.content;
  return (token.children ?? []).map(({ type, content }) => (type === "softbreak" ? " " : content)).join("");
}

/** Ids as on GitHub, so that links work in both places. */
function headingId(heading, before) {
  const id = heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
  const same = before.filter((section) => section.id === id || section.id.startsWith(`${id}-`)).length;
  return before.some((section) => section.id === id) ? `${id}-${same}` : id;
}

/**
 * The pages by the headings of docs/README.md, each once, with those of the components in the place of "Components", by
 * the headings of docs/components/README.md. There is no other list.
 *
 * @returns {{ title: string, pages: readonly Page[] }[]}
 */
function navigationOf(pages) {
  const listed = new Set();
  const take = (names) => {
    const found = names.map((name) => pages.find((page) => page.name === name)).filter((page) => page !== undefined);
    const fresh = found.filter((page, i) => !listed.has(page) && found.indexOf(page) === i);
    for (const page of fresh) listed.add(page);
    return fresh;
  };
  const groupsOf = (name) => pages.find((page) => page.name === name).sections;
  const [{ links: first }, ...groups] = groupsOf("docs/README.md");
  const home = { title: "Home", pages: take(["README.md", ...first, "docs/README.md"]) };
  const [, ...kinds] = groupsOf("docs/components/README.md");
  const named = groups.flatMap(({ heading, links }) => {
    const group = { title: heading, pages: take(links) };
    if (heading !== "Components") return [group];
    return [group, ...kinds.map((kind) => ({ title: kind.heading, pages: take(kind.links.filter(isComponentPage)) }))];
  });
  return [home, ...named];
}

/** The pages of components are listed by their kind, so their kind is not said again. */
function nameInNavigation({ name, title }) {
  return isComponentPage(name) ? title.replace(/ (receiver|processor|exporter|connector|extension)$/, "") : title;
}

function isComponentPage(name) {
  return name.startsWith("docs/components/");
}

function pageHtml({ target, title, html, sections = [] }, navigation, order = []) {
  const to = (file) => pathBetween(target, file);
  const link = (page) =>
    `<li><a href="${to(page.target)}"${page.target === target ? ' aria-current="page"' : ""}>${escaped(nameInNavigation(page))}</a></li>`;
  const groups = navigation.map(
    (group) => `<h2>${escaped(group.title)}</h2><ul>\n${group.pages.map(link).join("\n")}\n</ul>`,
  );
  const at = order.findIndex((page) => page.target === target);
  const neighbour = (page, rel, arrow) =>
    page === undefined || at < 0 ? "" : `<a rel="${rel}" href="${to(page.target)}">${arrow} ${escaped(page.title)}</a>`;
  const around = `${neighbour(order[at - 1], "prev", "Previous:")}${neighbour(order[at + 1], "next", "Next:")}`;
  const contents = sections.filter(({ level }) => level === "h2");
  const aside =
    contents.length < 2
      ? ""
      : `<aside aria-label="On this page"><h2>On this page</h2><ul>
${contents.map(({ id, heading }) => `<li><a href="#${id}">${escaped(heading)}</a></li>`).join("\n")}
</ul></aside>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'">
<title>${escaped(title)}${target === "index.html" ? "" : " - Sluice"}</title>
<link rel="stylesheet" href="${to("style.css")}">
<script defer src="${to("search.js")}" data-root="${to(".")}"></script>
<script defer src="${to("page.js")}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
<header><a class="menu" href="#pages">Pages</a><a class="home" href="${to("index.html")}">Sluice</a>
<a class="version" href="${to("CHANGELOG.html")}" title="The version that these pages describe">${VERSION}</a>
<search><input id="search" type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off">
<ol id="results" aria-live="polite" hidden></ol></search></header>
<nav id="pages" aria-label="Pages"><div>
${groups.join("\n")}
</div></nav>
<main id="main">
${html}<p class="around">${around}</p>
</main>
${aside}
</body>
</html>
`;
}

/** Sections are indexed, because whole pages are too long to look through. */
function searchIndex(pages) {
  const index = new MiniSearch(SEARCH_OPTIONS);
  for (const { target, title, sections } of pages) {
    for (const { id, heading, text } of sections) {
      const words = text.replaceAll(/\s+/g, " ").trim();
      index.add({ id: `${target}#${id}`, title, heading, text: words, excerpt: words.slice(0, 140) });
    }
  }
  return index;
}

/** Copies a file; a folder becomes a list of its files. */
function copy(out, name) {
  const source = join(root, name);
  cpSync(source, join(out, name), { recursive: true });
  if (!statSync(source).isDirectory() || existsSync(join(out, name, "index.html"))) return;
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    statSync(join(source, file)).isFile(),
  );
  const items = files.sort().map((file) => `<li><a href="${file}">${escaped(file)}</a></li>`);
  const html = `<h1>${escaped(name)}</h1>\n<ul>\n${items.join("\n")}\n</ul>\n`;
  write(out, `${name}/index.html`, pageHtml({ target: `${name}/index.html`, title: name, html }, []));
}

function pathBetween(from, to) {
  return posix.relative(posix.dirname(from), to) || ".";
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function write(out, name, text) {
  mkdirSync(dirname(join(out, name)), { recursive: true });
  writeFileSync(join(out, name), text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = resolve(process.argv[2] ?? join(root, "site"));
  const { pages } = buildSite(out);
  console.log(`${pages.length} pages in ${relative(process.cwd(), out) || out}; open ${join(out, "index.html")}`);
}

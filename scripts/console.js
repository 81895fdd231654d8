/**
 * Builds the console: the pages in console/ become one script and one style sheet below dist/console. Their names
 * contain a hash of the content, so that browsers may cache them forever. Each is also stored as gzip, so that nothing
 * is compressed at run time; files.json says what is served where.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { gzipSync } from "node:zlib";
import MarkdownIt from "markdown-it";
import { rolldown } from "rolldown";

/** The console's address in the docs. */
const CONSOLE = "http://127.0.0.1:55679";
const root = dirname(import.meta.dirname);
const source = join(root, "console");
const out = join(root, "dist", "console");
const files = [];

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const names = {
  script: write("console", "js", "text/javascript; charset=utf-8", await bundle()),
  style: write("console", "css", "text/css; charset=utf-8", styles()),
  icon: write("icon", "svg", "image/svg+xml", read("icon.svg")),
};
const page = read("index.html").replace(/\{\{(\w+)\}\}/g, (_, name) => names[name]);
writeBoth("index.html", page);
files.push({ path: "/", file: "index.html", type: "text/html; charset=utf-8", immutable: false });
writeBoth("runbook.html", runbook());
files.push({ path: "/docs/runbook.md", file: "runbook.html", type: "text/html; charset=utf-8", immutable: false });
writeFileSync(join(out, "files.json"), JSON.stringify(files));

async function bundle() {
  const bundled = await rolldown({
    cwd: root,
    input: join(source, "main.tsx"),
    platform: "browser",
    // An unresolved import would be left to the browser, which has no packages.
    onLog(level, log, defaultHandler) {
      if (log.code === "UNRESOLVED_IMPORT") throw new Error(`${log.message}; npm install brings what is missing`);
      defaultHandler(level, log);
    },
    tsconfig: join(source, "tsconfig.json"),
    resolve: { extensionAlias: { ".js": [".ts", ".tsx", ".js"] } },
  });
  const { output } = await bundled.generate({ format: "esm", minify: true, codeSplitting: false });
  await bundled.close();
  return output[0].code;
}

/** In alphabetical order: later sheets override earlier ones. */
function styles() {
  const sheets = readdirSync(join(source, "style")).sort();
  return sheets.map((name) => read(join("style", name))).join("\n");
}

/**
 * The runbook for people who follow an alert's link: each alert is a section, and its links lead into this console.
 * Links to other pages of the docs become plain text, because those are not served.
 */
function runbook() {
  const markdown = new MarkdownIt();
  const tokens = markdown.parse(readFileSync(join(root, "docs/operate/runbook.md"), "utf8"), {});
  for (const [i, token] of tokens.entries()) {
    if (token.type === "heading_open") token.attrSet("id", tokens[i + 1].content.toLowerCase());
    for (const child of token.children ?? []) {
      const link = child.attrGet("href");
      if (link?.startsWith(CONSOLE)) child.attrSet("href", link.slice(CONSOLE.length));
    }
    token.children = token.children?.map(withoutLinksToPages()) ?? null;
  }
  const body = markdown.renderer.render(tokens, markdown.options, {});
  return read("runbook.html").replace(/\{\{(\w+)\}\}/g, (_, name) => ({ ...names, body })[name]);
}

/** Links are not nested, so the next closing token belongs to the current link. */
function withoutLinksToPages() {
  let page;
  return (token) => {
    if (token.type === "link_open") page = /^([\w./-]+\.md)/.exec(token.attrGet("href"))?.[1];
    if (page === undefined || !/^link_/.test(token.type)) return token;
    const text = new token.constructor("text", "", 0);
    text.content = token.type === "link_open" ? "" : ` (${posix.join("docs/operate", page)})`;
    return text;
  };
}

/** Writes a file whose name contains a hash of its content; returns its path on the server. */
function write(name, extension, type, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const file = `${name}-${hash}.${extension}`;
  writeBoth(file, content);
  files.push({ path: `/assets/${file}`, file, type, immutable: true });
  return `/assets/${file}`;
}

function writeBoth(file, content) {
  writeFileSync(join(out, file), content);
  writeFileSync(join(out, `${file}.gz`), gzipSync(content, { level: 9 }));
}

function read(name) {
  return readFileSync(join(source, name), "utf8");
}

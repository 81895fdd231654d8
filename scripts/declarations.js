/**
 * Reads modules, as TypeScript or as emitted .d.ts files: their exported names, wherever these are declared, and their
 * comments.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

const root = dirname(import.meta.dirname);
const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const files = new Map();

/** One file: its text, statements and comments, and `commentText`, which extracts a comment's text. */
export function parsed(file) {
  if (!files.has(file)) files.set(file, parse(file));
  return files.get(file);
}

function parse(file) {
  const text = readFileSync(file, "utf8");
  const { program, comments, errors } = parseSync(file, text, { lang: file.endsWith(".d.ts") ? "dts" : "ts" });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  return { file, text, comments, body: program.body, commentText };
}

/**
 * Declarations by exported name; `key` is the same for the same declaration under any name and through any door.
 * `isType` is true for a type-only export.
 */
export function exportsOf(file) {
  const found = new Map();
  const source = parsed(file);
  for (const statement of source.body) {
    if (statement.type === "ExportAllDeclaration") {
      for (const [name, declared] of exportsOf(target(file, statement))) found.set(name, declared);
    } else if (statement.type === "ExportNamedDeclaration") addNamed(statement, source, found);
  }
  return found;
}

function addNamed(statement, source, found) {
  if (statement.declaration) {
    const isType = /^TS(Interface|TypeAlias)/.test(statement.declaration.type);
    for (const name of namesOf(statement.declaration)) found.set(name, { ...declared(name, source), isType });
    return;
  }
  for (const { local, exported, exportKind } of statement.specifiers) {
    const [from, to] = [local.name, exported.name];
    const origin = statement.source ? exportsOf(target(source.file, statement)).get(from) : declared(from, source);
    if (origin === undefined) throw new Error(`${source.file} exports ${from}, which is not there`);
    found.set(to, { ...origin, isType: origin.isType || [exportKind, statement.exportKind].includes("type") });
  }
}

/** The declaration of a name in a file, or in the file that it is imported from. */
export function declared(name, source) {
  for (const statement of source.body) {
    if (statement.type === "ImportDeclaration") {
      const imported = statement.specifiers.find(({ local }) => local.name === name);
      if (imported === undefined) continue;
      // Declarations of other packages are not shown.
      if (!/^[.#]/.test(statement.source.value)) return undefined;
      return exportsOf(target(source.file, statement)).get(imported.imported.name);
    }
    const node = statement.declaration ?? statement;
    if (!namesOf(node).includes(name)) continue;
    const comment = source.comments.findLast(
      ({ end, value }) =>
        value.startsWith("*") &&
        /^\s*(\/\/.*\s*)?$/.test(source.text.slice(end, statement.start)) &&
        end <= statement.start,
    );
    return { key: `${source.file}#${name}`, node, source, comment: comment && commentText(comment) };
  }
  return undefined;
}

/**
 * The groups of a door: its exports under the `// Title: description.` above them. Names before the first title have an
 * empty one.
 */
export function groupsOf(file) {
  const { body, comments, text } = parsed(file);
  const groups = [{ title: "", about: "", names: [] }];
  for (const statement of body) {
    const above = comments.findLast(({ type, end }) => type === "Line" && end <= statement.start);
    const isNext = above !== undefined && /^\s*$/.test(text.slice(above.end, statement.start));
    if (isNext) {
      const [, title, about] = /^([^:.]+)(?:: *(.*)|\.)$/.exec(above.value.trim());
      groups.push({ title, about: about ?? "", names: [] });
    }
    for (const { exported } of statement.specifiers ?? []) groups.at(-1).names.push(exported.name);
  }
  return groups.filter(({ names }) => names.length > 0);
}

function namesOf(node) {
  if (node.type === "VariableDeclaration") return node.declarations.map(({ id }) => id.name);
  return node.id ? [node.id.name] : [];
}

function target(file, { source }) {
  if (source.value.startsWith("#")) return doorFile(source.value);
  return join(dirname(file), source.value.replace(/\.js$/, file.endsWith(".d.ts") ? ".d.ts" : ".ts"));
}

/** The source of an internal door such as `#net`; declarations in dist do not use such doors. */
function doorFile(name) {
  const found = imports[name] ?? imports["#*"];
  return join(root, found["sluice-source"].replace("*", name.slice(1)));
}

/** A comment as paragraphs, without its markers; lists are kept. */
function commentText({ value }) {
  return value
    .replace(/^\*+/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n")
    .trim();
}

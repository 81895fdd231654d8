/**
 * Writes docs/reference/api.md: every name that a door of the package exports, in the order and under the headings of the door's
 * source file, with its declaration in short form and its comment. Made from the declarations that the build emits; run
 * it after `npm run build`. With --print it writes to stdout instead.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { declared, exportsOf, groupsOf, parsed } from "./declarations.js";

const root = dirname(import.meta.dirname);
const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Maximum length of a line on the page. */
const MAX_LINE = 128;
/** A declaration of at most this length, with a short comment, is an item of a list. */
const MAX_ITEM = 110;
/** A longer property gets its own line. */
const MAX_PACKED = 50;
/** Longer types of values, such as those that zod infers, are less helpful than their name. */
const MAX_VALUE_TYPE = 200;

const INTRO = `# API reference

Every name that the package exports, made from its types by \`node scripts/api-reference.js\`. [Plugins](../extend/plugins.md),
[Embedding](../extend/embedding.md) and [Testing components](../extend/testing.md) tell how they are used. Declarations are in short form: without
\`readonly\`, what is private and what is inherited, and with the first sentence of what is said of a member.
`;

const doors = Object.entries(exports)
  .filter(([, door]) => door.types !== undefined)
  .map(([path, { types }]) => ({
    name: join(name, path),
    file: join(root, types),
    source: join(root, "src", types.replace(/^\.\/dist\//, "").replace(/\.d\.ts$/, ".ts")),
  }));

const publicKeys = new Set(doors.flatMap(({ file }) => [...exportsOf(file).values()].map(({ key }) => key)));
const shownBases = new Set();

const text = reference();
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(join(root, "docs", "reference", "api.md"), text);

function reference() {
  const shown = new Map();
  // The door for components comes first, because the other doors re-export some of its names.
  const ordered = [...doors].sort((a, b) => Number(b.name.endsWith("/plugin")) - Number(a.name.endsWith("/plugin")));
  const parts = ordered.map((door) => doorPart(door, shown));
  const list = ordered.map(
    (door) => `- [\`${door.name}\`](#${anchor(door.name)}): ${joined(firstSentence(introOf(door.file)))}`,
  );
  return `${INTRO}\n${list.join("\n")}\n\n${parts.join("\n")}`;
}

function doorPart(door, shown) {
  const all = exportsOf(door.file);
  const again = [...all].filter(([, { key }]) => shown.has(key));
  const fresh = new Map([...all].filter(([, { key }]) => !shown.has(key)));
  const groups = groupsOf(door.source).map((group) => groupPart(group, fresh));
  const from = handedOn(again, shown);
  for (const [, { key }] of fresh) shown.set(key, door.name);
  return `## ${door.name}\n\n${introOf(door.file)}\n${from}${groups.join("")}`;
}

/** A name with an example of several lines gets a heading; short ones are items of a list; all others share a block. */
function groupPart({ title, about, names }, fresh) {
  const entries = names.filter((each) => fresh.has(each)).map((each) => entryOf(each, fresh.get(each)));
  if (entries.length === 0) return "";
  const head = title === "" ? "" : `\n### ${title}\n${about === "" ? "" : `${capital(about)}\n`}`;
  const sections = entries.filter(({ example }) => example.includes("\n")).map(section);
  const items = entries.filter(({ isShort }) => isShort).map(item);
  const rest = entries
    .filter(({ example, isShort }) => !example.includes("\n") && !isShort)
    .flatMap((each) => [...basesOf(each.found).map(baseEntry), each].map(declaration));
  const list = items.length === 0 ? "" : `\n${items.join("\n")}\n`;
  const block = rest.length === 0 ? "" : `\n\`\`\`ts\n${rest.join("\n\n")}\n\`\`\`\n`;
  return `${head}${sections.join("")}${list}${block}`;
}

/** Names that another door has already shown: only lists them, or says that all are included. */
function handedOn(again, shown) {
  if (again.length === 0) return "";
  const others = new Set(again.map(([, { key }]) => shown.get(key)));
  const lines = [...others].map((door) => {
    const names = again.filter(([, { key }]) => shown.get(key) === door).map(([each]) => `\`${each}\``);
    return `From [\`${door}\`](#${anchor(door)}) it has ${names.join(", ")} too.`;
  });
  return `\n${lines.join("\n")}\n`;
}

function entryOf(exported, found) {
  const { node, source, comment = "", isType } = found;
  const { says, example } = partsOf(comment);
  const short = signature(node, source, isType);
  const isShort =
    !example.includes("\n") && !short.includes("\n") && short.length <= MAX_ITEM && !says.includes("\n\n");
  return { exported, found, says, example, short, isShort };
}

/** Declarations that an exported one extends but no door exports; each is shown once. */
function basesOf({ node, source }) {
  const bases = [node.superClass, ...(node.extends ?? []).map(({ expression }) => expression)];
  return bases.flatMap((base) => {
    const found = base?.type === "Identifier" ? declared(base.name, source) : undefined;
    if (found === undefined || publicKeys.has(found.key) || shownBases.has(found.key)) return [];
    shownBases.add(found.key);
    return [found];
  });
}

function baseEntry({ node, source, comment = "" }) {
  return { says: partsOf(comment).says, example: "", short: signature(node, source, true, true), found: { node } };
}

function item({ says, short, example }) {
  const code = short.replace(/^(type|interface|class|const|function) |;$/g, "");
  const shown = example === "" ? "" : `\n  For example \`${example.replace(/;$/, "")}\`.`;
  return `${wrapped(`- \`${code}\`: ${joined(says)}`, "  ")}${shown}`;
}

function section({ exported, says, example, short }) {
  return `#### ${exported}\n${refilled(says)}\n\`\`\`ts\n${short}\n// For example:\n${example}\n\`\`\`\n`;
}

/** For a class only the first paragraph of its comment: the rest is for readers of its code. */
function declaration({ says, short, example, found }) {
  const description = found.node.type === "ClassDeclaration" ? says.split("\n\n")[0] : says;
  const shown = example === "" ? "" : `\n// For example: ${example}`;
  return `${refilled(description, "// ")}\n${short}${shown}`;
}

function partsOf(comment) {
  const [says, example = ""] = comment.split(/^@example\n/m);
  return { says: says.trim(), example: example.trim() };
}

function signature(node, source, isType, isBase = false) {
  if (node.type === "ClassDeclaration" || node.type === "TSInterfaceDeclaration") {
    const head = oneLine(source.text.slice(node.start, node.body.start)).replace(/^abstract /, "");
    const members = membersOf(node, source, isType, isBase);
    const short = isBase && node.superClass ? head.replace(/ extends .*/, "") : head;
    const inOne = `${short} { ${members.map((line) => line.trim()).join(" ")} }`.replace(/; \}$/, " }");
    if (members.length < 3 && inOne.length <= MAX_ITEM && !inOne.includes("//")) return inOne;
    return `${short} {\n${members.join("\n")}\n}`;
  }
  const whole = oneLine(withoutComments(source.text.slice(node.start, node.end)));
  if (node.type === "VariableDeclaration" && whole.length > MAX_VALUE_TYPE) {
    return whole.replace(/^(const \w+: [\w.]+)[\s\S]*$/, "$1<...>;");
  }
  return broken(listed(whole, source).replace(/\): z\.Zod.*;$/, "): z.ZodType;"));
}

/** The members, one or two lines each; for a base that cannot be imported, includes what that base extends. */
function membersOf(node, source, isType, isBase) {
  const promised = promisedNames(node, source);
  const members = node.body.body.filter((member) => !isHidden(member, node, isType) && !promised.has(member.key?.name));
  const lines = members.flatMap((member) => memberLines(member, members, commentOf(member, node.body, source), source));
  const above = isBase && node.superClass ? declared(node.superClass.name, source) : undefined;
  return above === undefined
    ? packed(lines)
    : [...packed(lines), ...membersOf(above.node, above.source, isType, isBase)];
}

/** Plain properties without comments share lines. */
function packed(lines) {
  const done = [];
  for (const [i, line] of lines.entries()) {
    const hasComment = lines[i - 1]?.trimStart().startsWith("//") === true;
    const isPlain = /^ {2}[\w$]+\??: [^/(]*;$/.test(line) && line.length <= MAX_PACKED && !hasComment;
    const last = done.at(-1);
    if (isPlain && last?.isPlain && last.text.length + line.length <= MAX_LINE) last.text += ` ${line.trim()}`;
    else done.push({ text: line, isPlain });
  }
  return done.map(({ text }) => text);
}

/** Replaces `(typeof NAMES)[number]` by the names. */
function listed(code, source) {
  return code.replace(/\(typeof (\w+)\)\[number\]/, (whole, values) => {
    const found = declared(values, source);
    const list = found && /: readonly \[(.*)\];?$/s.exec(found.source.text.slice(found.node.start, found.node.end));
    return list
      ? list[1]
          .split(",")
          .map((each) => each.trim())
          .join(" | ")
      : whole;
  });
}

/**
 * Members that cannot be used: the constructor of a name exported as a type, and the `name` of an error, which repeats
 * its class.
 */
function isHidden(member, { superClass }, isType) {
  const isPrivate = ["private", "protected"].includes(member.accessibility);
  const isName = member.key?.name === "name" && superClass?.name === "Error";
  return isPrivate || isName || member.key?.name === "BRAND" || (isType && member.kind === "constructor");
}

/** Members of interfaces that a class implements and a door exports: they are shown there. */
function promisedNames(node, source) {
  const interfaces = (node.implements ?? []).map(({ expression }) => declared(expression.name, source));
  const shown = interfaces.filter((found) => found !== undefined && publicKeys.has(found.key));
  return new Set(shown.flatMap((found) => found.node.body.body.map(({ key }) => key?.name)));
}

/** The comment directly before the member. */
function commentOf(member, body, { comments, text, commentText }) {
  const found = comments.findLast(({ start, end }) => start >= body.start && end <= member.start);
  const isItsOwn = found !== undefined && /^\s*$/.test(text.slice(found.end, member.start));
  return isItsOwn && found.value.startsWith("*") ? commentText(found) : "";
}

/**
 * A member on one line, with the first sentence of its comment behind it or, if that is too long, above. A getter and
 * setter pair is one member.
 */
function memberLines(member, all, comment, source) {
  const isPair = (kind) => all.some((other) => other.kind === kind && other.key?.name === member.key?.name);
  if (comment.includes("@internal") || (member.kind === "set" && isPair("get"))) return [];
  const code = oneLine(withoutComments(source.text.slice(member.start, member.end)))
    .replace(/\breadonly (?=[\w"[\]]+\??:)/g, "")
    .replace(/^((override|readonly|abstract) )+/, "");
  const plain = member.kind === "get" && isPair("set") ? code.replace(/^get (\w+)\(\)/, "$1") : code;
  const sentence = joined(firstSentence(partsOf(comment).says));
  if (sentence === "") return [`  ${plain}`];
  const behind = `  ${plain} // ${sentence}`;
  return behind.length <= MAX_LINE ? [behind] : [wrapped(`  // ${sentence}`, "  // "), `  ${plain}`];
}

function withoutComments(code) {
  return code.replace(/\/\*\*[\s\S]*?\*\//g, "");
}

function oneLine(code) {
  return code
    .replace(/^(export )?(declare )?/, "")
    .replace(/\s+/g, " ")
    .replace(/; \}/g, " }")
    .trim();
}

/** Splits a long union of strings over several lines; puts each part of any other union on its own line. */
function broken(code) {
  const [, head, union] = /^(type [^=]+ =) (.*);$/.exec(code) ?? [];
  if (code.length <= MAX_LINE || union === undefined) return code;
  if (/^"[^{]*$/.test(union)) return `${head}\n${wrapped(`  | ${union}`, "  ")};`;
  const parts = union.replace(/^\| /, "").split(/ \| (?![^{[(]*[}\])])/);
  return `${head}\n${parts.map((part) => `  | ${part}`).join("\n")};`;
}

function wrapped(words, indent) {
  const lines = [""];
  for (const word of words.split(/(?<=\S) /)) {
    const line = lines.at(-1);
    if (line !== "" && line.length + word.length >= MAX_LINE) lines.push(`${indent}${word}`);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

/** Joins the lines of each paragraph and list item, and wraps them at the page's width. Indented code stays as it is. */
function refilled(words, indent = "") {
  const lines = [];
  for (const line of words.split("\n")) {
    const last = lines.at(-1) ?? "";
    const isContinuation = last !== "" && line !== "" && !/^(?:- |\d+\. | {4})/.test(line) && !last.startsWith("    ");
    if (isContinuation) lines[lines.length - 1] = `${last} ${line.trim()}`;
    else lines.push(line);
  }
  return lines
    .map((line) => wrapped(`${indent}${line}`.trimEnd(), line.startsWith("- ") ? `${indent}  ` : indent))
    .join("\n");
}

function introOf(file) {
  const source = parsed(file);
  const first = source.comments[0];
  return first === undefined || first.start > 0 ? "" : source.commentText(first);
}

function firstSentence(words) {
  return /^.*?[.](?=\s+[A-Z`0-9]|$)/s.exec(words)?.[0] ?? words;
}

function joined(words) {
  return words.replace(/\s+/g, " ");
}

function capital(words) {
  return words[0].toUpperCase() + words.slice(1);
}

/** Heading anchors as GitHub makes them. */
function anchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}

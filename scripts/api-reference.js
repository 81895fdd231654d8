/**
 * Writes docs/api.md: every name that a door of the package exports, with its declaration and what its comment says. Made
 * from the declarations that the build emits; run it after `npm run build`. With --print it writes to stdout instead.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { exportsOf, parsed } from "./declarations.js";

const root = dirname(import.meta.dirname);
const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Longer ones, such as the types that zod infers, say less than their name. */
const MAX_VALUE_TYPE = 400;

const INTRO = `# API reference

Every name that the package exports, made from its types by \`node scripts/api-reference.js\`. [Plugins](plugins.md) tells how
they are used.
`;

const GROUPS = [
  ["Functions", ["TSDeclareFunction"]],
  ["Classes", ["ClassDeclaration"]],
  ["Values", ["VariableDeclaration"]],
  ["Types", ["TSInterfaceDeclaration", "TSTypeAliasDeclaration"]],
];

const doors = Object.entries(exports)
  .filter(([, door]) => door.types !== undefined)
  .map(([path, door]) => ({ name: join(name, path), file: join(root, door.types) }));

const text = reference();
if (process.argv.includes("--print")) process.stdout.write(text);
else writeFileSync(join(root, "docs", "api.md"), text);

function reference() {
  const shown = new Map();
  // The door of components first: others hand on what it has.
  const ordered = [...doors].sort((a, b) => Number(b.name.endsWith("/plugin")) - Number(a.name.endsWith("/plugin")));
  const parts = ordered.map((door) => doorPart(door, shown));
  const list = ordered.map(
    (door) => `- [\`${door.name}\`](#${anchor(door.name)}): ${firstSentence(introOf(door.file))}`,
  );
  return `${INTRO}\n${list.join("\n")}\n\n${parts.join("\n")}`;
}

function doorPart(door, shown) {
  const all = [...exportsOf(door.file)].sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const fresh = all.filter(([, { key }]) => !shown.has(key));
  const again = all.filter(([, { key }]) => shown.has(key));
  for (const [, { key }] of fresh) shown.set(key, door.name);
  const groups = GROUPS.map(([title, kinds]) => {
    const entries = fresh.filter(([, { node }]) => kinds.includes(node.type));
    return entries.length === 0 ? "" : `\n### ${title} of \`${door.name}\`\n${entries.map(entry).join("")}`;
  });
  return `## ${door.name}\n\n${introOf(door.file)}\n${handedOn(again, shown)}${groups.join("")}`;
}

/** Names that another door has shown: only which they are, or that they are all of it. */
function handedOn(again, shown) {
  if (again.length === 0) return "";
  const lines = [...grouped(again, shown)].map(([door, entries]) => {
    const whole = [...shown.values()].filter((each) => each === door).length === entries.length;
    return whole
      ? `It has everything of [\`${door}\`](#${anchor(door)}) too.`
      : `From [\`${door}\`](#${anchor(door)}) it has ${entries.map(([each]) => `\`${each}\``).join(", ")} too.`;
  });
  return `\n${lines.join("\n")}\n`;
}

function grouped(entries, shown) {
  const groups = new Map();
  for (const entry of entries) {
    const door = shown.get(entry[1].key);
    groups.set(door, [...(groups.get(door) ?? []), entry]);
  }
  return groups;
}

function entry([exported, { node, source, comment }]) {
  const says = comment === undefined ? "" : `${comment}\n\n`;
  return `\n#### ${exported}\n\n${says}\`\`\`ts\n${signature(node, source)}\n\`\`\`\n`;
}

function signature(node, source) {
  const whole = node.type === "ClassDeclaration" ? publicPart(node, source) : source.text.slice(node.start, node.end);
  const plain = whole
    .replace(/^(export )?(declare )?/, "")
    .replace(/^( {4})+/gm, (spaces) => " ".repeat(spaces.length / 2));
  if (node.type !== "VariableDeclaration" || plain.length <= MAX_VALUE_TYPE) return plain;
  return plain.replace(/^(const \w+: [\w.]+)[\s\S]*$/, "$1<...>;");
}

/** Without what is private, or marked as internal. */
function publicPart(node, source) {
  const { text, comments } = source;
  let shown = "";
  let from = node.start;
  let before = node.body.start + 1;
  for (const member of node.body.body) {
    const isInternal = comments.some(
      ({ start, end, value }) => start >= before && end <= member.start && value.includes("@internal"),
    );
    if (isInternal || member.accessibility === "private" || member.key?.type === "PrivateIdentifier") {
      shown += text.slice(from, before);
      from = member.end;
    }
    before = member.end;
  }
  return shown + text.slice(from, node.end);
}

function introOf(file) {
  const source = parsed(file);
  const first = source.comments[0];
  return first === undefined || first.start > 0 ? "" : source.wordsOf(first);
}

function firstSentence(words) {
  return /^.*?[.](?=\s|$)/s.exec(words)?.[0] ?? words;
}

/** As GitHub makes them of headings. */
function anchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}

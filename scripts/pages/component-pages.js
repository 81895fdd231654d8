import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { COMPONENT_GUIDES } from "./component-guides.js";

const BEGIN = "<!-- Made by node scripts/pages/component-pages.js from the component's schema: edit that. -->";
const END = "<!-- End of the made part. -->";

/** The keys of every exporter with a queue. Their reference is a page of its own. */
const QUEUE_KEYS = [
  "sending_queue",
  "retry_on_failure",
  "circuit_breaker",
  "dead_letter",
  "replay",
  "health",
  "durability",
  "durability_interval",
];
/** Sections that are the same in many components: a row names them, and `sluice components TYPE` prints their keys. */
const FOLDED =
  /(^|\.)(tls|operators|sending_queue|retry_on_failure|circuit_breaker|dead_letter|replay)$|^(dedup\.)?redis$/;
/** Sections that switch things on and off by name. A table of its own names those. */
const SWITCHES = ["metrics", "resource_attributes"];
/** A section with more keys than this is folded too, unless it is at the top. */
const MANY_KEYS = 40;

/** The path of a component's page, seen from the root of the project. */
export function pageOf({ kind, type }) {
  return `docs/components/${kind}s/${type}.md`;
}

/**
 * The page with its made part brought up to date: other spellings, signals, guide and keys.
 *
 * @param {{ kind: string, type: string, aliases: readonly string[], summary: string, signals: readonly string[], keys: readonly object[] }} component
 * @param {string} text
 */
export function withMadePart(component, text) {
  const begin = text.indexOf(BEGIN);
  const written = (begin < 0 ? text : text.slice(0, begin)).trimEnd();
  return `${written}\n\n${BEGIN}\n\n${madePart(component)}\n\n${END}\n`;
}

function madePart(component) {
  return [facts(component), metricsTable(component), attributesTable(component), keysTable(component)]
    .filter((part) => part !== "")
    .join("\n\n");
}

function facts({ kind, type, aliases, signals }) {
  const guide = COMPONENT_GUIDES[kind]?.[type];
  const lines = [
    signals.length === 0 ? "" : `- ${kind === "connector" ? "Connects" : "Signals"}: ${signals.join(", ")}`,
    aliases.length === 0 ? "" : `- Other names: ${aliases.map((alias) => `\`${alias}\``).join(", ")}`,
    guide === undefined ? "" : `- Guide: [${titleOf(guide)}](../../${guide})`,
    `- In the terminal: \`sluice components ${type}\``,
  ];
  return `## Reference\n\n${lines.filter((line) => line !== "").join("\n")}`;
}

function titleOf(guide) {
  const text = readFileSync(new URL(`../../docs/${guide.replace(/#.*/, "")}`, import.meta.url), "utf8");
  return /^# (.*)$/m.exec(text)[1].replaceAll("`", "");
}

/** The metrics that a receiver collects, if each one can be switched on and off. */
function metricsTable({ keys }) {
  const metrics = switched(keys, "metrics");
  if (metrics.length === 0) return "";
  const rows = metrics.map(
    ({ name, description, isOn }) => `| \`${name}\` | ${isOn ? "yes" : "no"} | ${cell(description)} |`,
  );
  return [
    "### Metrics",
    ["| metric | collected by default | what it is |", "| --- | --- | --- |", ...rows].join("\n"),
  ].join("\n\n");
}

/** The attributes of its resources, if each one can be switched on and off. */
function attributesTable({ keys }) {
  const attributes = switched(keys, "resource_attributes");
  if (attributes.length === 0) return "";
  const rows = attributes.map(({ name, isOn }) => `| \`${name}\` | ${isOn ? "yes" : "no"} |`);
  const head = ["| attribute | there by default |", "| --- | --- |"];
  return ["### Resource attributes", [...head, ...rows].join("\n")].join("\n\n");
}

/** The names that a section switches on and off, such as `metrics: {redis.uptime: {enabled: false}}`. */
function switched(keys, section) {
  return keys
    .filter(({ path }) => path.startsWith(`${section}.`) && path.endsWith(".enabled"))
    .map(({ path, default: isOn }) => {
      const one = path.slice(0, -".enabled".length);
      const { description = "" } = keys.find((key) => key.path === one) ?? {};
      return { name: one.slice(section.length + 1), description, isOn };
    });
}

function keysTable({ kind, keys, type }) {
  const hasQueue = kind === "exporter" && keys.some(({ path }) => path === "sending_queue");
  const own = hasQueue ? keys.filter(({ path }) => !QUEUE_KEYS.includes(path.split(".")[0])) : keys;
  const shown = own.filter(
    ({ path }) =>
      !isInside(path, own) && !SWITCHES.some((name) => isBelow(path, name) && switched(keys, name).length > 0),
  );
  const works = shown.filter((key) => key.ignored === undefined && !isRejected(key));
  const ignored = shown.filter((key) => key.ignored !== undefined);
  const rejected = shown.filter(isRejected);
  const isFolded = shown.some(({ path }) => isFoldedSection(path, own));
  const table = [
    "| key | type | default | what it does |",
    "| --- | --- | --- | --- |",
    ...works.map((key) => row(key, own)),
  ];
  return [
    "### Keys",
    works.length === 0 ? "It has no keys of its own." : table.join("\n"),
    ignored.length === 0 ? "" : `Accepted without effect: ${ignored.map(({ path }) => `\`${path}\``).join(", ")}.`,
    rejected.length === 0 ? "" : `Not supported: ${rejected.map(({ path }) => `\`${path}\``).join(", ")}.`,
    isFolded ? `Sections marked with … have more keys: \`sluice components ${type}\` prints them all.` : "",
    hasQueue
      ? `It also has the keys of every exporter with a queue, such as \`sending_queue\`, \`retry_on_failure\` and\n\`circuit_breaker\`: see [Reliability](../../operate/reliability.md).`
      : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Whether a key belongs to a section that is folded into one row. */
function isInside(path, all) {
  const parts = path.split(".");
  return parts.some((_, i) => i > 0 && isFoldedSection(parts.slice(0, i).join(".").replace(/\[\]$/, ""), all));
}

function isFoldedSection(path, all) {
  if (FOLDED.test(path)) return all.some((key) => isBelow(key.path, path));
  const isSection = path.includes(".") && all.some((key) => key.path === path);
  return isSection && all.filter((key) => isBelow(key.path, path)).length > MANY_KEYS;
}

function isBelow(path, section) {
  if (!path.startsWith(section)) return false;
  const end = section.length;
  return path.startsWith(".", end) || path.startsWith("[].", end);
}

function isRejected({ description = "" }) {
  return description.startsWith("Not supported:");
}

function row(key, all) {
  const name = `\`${key.path}\`${isFoldedSection(key.path, all) ? " …" : ""}`;
  const value = key.required
    ? "required"
    : key.default === undefined || key.type === "section" || isEmpty(key.default)
      ? ""
      : `\`${cell(JSON.stringify(key.default))}\``;
  const notes = [
    key.description,
    key.secret ? "A secret." : "",
    key.deprecated === undefined ? "" : `Deprecated: ${key.deprecated}`,
  ];
  return `| ${name} | ${cell(key.type)} | ${value} | ${cell(notes.filter(Boolean).join(" "))} |`;
}

function isEmpty(value) {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function cell(text) {
  return text
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .replaceAll(/\s*\n\s*/g, " ");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = posix.join(dirname(fileURLToPath(import.meta.url)), "../..");
  const { builtins } = await import("../../dist/agent/builtins/builtins.js");
  const { describeComponent } = await import("../../dist/agent/cli/components.js");
  for (const factory of await builtins()) {
    const component = describeComponent(factory);
    const file = posix.join(root, pageOf(component));
    if (!existsSync(file)) {
      console.error(`There is no ${pageOf(component)}: write what the component is for, and an example.`);
      process.exitCode = 1;
    } else writeFileSync(file, withMadePart(component, readFileSync(file, "utf8")));
  }
}

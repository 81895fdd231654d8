import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ENTRY_STEPS, RELOAD_STEPS, REQUEST_STEPS } from "./way-steps.js";

/**
 * Writes "The way of a record" into CONTRIBUTING.md, from what `npm run way` finds.
 *
 * @typedef {Record<"warm" | "queue" | "reload", { files: string[], functions: number }>} Ways
 */
const PAGE = new URL("../../CONTRIBUTING.md", import.meta.url);
const MARKED = /(<!-- way: node scripts\/pages\/way\.js -->).*(<!-- end of the way -->)/s;
const MAX_SHOWN = 3;
const WIDTH = 120;

/** @param {string} page @param {Ways} ways */
export function withWays(page, ways) {
  if (!MARKED.test(page)) throw new Error("the page has no markers of the way");
  return page.replace(MARKED, (_, begin, end) => `${begin}\n\n${textOf(ways)}\n\n${end}`);
}

/** @param {Ways} ways */
function textOf({ warm, queue, reload }) {
  const more = queue.files.filter((file) => !warm.files.includes(file));
  return [
    `**A request** that goes on at once enters ${warm.files.length} files (of src/):`,
    stepsText(REQUEST_STEPS, warm.files),
    `**An entry.** With a filter and a queue on disk, it enters these ${more.length} besides:`,
    stepsText(ENTRY_STEPS, more),
    `**A reload** that exchanges a processor enters ${reload.files.length}:`,
    stepsText(RELOAD_STEPS, reload.files),
  ].join("\n\n");
}

/** @param {import("./way-steps.js").Step[]} steps @param {string[]} files in the order in which they are entered */
function stepsText(steps, files) {
  /** @type {Map<import("./way-steps.js").Step, string[]>} */
  const byStep = new Map(steps.map((step) => [step, []]));
  for (const file of files) {
    const step = steps.find(({ paths }) => paths.some((path) => file.startsWith(`src/${path}`)));
    if (step === undefined) throw new Error(`no step of scripts/pages/way-steps.js has a path for ${file}`);
    byStep.get(step)?.push(file);
  }
  return [...byStep]
    .map(([{ title, text }, entered], i) => wrapped(`${i + 1}. **${title}.** ${text} ${namesOf(entered)}`))
    .join("\n");
}

/** The files by folder, the first ones by name. @param {string[]} files */
function namesOf(files) {
  /** @type {Map<string, string[]>} */
  const folders = new Map();
  for (const file of files.slice(0, MAX_SHOWN)) {
    const end = file.lastIndexOf("/") + 1;
    const folder = file.slice("src/".length, end);
    folders.set(folder, [...(folders.get(folder) ?? []), file.slice(end)]);
  }
  const shown = [...folders].map(
    ([folder, names]) => `\`${folder}\`: ${names.map((name) => `\`${name}\``).join(", ")}`,
  );
  const rest = files.length - MAX_SHOWN;
  return `${shown.join("; ")}${rest > 0 ? `; and ${rest} more` : ""}.`;
}

/** An item of a list, in lines of the page's width. @param {string} text */
function wrapped(text) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `   ${word}`);
  }
  return lines.join("\n");
}

/** @returns {Ways} */
function measuredWays() {
  const program = fileURLToPath(new URL("../../bench/way/run.js", import.meta.url));
  return JSON.parse(execFileSync(process.execPath, [program, "--json"], { encoding: "utf8" }));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(PAGE, withWays(readFileSync(PAGE, "utf8"), measuredWays()));

import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { formatTable } from "../lib/table.js";
import { plannedCells } from "./cells.js";
import { change, differences, doubtful, failuresOf, MAX_SPREAD, nameOf, toCell, updated } from "./compare.js";

/**
 * `npm run ledger`: measures what Sluice costs, and fails if a figure has risen above its limit in bench/ledger.json.
 * Exit codes: 0, 1 if a figure is too high or could not be measured, 2 for an invalid command line.
 */
const HELP = `Usage: npm run ledger -- [options]

  --full          all figures: about 40 minutes instead of 4
  --cell text     only the cell of this name, or the cells with this text in their name; may be repeated
  --kind kind     only figures of this kind; may be repeated
  --write         write the figures into bench/ledger.json, and a line into bench/ledger-trend.jsonl
  --diff A B      what differs between the ledgers of two commits or files
  --ledger file   another file than bench/ledger.json; its trend is beside it
  --json          the figures as JSON
`;
const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const NODE = process.versions.node.split(".")[0];

/** How often figures that may have risen by chance are measured again. */
const FURTHER_TIMES = 2;

const NAMES = new Set(plannedCells().map(({ name }) => name));

/** @typedef {import("./compare.js").Measured} Measured @typedef {import("./cells.js").Planned} Planned */
/** @type {Measured[]} */
const measured = [];
/** @type {string[]} */
const failures = [];
const started = performance.now();
const say = (/** @type {string} */ text) =>
  process.stderr.write(`${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s  ${text}\n`);
const fail = (/** @type {string} */ text) => {
  failures.push(text);
  say(text);
};

const options = commandLine();
if (options.help) process.stdout.write(HELP);
else if (options.diff) printDifferences(options.positionals);
else await main();

async function main() {
  const planned = plannedCells().filter(isWanted);
  if (planned.length === 0) usageError("no figure has such a name and kind");
  const { measureAll } = await import("./measure-all.js");
  measured.push(...(await measureAll(planned, { say, fail })));
  for (let i = 0; i < FURTHER_TIMES && !options.write; i++) {
    const again = doubtful(readLedger(), measured, planned, NODE);
    if (again.length === 0) break;
    keepLower(await measureAll(again, { say, fail }));
  }
  failures.push(...(options.write ? unwritable(planned) : failuresOf(readLedger(), measured, planned, NODE)));
  report(planned);
  if (options.write && measured.length > 0) write();
  process.exit(failures.length === 0 ? 0 : 1);
}

/** @param {Planned} planned */
function isWanted({ name, kind, isShort }) {
  const { full, cell, kind: kinds } = options;
  const isNamed = cell.length === 0 || cell.some((text) => (NAMES.has(text) ? name === text : name.includes(text)));
  return (isShort || full) && isNamed && (kinds.length === 0 || kinds.includes(kind));
}

/** @param {readonly Measured[]} second */
function keepLower(second) {
  for (const one of second) {
    const i = measured.findIndex((each) => nameOf(each) === nameOf(one));
    if (one.value < measured[i].value) measured[i] = one;
  }
}

/** Figures that are missing or too uneven to be compared with later. The others are written. @param {Planned[]} planned */
function unwritable(planned) {
  const isUneven = ({ spread }) => spread > MAX_SPREAD;
  const uneven = measured.filter(isUneven);
  measured.splice(0, measured.length, ...measured.filter((each) => !isUneven(each)));
  const has = new Set([...measured, ...uneven].map(nameOf));
  return [
    ...planned.filter((each) => !has.has(nameOf(each))).map((each) => `${nameOf(each)} was not measured`),
    ...uneven.map(
      (each) =>
        `${nameOf(each)} was not written: its rounds differ by ${(each.spread * 100).toFixed(0)} %; measure it again on a quieter machine`,
    ),
  ];
}

function write() {
  const cells = measured.map((each) => toCell(each, NODE));
  const ledger = updated(readLedger(), cells, plannedCells());
  const lines = ledger.cells.map((cell) => `    ${JSON.stringify(cell)}`);
  writeFileSync(options.ledger, `{\n  "cells": [\n${lines.join(",\n")}\n  ]\n}\n`);
  const figures = Object.fromEntries(measured.map((each) => [nameOf(each), each.value]));
  const after = execFileSync("git", ["rev-parse", "--short=12", "HEAD"], {
    cwd: PROJECT,
    encoding: "utf8",
  }).trim();
  appendFileSync(
    options.ledger.replace(/(\.json)?$/, "-trend.jsonl"),
    `${JSON.stringify({ at: new Date().toISOString(), after, node: process.versions.node, figures })}\n`,
  );
}

/** @param {Planned[]} planned */
function report(planned) {
  const own = readLedger().cells.filter(({ node }) => node === NODE);
  const rows = planned.flatMap((each) => {
    const now = measured.find((one) => nameOf(one) === nameOf(each));
    const before = own.find((one) => nameOf(one) === nameOf(each));
    if (now === undefined) return [];
    const spread = now.spread === 0 ? "" : `${(now.spread * 100).toFixed(1)} %`;
    return [
      [
        each.name,
        each.kind,
        `${before?.value ?? "-"}`,
        `${now.value}`,
        change(before?.value, now.value),
        spread,
        `${before?.limit ?? "-"}`,
      ],
    ];
  });
  const columns = ["cell", "kind", "ledger", "now", "change", "spread", "limit"];
  if (options.json)
    process.stdout.write(
      `${JSON.stringify({ ok: failures.length === 0, failures, cells: measured.map((each) => toCell(each, NODE)) }, null, 2)}\n`,
    );
  else process.stdout.write(formatTable({ title: `ledger, Node.js ${process.versions.node}`, columns, rows }));
  for (const failure of failures) process.stderr.write(`FAILED  ${failure}\n`);
}

function readLedger(path = options.ledger) {
  return /** @type {import("./compare.js").Ledger} */ (
    existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { cells: [] }
  );
}

/** @param {string[]} places commits or files */
function printDifferences(places) {
  if (places.length !== 2) usageError("--diff takes two commits or files");
  const read = (/** @type {string} */ place) =>
    existsSync(place)
      ? readLedger(place)
      : JSON.parse(execFileSync("git", ["show", `${place}:bench/ledger.json`], { encoding: "utf8" }));
  const rows = differences(read(places[0]), read(places[1]));
  process.stdout.write(
    formatTable({ title: `ledger, ${places.join(" -> ")}`, columns: ["cell", places[0], places[1], "change"], rows }),
  );
}

function commandLine() {
  const flag = /** @type {const} */ ({ type: "boolean", default: false });
  const texts = /** @type {const} */ ({ type: "string", multiple: true, default: [] });
  const ledger = /** @type {const} */ ({ type: "string", default: join(PROJECT, "bench/ledger.json") });
  const spec = { full: flag, write: flag, diff: flag, json: flag, help: flag, cell: texts, kind: texts, ledger };
  try {
    const { values, positionals } = parseArgs({ options: spec, allowPositionals: true });
    return { ...values, positionals };
  } catch (error) {
    return usageError(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} text @returns {never} */
function usageError(text) {
  process.stderr.write(`${text}\n\n${HELP}`);
  process.exit(2);
}

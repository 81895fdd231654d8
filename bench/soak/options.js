import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { PARTS } from "./parts.js";
import { MIN_POINTS } from "./slope.js";

/**
 * The command line of a soak.
 *
 * @typedef {ReturnType<typeof parseOptions>} Options
 */
export const HELP = `Usage: npm run soak -- [options]

Runs a started agent under load, with backends that fail, and finds out whether the bytes that are live after a garbage
collection grow. Exit code 0: they do not; 1: they do, or the run was too short to tell, or resident memory grows in the
last half; 2: wrong command line.

  --minutes n       length, with the warm-up (default: SOAK_MINUTES, or 60)
  --warmup n        minutes that do not count (default: a fifth of the length)
  --rate n          records a second that clients send (default: 500)
  --max-growth n    MiB an hour that live bytes may grow (default: 4)
  --max-resident-growth n   the same for resident memory, in the last half of the measurement (default: 30)
  --parts a,b       the parts of the config that are switched on (default: all; "none" for the queues alone)
  --each            each of these parts alone, one after the other, and the queues alone
  --as-shipped      parts with the bounds they have when the config says nothing, not with small ones
  --cycle n         seconds from one outage to the next (default: 60)
  --reloads n       reloads of the config in each cycle, each with a change (default: 2; 0 for none)
  --sample n        seconds from one sample to the next (default: 5)
  --snapshots dir   write heap snapshots after the warm-up and at the end
  --import file     load a module into the agent, such as one that leaks, to try the check
  --json            the samples and slopes as JSON, instead of the table
  --list, --help
`;

const MIB = 1024 * 1024;
const text = /** @type {const} */ ({ type: "string" });
const flag = /** @type {const} */ ({ type: "boolean", default: false });

export class UsageError extends Error {}

/** Throws a `UsageError` for invalid arguments. @param {string[]} argv */
export function parseOptions(argv) {
  try {
    return interpret(argv);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function interpret(/** @type {string[]} */ argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { ...text, default: process.env["SOAK_MINUTES"] ?? "60" },
      rate: { ...text, default: "500" },
      "max-growth": { ...text, default: "4" },
      "max-resident-growth": { ...text, default: "30" },
      parts: { ...text, default: Object.keys(PARTS).join() },
      cycle: { ...text, default: "60" },
      reloads: { ...text, default: "2" },
      sample: { ...text, default: "5" },
      import: { ...text, multiple: true, default: [] },
      ...{ warmup: text, snapshots: text, each: flag, "as-shipped": flag, json: flag, list: flag, help: flag },
    },
  });
  const parts = partsOf(values.parts);
  const seconds = positive(values.minutes, "--minutes") * 60;
  const warmupSeconds = values.warmup === undefined ? seconds / 5 : positive(values.warmup, "--warmup") * 60;
  const cycleSeconds = positive(values.cycle, "--cycle");
  if ((seconds - warmupSeconds) / cycleSeconds < MIN_POINTS)
    throw new Error(`after the warm-up there must be time for ${MIN_POINTS} cycles of ${cycleSeconds} s`);
  const sampleSeconds = positive(values.sample, "--sample");
  return {
    groups: values.each ? [[], ...parts.map((part) => [part])] : [parts],
    maxGrowth: positive(values["max-growth"], "--max-growth") * MIB,
    maxResidentGrowth: positive(values["max-resident-growth"], "--max-resident-growth") * MIB,
    progressSeconds: Math.max(sampleSeconds, seconds / 120),
    plan: {
      seconds,
      warmupSeconds,
      cycleSeconds,
      sampleSeconds,
      reloads: atLeastZero(values.reloads, "--reloads"),
      rate: positive(values.rate, "--rate"),
      asShipped: values["as-shipped"],
      snapshots: values.snapshots,
      imports: values.import.map((file) => pathToFileURL(resolve(file)).href),
    },
    json: values.json,
    list: values.list,
    help: values.help,
  };
}

export function listing() {
  return Object.entries(PARTS)
    .map(([name, { holds }]) => `${name.padEnd(20)} keeps ${holds}\n`)
    .join("");
}

function partsOf(/** @type {string} */ names) {
  const parts = names === "none" ? [] : names.split(",");
  const unknown = parts.find((name) => !Object.hasOwn(PARTS, name));
  if (unknown !== undefined) throw new Error(`--parts: there is no "${unknown}"; --list names them`);
  return parts;
}

function positive(/** @type {string} */ value, /** @type {string} */ option) {
  if (!(Number(value) > 0)) throw new Error(`${option}: "${value}" is not a number above 0`);
  return Number(value);
}

function atLeastZero(/** @type {string} */ value, /** @type {string} */ option) {
  return value === "0" ? 0 : positive(value, option);
}

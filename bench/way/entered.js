import { setTimeout as delay } from "node:timers/promises";
import { meterCalls } from "../ledger/meter.js";

/**
 * @typedef {{ file: string, functions: string[] }} Step a file, and its functions in the order in which they were entered
 * @typedef {{ files: string[], functions: number, steps: Step[] }} Way files and steps are in the order in which they were
 *   entered first
 */
const ROUNDS = 9;
/** Longer than it takes until an entry has left its queue. */
const SETTLE_MS = 300;
export const FILTER = { logs: { log_record: ['attributes["tenant"] == "nobody"'] } };

/** @type {Set<string>} */
let order = new Set();
Object.assign(globalThis, { entered: (/** @type {string} */ name) => void order.add(name) });

/** Finds the functions that every one of some rounds enters, so that timers of the background do not count. @param {() => Promise<unknown>} work @returns {Promise<Way>} */
export async function entered(work) {
  const rounds = [];
  await round(work); // V8 compiles anew when it begins to count
  for (let i = 0; i < ROUNDS; i++) rounds.push(await round(work));
  const always = (/** @type {string} */ name, /** @type {"counted" | "named"} */ how) =>
    rounds.every((each) => each[how].has(name));
  const counted = [...rounds[0].counted].filter((name) => always(name, "counted"));
  const named = [...rounds[0].named].filter((name) => always(name, "named"));
  /** @type {Map<string, string[]>} */
  const byFile = new Map();
  for (const name of named) {
    const [file = "", fn = ""] = name.split(":");
    byFile.set(file, [...(byFile.get(file) ?? []), fn]);
  }
  const steps = [...byFile].map(([file, functions]) => ({ file, functions: [...new Set(functions)] }));
  return { files: steps.map(({ file }) => file), functions: counted.length, steps };
}

/** @param {() => Promise<unknown>} work */
async function round(work) {
  await delay(SETTLE_MS);
  meterCalls.begin("entered");
  order = new Set();
  await work();
  await delay(SETTLE_MS);
  const named = order;
  return { counted: new Set(/** @type {string[]} */ (meterCalls.end("entered"))), named };
}

import { measureAdded } from "../../lib/added.js";
import { NUMBER_IN_EACH, THREE_IN_EACH } from "../../lib/load/records.js";

/**
 * Measures what the processor `pii` adds with all detectors on: the agent with and without it in the same rounds. None,
 * one in a hundred and all of the records contain personal data; in a further case every line of names and values
 * contains three such values.
 */
export const summary =
  "what the processor pii adds to passthrough: clean records, the same and with other numbers; 1 % and 100 % with a hit, three in each";

/** @param {import("../../lib/bench.js").Bench} bench @returns {Promise<import("../../lib/bench.js").Outcome>} */
export function run(bench) {
  const processors = { pii: {} };
  return measureAdded(bench, "pii", [
    { name: "clean", signal: "logs", processors, hits: 0, goal: 1.5 },
    { name: "clean, numbers differ", signal: "logs", processors, hits: NUMBER_IN_EACH, goal: 1.5 },
    { name: "1 % hits", signal: "logs", processors, hits: 10, goal: 1.5 },
    { name: "100 % hits", signal: "logs", processors, hits: 1000, goal: 3 },
    { name: "3 values in each", signal: "logs", processors, hits: THREE_IN_EACH, goal: 3 },
  ]);
}

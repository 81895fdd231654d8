import { measureAdded } from "../../lib/added.js";

/** The cost of checking for old versions, and of bringing every record to the current one. */
export const summary =
  "what the processor versioning adds to passthrough: nothing to do, and an upcast in every record";

const SPAN = "POST /api/v2/pay";
const upcasts = [{ from: 1, to: 2, rename: { retries: "attempts" }, set: { currency: "EUR" }, remove: ["k8s.pod"] }];
const versions = (/** @type {object} */ event) => ({ versioning: { events: { [SPAN]: event } } });

/** @param {import("../../lib/bench.js").Bench} bench */
export function run(bench) {
  return measureAdded(bench, "versioning", [
    { name: "events without a name", signal: "logs", processors: versions({ current: 1 }) },
    { name: "all up to date", signal: "traces", processors: versions({ current: 1 }) },
    { name: "an upcast of each", signal: "traces", processors: versions({ current: 2, upcasts }) },
  ]);
}

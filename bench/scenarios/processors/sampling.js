import { measureAdded } from "../../lib/added.js";

/**
 * The cost of samplers that keep everything and annotate every record: dropped records would make the rest of the
 * pipeline cheaper, and hide the sampler's own cost.
 */
export const summary = "what samplers that keep all add to passthrough";

/** Log records of the benchmark have no trace id, so they are sampled by an attribute. */
const BY_ATTRIBUTE = { attribute_source: "record", from_attribute: "bench.record" };
const probabilistic = (/** @type {object} */ more) => ({
  probabilistic_sampler: { sampling_percentage: 100, ...more },
});
const ALMOST_ONE = 1 - 2 ** -53;

/** @param {import("../../lib/bench.js").Bench} bench */
export function run(bench) {
  const idle = { adaptive_sampling: { load: { enabled: false } } };
  const loaded = { adaptive_sampling: { load: { tiers: [{ above: 1, rate: ALMOST_ONE }] } } };
  return measureAdded(bench, "sampling", [
    { name: "probabilistic", signal: "traces", processors: probabilistic({}), goal: 0.5 },
    { name: "probabilistic", signal: "logs", processors: probabilistic(BY_ATTRIBUTE), goal: 0.5 },
    { name: "proportional", signal: "traces", processors: probabilistic({ mode: "proportional" }) },
    { name: "adaptive, all at 1", signal: "logs", processors: idle },
    { name: "adaptive, under load", signal: "traces", processors: loaded },
  ]);
}

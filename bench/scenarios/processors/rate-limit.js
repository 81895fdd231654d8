import { measureAdded } from "../../lib/added.js";

/** The cost of counting every record, with all of them within the limits. */
export const summary = "what the processor rate_limit adds to passthrough, by event name and by other keys";

const PLENTY = { limit: 1_000_000_000, window: "1s", global: { limit: 1_000_000_000, window: "1s" } };
const limits = (/** @type {object} */ more) => ({ rate_limit: { ...PLENTY, ...more } });

/** @param {import("../../lib/bench.js").Bench} bench */
export function run(bench) {
  const byName = limits({ key: ["event.name"] });
  const byThree = limits({ key: ["event.name", "resource.service.name", "attributes.tenant"] });
  return measureAdded(bench, "rate_limit", [
    { name: "by name", signal: "logs", processors: byName, goal: 0.5 },
    { name: "by name", signal: "traces", processors: byName, goal: 0.5 },
    { name: "by name, service and tenant", signal: "logs", processors: byThree },
    { name: "by name, a bypass", signal: "logs", processors: limits({ bypass: ["severity>=ERROR"] }) },
  ]);
}

/**
 * The scenarios, by name. Each file exports `summary`, one line for `--list`, and `run(bench)`, which answers with
 * tables, results and failures. They are loaded when asked for: some need the build.
 *
 * @typedef {{ summary: string, run(bench: import("../lib/bench.js").Bench): Promise<import("../lib/bench.js").Outcome> }}
 *   Scenario
 * @type {Record<string, () => Promise<Scenario>>}
 */
export const SCENARIOS = {
  shapes: () => import("./shapes.js"),
  answer: () => import("./answer.js"),
  passthrough: () => import("./passthrough.js"),
  durable: () => import("./durable.js"),
  process: () => import("./process.js"),
  outage: () => import("./outage.js"),
  backlog: () => import("./backlog.js"),
  neighbour: () => import("./neighbour.js"),
  overload: () => import("./overload.js"),
  startup: () => import("./startup.js"),
  sampling: () => import("./sampling.js"),
  "tail-sampling": () => import("./tail-sampling.js"),
  pii: () => import("./pii.js"),
  "pii-quality": () => import("./pii-quality.js"),
  rate_limit: () => import("./rate-limit.js"),
  versioning: () => import("./versioning.js"),
  emit: () => import("./receivers/emit.js"),
  tap: () => import("./tap.js"),
  file_log: () => import("./receivers/file-log.js"),
  collector: () => import("./collector.js"),
  micro: () => import("./micro.js"),
};

/**
 * The scenarios by name. Each file exports `summary`, one line for `--list`, and `run(bench)`, which returns tables,
 * results and failures. They are loaded on demand: some need the build.
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
  idle: () => import("./idle.js"),
  sampling: () => import("./processors/sampling.js"),
  "tail-sampling": () => import("./processors/tail-sampling.js"),
  pii: () => import("./processors/pii.js"),
  "pii-quality": () => import("./processors/pii-quality.js"),
  rate_limit: () => import("./processors/rate-limit.js"),
  versioning: () => import("./processors/versioning.js"),
  emit: () => import("./receivers/emit.js"),
  tap: () => import("./tap.js"),
  file_log: () => import("./receivers/file-log.js"),
  rehydrate: () => import("./receivers/rehydrate.js"),
  components: () => import("./components.js"),
  collector: () => import("./collector.js"),
  micro: () => import("./micro.js"),
};

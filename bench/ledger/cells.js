import { THREE_IN_EACH } from "../lib/load/records.js";

/**
 * What the ledger measures: loads that users have, and the agents that get them. See README.md for the kinds.
 *
 * @typedef {"allocated" | "copied" | "functions" | "files"} ExactKind
 * @typedef {ExactKind | "ratio" | "p99" | "loop" | "rss" | "start" | "version" | "package"} Kind
 * @typedef {{ name: string, kind: Kind, isShort: boolean }} Planned isShort: measured in the short form too
 * @typedef {{ name: string, records: number, clients: number, encoding?: import("../lib/load/supply.js").Encoding,
 *   signal?: import("../lib/load/records.js").Signal, hits?: number, hasTraceIds?: boolean, workers?: number,
 *   processors?: Record<string, object>, isDurable?: boolean, batching?: "with", exact?: false, needsClock?: true, isTimed?: true, inShortRatios?: true,
 *   reloads?: true }} LoadCell clients: of the ratio, while the exact kinds have one client; exact: false if there is no such figure;
 *   needsClock: it waits for a time
 *   isTimed: as `TIMED_SPREAD` says
 * @typedef {{ name: string, component: string, turns: number, warmTurns: number, isTimed?: true }} ComponentCell turns of this cell of
 *   components/cells.js
 */
const PATTERNS = [
  "[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}",
  "\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b",
  "\\b\\d{3}-\\d{2}-\\d{4}\\b",
  "\\b4[0-9]{12}(?:[0-9]{3})?\\b",
  "(?i)(?:password|secret|token)=\\S+",
  "AKIA[0-9A-Z]{16}",
];
const FILTER = { logs: { log_record: ['attributes["tenant"] == "nobody"'] } };
const TRANSFORM = { log_statements: [{ context: "log", statements: ['set(attributes["env"], "prod")'] }] };
const TAIL_SAMPLING = { decision_wait: "1s", policies: [{ name: "all", type: "always_sample" }] };

/** @type {LoadCell[]} */
export const LOADS = [
  { name: "1 x 1", records: 1, clients: 1 },
  { name: "1 x 100", records: 100, clients: 1, inShortRatios: true },
  { name: "1 x 1000", records: 1000, clients: 1 },
  { name: "16 x 1", records: 1, clients: 16, exact: false, inShortRatios: true },
  { name: "16 x 100", records: 100, clients: 16, exact: false, inShortRatios: true },
  { name: "16 x 1000", records: 1000, clients: 16, exact: false, inShortRatios: true },
  { name: "batch", records: 100, clients: 16, batching: "with" },
  { name: "durable", records: 100, clients: 16, isDurable: true, isTimed: true, inShortRatios: true },
  { name: "durable, 1000 records", records: 1000, clients: 16, isDurable: true, isTimed: true },
  { name: "gzip", records: 100, clients: 16, encoding: "gzip", inShortRatios: true },
  { name: "json", records: 100, clients: 16, encoding: "json", inShortRatios: true },
  { name: "grpc", records: 100, clients: 16, encoding: "grpc", inShortRatios: true },
  {
    name: "filter and transform",
    records: 100,
    clients: 16,
    processors: { filter: FILTER, transform: TRANSFORM },
    inShortRatios: true,
  },
  {
    name: "redaction",
    records: 100,
    clients: 16,
    hits: THREE_IN_EACH,
    processors: { redaction: { allow_all_keys: true, blocked_values: PATTERNS } },
    inShortRatios: true,
  },
  { name: "pii without values", records: 100, clients: 16, processors: { pii: {} } },
  { name: "pii with values", records: 100, clients: 16, hits: THREE_IN_EACH, processors: { pii: {} } },
  {
    name: "tail sampling",
    records: 100,
    clients: 16,
    signal: "traces",
    hasTraceIds: true,
    needsClock: true,
    isTimed: true,
    processors: { tail_sampling: TAIL_SAMPLING },
    isDurable: true,
  },
  { name: "workers 2", records: 100, clients: 16, workers: 2, exact: false },
  { name: "reload under load", records: 100, clients: 16, reloads: true, exact: false },
  { name: "30 records", records: 30, clients: 1 },
  { name: "30 records, durable", records: 30, clients: 1, isDurable: true, isTimed: true },
];

/** @type {ComponentCell[]} */
export const COMPONENTS = [
  { name: "spans to metrics", component: "span_metrics, 10,000 series", warmTurns: 400, turns: 4000 },
  { name: "file_log", component: "file_log, lines as they are", warmTurns: 20, turns: 80 },
  { name: "syslog", component: "syslog, RFC 5424 over TCP", warmTurns: 10, turns: 10 },
  {
    name: "prometheus scrape",
    component: "prometheus receiver, a page of text",
    warmTurns: 6,
    turns: 4,
    isTimed: true,
  },
  { name: "remote write", component: "prometheus_remote_write 1.0, 10,000 series", warmTurns: 400, turns: 4000 },
];

/** Agents with little to do, measured for minutes in the full form. */
export const SLOW = [
  "idle",
  "30 a second",
  "30 a second, durable",
  "30 a second, first minute",
  "30 a second, durable, first minute",
];
export const RSS_CELL = "durable after 10 minutes";
/** Whose longest delay of the event loop is measured. */
export const LOOP_CELLS = ["16 x 1000", "durable", "reload under load"];

/**
 * Some work depends on when the disk or a timer is ready: how many deletes share a write of a queue, when a sampler
 * decides, when a page is scraped. Then what is allocated and entered differs by so much between two runs.
 */
export const TIMED_SPREAD = 0.1;

/** @type {readonly ExactKind[]} */
export const EXACT_KINDS = ["allocated", "copied", "functions", "files"];

/** Every figure of the ledger. @returns {Planned[]} */
export function plannedCells() {
  const exact = [...LOADS.filter((cell) => cell.exact !== false), ...COMPONENTS].flatMap(({ name }) =>
    EXACT_KINDS.map((kind) => ({ name, kind, isShort: true })),
  );
  const ratios = LOADS.filter(({ name }) => !name.startsWith("30 ")).flatMap(({ name, inShortRatios = false }) => [
    { name, kind: /** @type {const} */ ("ratio"), isShort: inShortRatios },
    { name, kind: /** @type {const} */ ("p99"), isShort: false },
  ]);
  return [
    ...exact,
    ...ratios,
    ...COMPONENTS.map(({ name }) => ({ name, kind: /** @type {const} */ ("ratio"), isShort: false })),
    ...SLOW.map((name) => ({ name, kind: /** @type {const} */ ("ratio"), isShort: false })),
    ...LOOP_CELLS.map((name) => ({ name, kind: /** @type {const} */ ("loop"), isShort: false })),
    { name: RSS_CELL, kind: "rss", isShort: false },
    { name: "sluice run", kind: "start", isShort: true },
    { name: "sluice --version", kind: "version", isShort: true },
    { name: "npm package", kind: "package", isShort: true },
  ];
}

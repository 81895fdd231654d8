import { runCell } from "../lib/cell.js";
import { THREE_IN_EACH } from "../lib/load/records.js";
import { sluiceConfig } from "../lib/sluice-config.js";
import { spread } from "../lib/statistics.js";
import { BUILTIN, sluiceWith, withBatching } from "../lib/subjects.js";
import { show, showRatio } from "../lib/table.js";

/**
 * The cost of processing records: the agent compared with the bare forwarder, and with the Collector if the variable
 * OTELCOL names its binary, with the same config under the same load in the same rounds.
 */
export const summary = "work on records beside the Collector that OTELCOL names, or the bare forwarder alone";

const CLIENTS = 16;

/** Typical patterns; without dollar signs, which the Collector would replace. */
const PATTERNS = [
  "[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}",
  "\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b",
  "\\b\\d{3}-\\d{2}-\\d{4}\\b",
  "\\b4[0-9]{12}(?:[0-9]{3})?\\b",
  "(?i)(?:password|secret|token)=\\S+",
  "AKIA[0-9A-Z]{16}",
];

const transform = (/** @type {string[]} */ ...statements) => ({
  transform: { log_statements: [{ context: "log", statements }] },
});

/**
 * @typedef {{ name: string, processors: Record<string, object>, encoding?: "json", hits?: number, bar?: number,
 *   isOwn?: boolean }} Row bar: CPU per record over the Collector's; isOwn: the Collector has no such thing
 * @type {Row[]}
 */
const ROWS = [
  { name: "JSON in, protobuf out", processors: {}, encoding: "json", bar: 0.25 },
  {
    name: "redaction, six patterns, values in each record",
    processors: { redaction: { allow_all_keys: true, blocked_values: PATTERNS } },
    hits: THREE_IN_EACH,
    bar: 0.33,
  },
  {
    name: "redaction, six patterns, clean",
    processors: { redaction: { allow_all_keys: true, blocked_values: PATTERNS } },
    bar: 0.33,
  },
  {
    name: "delete_matching_keys",
    processors: transform('delete_matching_keys(attributes, "(?i)^(http|k8s)\\\\..*")'),
    bar: 0.5,
  },
  {
    name: "ExtractPatterns and merge_maps",
    processors: transform(
      'merge_maps(attributes, ExtractPatterns(body, "user=(?P<user>\\\\S+) client=(?P<client>[0-9.]+)"), "upsert")',
    ),
    hits: THREE_IN_EACH,
    bar: 0.5,
  },
  {
    name: "five statements with patterns",
    processors: transform(
      'set(attributes["pay"], true) where IsMatch(body, "^(user|payment)")',
      'replace_pattern(body, "client=\\\\d+\\\\.\\\\d+\\\\.\\\\d+\\\\.\\\\d+", "client=***")',
      'replace_all_patterns(attributes, "value", "^u-\\\\d+", "u-*")',
      'delete_matching_keys(attributes, "(?i)^k8s\\\\.")',
      'merge_maps(attributes, ExtractPatterns(body, "status=(?P<status>\\\\d+)"), "upsert")',
    ),
    hits: THREE_IN_EACH,
    bar: 0.5,
  },
  {
    name: "filter and transform",
    processors: {
      filter: { logs: { log_record: ['attributes["tenant"] == "nobody"'] } },
      ...transform('set(attributes["env"], "prod")'),
    },
    bar: 0.33,
  },
  { name: "SHA256", processors: transform('set(attributes["user.id"], SHA256(attributes["user.id"]))'), bar: 0.5 },
  { name: "pii, three values in each record", processors: { pii: {} }, hits: THREE_IN_EACH, isOwn: true },
];

/** @param {import("../lib/bench.js").Bench} bench @returns {Promise<import("../lib/bench.js").Outcome>} */
export async function run(bench) {
  const { options } = bench;
  const binary = process.env["OTELCOL"];
  const rows = ROWS.filter(({ name }) => name.includes(options.row));
  const records = options.records.includes(100) ? 100 : options.records[0];
  /** @type {import("../lib/bench.js").Outcome} */
  const outcome = { tables: [], results: [], failures: [] };
  for (const { name, processors, encoding = "proto", hits = 0, bar, isOwn = false } of rows) {
    const cell = { encoding, records, concurrency: options.concurrency ?? CLIENTS, hits };
    const subjects = [BUILTIN.bare, sluiceWith("sluice", processors)];
    if (binary !== undefined && !isOwn) subjects.push(collector(binary, processors));
    const { results, failures } = await runCell(
      { ...bench, options: { ...options, signal: "logs" } },
      "collector",
      cell,
      {
        subjects: subjects.map((subject) => withBatching(subject, "without")),
      },
    );
    const [bare, sluice, peer] = results;
    const ratio = peer && spread(sluice.rounds.map((round, i) => round.cpuUsPerRecord / peer.rounds[i].cpuUsPerRecord));
    outcome.results.push({ scenario: "collector", case: name, bar, bare, sluice, collector: peer, ratio });
    outcome.failures.push(...failures);
  }
  outcome.tables.push(toTable(outcome.results, options, binary));
  return outcome;
}

/** The Collector with the agent's own config. @returns {import("../lib/subjects.js").Subject} */
function collector(/** @type {string} */ binary, /** @type {Record<string, object>} */ processors) {
  return {
    name: "collector",
    command: (place) => {
      const { extensions, ...config } = JSON.parse(sluiceConfig({ ...place, processors }));
      config.service.extensions = [];
      return {
        shell: `exec '${binary}' --config '${place.folder}/collector.yaml'`,
        files: { "collector.yaml": JSON.stringify(config) },
      };
    },
  };
}

/** @returns {import("../lib/table.js").Table} */
function toTable(
  /** @type {any[]} */ results,
  /** @type {import("../lib/options.js").Options} */ { rounds, seconds },
  /** @type {string | undefined} */ binary,
) {
  return {
    title: `collector: ${rounds} rounds of ${seconds} s`,
    columns: [
      "work",
      "bare, CPU us/rec",
      "sluice",
      "ratio (min-max)",
      "Collector",
      "sluice / Collector (min-max)",
      "bar",
    ],
    rows: results.map(({ case: name, bare, sluice, collector: peer, ratio, bar }) => [
      name,
      show(bare.cpuUsPerRecord, 2),
      show(sluice.cpuUsPerRecord, 2),
      showRatio(sluice.cpuRatio),
      peer === undefined ? "" : show(peer.cpuUsPerRecord, 2),
      ratio === undefined ? "" : showRatio(ratio),
      bar === undefined ? "" : `${bar}`,
    ]),
    note: binary === undefined ? "OTELCOL names no Collector: only the bare forwarder ran beside the agent." : "",
  };
}

import type { Signal } from "../../telemetry/bytes/signal.js";

/**
 * Where `filter` reads a config in another way than the Collector's (contrib 0.159), on purpose. The page of functions shows
 * the list, and a test holds each entry to what it says of us.
 */
export interface ConfigDifference {
  readonly what: string;
  readonly signal: Signal;
  /** The config of a filter, in YAML. */
  readonly config: string;
  /** What the Collector does. */
  readonly there: string;
  /** What becomes of a record that the config speaks of, or why the config is refused. */
  readonly here: "kept" | "dropped" | { readonly refused: string };
}

const REFUSED = "refused";

export const CONFIG_DIFFERENCES: readonly ConfigDifference[] = [
  {
    what: "Paths need no context in front where they can only mean one.",
    signal: "logs",
    config: "log_conditions: [severity_number >= SEVERITY_NUMBER_INFO]",
    there: REFUSED,
    here: "dropped",
  },
  {
    what: "Conditions and groups of them may stand in one list.",
    signal: "logs",
    config: "log_conditions: [log.body == 1, { context: log, conditions: [severity_number == 9] }]",
    there: REFUSED,
    here: "dropped",
  },
  {
    what: "A list of conditions may be left empty.",
    signal: "logs",
    config: "log_conditions:",
    there: REFUSED,
    here: "kept",
  },
  {
    what: "The older forms may stand beside each other and beside the newer one: what any of them drops is dropped.",
    signal: "logs",
    config: "{ logs: { log_record: [severity_number == 9] }, log_conditions: [log.body == 1] }",
    there: `${REFUSED}; \`spans\` beside \`trace_conditions\` is ignored`,
    here: "dropped",
  },
  {
    what: "Of several `libraries` any will do, as the Collector's own documentation has it.",
    signal: "traces",
    config: "spans: { exclude: { match_type: strict, libraries: [{ name: lib }, { name: other }] } }",
    there: "all must fit, so none ever does",
    here: "dropped",
  },
  {
    what: "The lowest severity may be written as a number.",
    signal: "logs",
    config: "logs: { exclude: { severity_number: { min: 9 } } }",
    there: 'refused, unless in quotes: `"9"`',
    here: "dropped",
  },
  {
    what: "A whole number fits a double of the same value, as `2` and `2.0` are one number in YAML.",
    signal: "logs",
    config: "logs: { exclude: { match_type: strict, record_attributes: [{ key: whole, value: 2 }] } }",
    there: "kept: `2` is an integer",
    here: "dropped",
  },
  {
    what: "Keys that belong to another signal are refused.",
    signal: "traces",
    config: "spans: { exclude: { match_type: strict, span_names: [x], log_bodies: [] } }",
    there: "ignored, if nothing is in them",
    here: { refused: "log_bodies" },
  },
  {
    what: "What an expression asks for that there is not is told with the config.",
    signal: "metrics",
    config: "metrics: { exclude: { match_type: expr, expressions: [Name == 's'] } }",
    there: "every batch fails",
    here: { refused: "there is no Name" },
  },
  {
    what: "An expression that fails, or gives no bool, follows `error_mode`; types are looked at when it is evaluated.",
    signal: "metrics",
    config: "metrics: { exclude: { match_type: expr, expressions: [MetricName, HasLabel(1)] } }",
    there: "every batch fails, or it is refused",
    here: "kept",
  },
];

import type { Signal } from "#otlp/signals";

/**
 * Intentional differences between `filter` and `transform` here and in the Collector (contrib 0.159) in how they read a
 * config. The reference page of functions shows the list, and a test checks what each entry says about us.
 */
export interface ConfigDifference {
  readonly what: string;
  readonly component: "filter" | "transform";
  readonly signal: Signal;
  /** In YAML. */
  readonly config: string;
  /** The Collector's behaviour. */
  readonly there: string;
  /** The fate of a matching record here, or why the config is rejected. */
  readonly here: "kept" | "dropped" | { readonly refused: string };
}

const REFUSED = "refused";

export const CONFIG_DIFFERENCES: readonly ConfigDifference[] = [
  {
    what: "A path needs no context if only one is possible.",
    component: "filter",
    signal: "logs",
    config: "log_conditions: [severity_number >= SEVERITY_NUMBER_INFO]",
    there: REFUSED,
    here: "dropped",
  },
  {
    what: "One list may contain conditions and groups of conditions.",
    component: "filter",
    signal: "logs",
    config: "log_conditions: [log.body == 1, { context: log, conditions: [severity_number == 9] }]",
    there: REFUSED,
    here: "dropped",
  },
  {
    what: "A list of conditions may be left empty.",
    component: "filter",
    signal: "logs",
    config: "log_conditions:",
    there: REFUSED,
    here: "kept",
  },
  {
    what: "The older forms may be combined with each other and with the newer form: data that one of them drops is dropped.",
    component: "filter",
    signal: "logs",
    config: "{ logs: { log_record: [severity_number == 9] }, log_conditions: [log.body == 1] }",
    there: `${REFUSED}; \`spans\` beside \`trace_conditions\` is ignored`,
    here: "dropped",
  },
  {
    what: "If there are several `libraries`, one must match, as the Collector's documentation says.",
    component: "filter",
    signal: "traces",
    config: "spans: { exclude: { match_type: strict, libraries: [{ name: lib }, { name: other }] } }",
    there: "all must match, so none ever does",
    here: "dropped",
  },
  {
    what: "The lowest severity may be written as a number.",
    component: "filter",
    signal: "logs",
    config: "logs: { exclude: { severity_number: { min: 9 } } }",
    there: 'refused, unless in quotes: `"9"`',
    here: "dropped",
  },
  {
    what: "A whole number matches a double of the same value, because `2` and `2.0` are the same number in YAML.",
    component: "filter",
    signal: "logs",
    config: "logs: { exclude: { match_type: strict, record_attributes: [{ key: whole, value: 2 }] } }",
    there: "kept: `2` is an integer",
    here: "dropped",
  },
  {
    what: "Keys that belong to another signal are refused.",
    component: "filter",
    signal: "traces",
    config: "spans: { exclude: { match_type: strict, span_names: [x], log_bodies: [] } }",
    there: "ignored if they are empty",
    here: { refused: "log_bodies" },
  },
  {
    what: "Unknown names in an expression are config errors.",
    component: "filter",
    signal: "metrics",
    config: "metrics: { exclude: { match_type: expr, expressions: [Name == 's'] } }",
    there: "every batch fails",
    here: { refused: "there is no Name" },
  },
  {
    what: "`error_mode` applies to expressions that fail or return no bool. Types are checked when an expression is evaluated.",
    component: "filter",
    signal: "metrics",
    config: "metrics: { exclude: { match_type: expr, expressions: [MetricName, HasLabel(1)] } }",
    there: "every batch fails, or it is refused",
    here: "kept",
  },
  {
    what: "One list may contain statements and groups of statements.",
    component: "transform",
    signal: "logs",
    config: "log_statements: ['set(log.flags, 1)', { context: log, statements: ['set(flags, 2)'] }]",
    there: REFUSED,
    here: "kept",
  },
  {
    what: "Lists and groups may be left empty, and so may the name of a context.",
    component: "transform",
    signal: "logs",
    config: "log_statements: [{}, { context: '', statements: ['set(log.flags, 1)'] }]",
    there: REFUSED,
    here: "kept",
  },
  {
    what: "`shared_cache` is ignored: every record has its own cache.",
    component: "transform",
    signal: "logs",
    config: "log_statements: [{ context: log, statements: ['set(flags, 1)'], shared_cache: true }]",
    there: "refused before 0.160; since then, all records of all batches share one cache",
    here: "kept",
  },
  {
    what: "`flatten_data` is ignored: what a statement sets on a resource holds for all its records.",
    component: "transform",
    signal: "logs",
    config: "{ flatten_data: true, log_statements: ['set(log.flags, 1)'] }",
    there: "refused without its feature gate; with it, records of a resource are separated",
    here: "kept",
  },
];

import type { InsightAction, InsightBy } from "#contract/insight";
import { SEVERITY_NUMBER_NAMES } from "#otlp/signals";
import type { Signal } from "../../../plugin.js";

/** A row of an answer that is to be cut, and the way to cut it. */
export interface CutRequest {
  readonly action: InsightAction;
  readonly by: InsightBy;
  readonly name: string;
  readonly signal: Signal;
  /** For `sample`: keep one in so many. */
  readonly n: number;
  /** For `remove_attribute`: where the key is. */
  readonly context: string | undefined;
  /** For `aggregate_label`: the label to remove, and all labels of the metric. */
  readonly label: string | undefined;
  readonly labels: readonly string[];
}

/** The processors that remove something, in order, each with reasons against it. */
export interface CutProcessors {
  readonly processors: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly notes: readonly string[];
}

/** Something cannot be cut in this way. The message says why, and what can be done instead. */
export class CutError extends Error {
  override readonly name = "CutError";
}

const STATEMENTS = { logs: "log_statements", traces: "trace_statements", metrics: "metric_statements" } as const;
const CONDITIONS = { logs: "log_record", traces: "span", metrics: "datapoint" } as const;
const CONTEXTS = { logs: "log", traces: "span", metrics: "datapoint" } as const;
const PRIORITY = "sampling.priority";
const RANDOM_KEY = "sampling.key";
const MAX_SLUG = 40;

/** Turns a row into processors. A pure function: nothing is looked up, and nothing is changed. */
export function cutProcessors(request: CutRequest): CutProcessors {
  if (request.by === "duplicates" && (request.action === "drop" || request.action === "sample"))
    throw new CutError(`${request.action} would cut all records of the service, not only its duplicates: use dedup`);
  return MAKERS[request.action](request);
}

const MAKERS: Readonly<Record<InsightAction, (request: CutRequest) => CutProcessors>> = {
  drop: dropped,
  sample: sampled,
  dedup: deduplicated,
  remove_attribute: withoutAttribute,
  aggregate_label: withoutLabel,
};

function dropped(request: CutRequest): CutProcessors {
  const { signal, by } = request;
  const kind = by === "metric" || by === "cardinality" ? "metric" : CONDITIONS[signal];
  const config = { error_mode: "ignore", [signal]: { [kind]: [conditionOf(request)] } };
  return { processors: { [idOf("filter", request)]: config }, notes: notesOf(request) };
}

/**
 * The sampler has no conditions: everything else gets a priority, which is removed behind it. Log records need no trace id,
 * because they get something random to decide by.
 */
function sampled(request: CutRequest): CutProcessors {
  const { signal, n } = request;
  if (signal === "metrics")
    throw new CutError(
      "data points cannot be sampled, because their series would have gaps: drop, or aggregate a label",
    );
  const condition = conditionOf(request);
  const transform = (...statements: readonly string[]) => ({
    error_mode: "ignore",
    [STATEMENTS[signal]]: [{ context: CONTEXTS[signal], statements }],
  });
  const isLogs = signal === "logs";
  const key = { attribute_source: "record", from_attribute: RANDOM_KEY, sampling_priority: PRIORITY };
  return {
    processors: {
      [idOf("transform", request, "mark")]: transform(
        `set(attributes["${PRIORITY}"], 100) where not (${condition})`,
        ...(isLogs ? [`set(attributes["${RANDOM_KEY}"], UUID())`] : []),
      ),
      [idOf("probabilistic_sampler", request)]: { sampling_percentage: 100 / n, ...(isLogs && key) },
      [idOf("transform", request, "unmark")]: transform(
        `delete_key(attributes, "${PRIORITY}")`,
        ...(isLogs ? [`delete_key(attributes, "${RANDOM_KEY}")`] : []),
      ),
    },
    notes: [
      ...notesOf(request),
      ...(isLogs ? [] : ["traces keep or lose all of these spans together, and keep all others"]),
    ],
  };
}

function deduplicated(request: CutRequest): CutProcessors {
  if (request.signal !== "logs") throw new CutError("only log records can be deduplicated");
  const config = { interval: "60s", conditions: [conditionOf(request)] };
  const notes = ["equal records of a minute become one record, which says how many there were"];
  return { processors: { [idOf("log_dedup", request)]: config }, notes: [...notes, ...notesOf(request)] };
}

function withoutAttribute(request: CutRequest): CutProcessors {
  const { by, name, signal, context = "record" } = request;
  if (by !== "attribute") throw new CutError("only rows of by=attribute name an attribute");
  const statement = {
    context: context === "record" ? CONTEXTS[signal] : context,
    statements: [`delete_key(attributes, ${quote(name)})`],
  };
  const notes =
    signal === "metrics" && context === "record"
      ? ["series that differ only in this attribute become one with several values: aggregate the label instead"]
      : [];
  return {
    processors: { [idOf("transform", request)]: { error_mode: "ignore", [STATEMENTS[signal]]: [statement] } },
    notes: [...notes, ...notesOf(request)],
  };
}

function withoutLabel(request: CutRequest): CutProcessors {
  const { by, name, label, labels } = request;
  if (by !== "cardinality" && by !== "metric")
    throw new CutError("only rows of by=cardinality and by=metric have labels");
  if (label === undefined) throw new CutError("name the label to aggregate away: label=NAME");
  if (!labels.includes(label))
    throw new CutError(`the metric has no label ${JSON.stringify(label)}; it has: ${labels.join(", ") || "none"}`);
  const operation = {
    action: "aggregate_labels",
    label_set: labels.filter((each) => each !== label),
    aggregation_type: "sum",
  };
  const transform = { include: name, match_type: "strict", action: "update", operations: [operation] };
  return {
    processors: { [idOf("metrics_transform", request)]: { transforms: [transform] } },
    notes: ["values are added; for gauges choose mean, min or max as aggregation_type", ...notesOf(request)],
  };
}

/** The OTTL condition that holds for the records of a row. */
function conditionOf({ by, name, context }: Pick<CutRequest, "by" | "name" | "context">): string {
  const isNone = name === "(none)";
  switch (by) {
    case "service":
    case "duplicates":
      return isNone
        ? 'resource.attributes["service.name"] == nil'
        : `resource.attributes["service.name"] == ${quote(name)}`;
    case "severity": {
      const number = SEVERITY_NUMBER_NAMES.indexOf(name.toLowerCase());
      if (number < 0) throw new CutError(`there is no severity ${JSON.stringify(name)}`);
      return `severity_number == ${number}`;
    }
    case "scope":
      return `instrumentation_scope.name == ${quote(isNone ? "" : name)}`;
    case "pattern":
      return NAMED_PATTERNS.get(name) ?? bodyMatches(quote(regexOf(name)));
    case "metric":
    case "cardinality":
    case "span":
      return `name == ${quote(isNone ? "" : name)}`;
    case "attribute":
      return `${context === "resource" ? "resource." : context === "scope" ? "instrumentation_scope." : ""}attributes[${quote(name)}] != nil`;
    default:
      throw new CutError("an exporter cannot be cut: remove it from its pipelines");
  }
}

/** The conditions for patterns that stand for bodies without a text. */
const NAMED_PATTERNS: ReadonlyMap<string, string> = new Map([
  ["(no body)", "body == nil"],
  ["(number)", "IsInt(body)"],
  ["(map)", 'IsMap(body) and not (IsString(body["message"]) or IsString(body["msg"]))'],
  ["(not a text)", "not (body == nil or IsString(body) or IsInt(body) or IsMap(body))"],
]);

/** The pattern of a body that is a map is that of its message. */
function bodyMatches(regex: string): string {
  const inMap = `IsMatch(body["message"], ${regex}) or IsMatch(body["msg"], ${regex})`;
  return `(IsString(body) and IsMatch(body, ${regex})) or (IsMap(body) and (${inMap}))`;
}

/** A regular expression for the lines of a pattern. What is masked matches anything, too. */
export function regexOf(pattern: string): string {
  const isCut = pattern.endsWith(" …");
  const parts = (isCut ? pattern.slice(0, -2) : pattern).split(/<\*>|\*{3,}|\[REDACTED\]/);
  const escaped = parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/\s+/g, "\\s+"));
  return `^\\s*${escaped.join(".*")}${isCut ? "" : "\\s*$"}`;
}

function notesOf({ name }: CutRequest): string[] {
  const isMasked = /\*{3,}|\[REDACTED\]/.test(name);
  const isCut = name.endsWith("…");
  return isMasked || isCut ? ["the name is masked or shortened here: check the condition before you use it"] : [];
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t")}"`;
}

/** An id that says what it cuts: `filter/cut_checkout`. */
function idOf(type: string, { action, name, label }: CutRequest, more = ""): string {
  const words = [action === "drop" ? "cut" : action, label ?? name, more].filter((word) => word !== "");
  const slug = words
    .join("_")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .slice(0, MAX_SLUG)
    .replace(/^_|_$/g, "");
  return `${type}/${slug.toLowerCase() || "cut"}`;
}

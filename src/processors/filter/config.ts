import { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import {
  type AddOttlIssue,
  type Condition,
  type ContextName,
  compileEach,
  compileIn,
  compileInferred,
  contextOfGroup,
  ERROR_MODES,
  type ErrorMode,
  ottlIssue,
  SIGNAL_CONTEXTS,
} from "#ottl";
import { caseInsensitiveEnum, ignored, SIGNALS, type Signal } from "../../plugin.js";
import { expressionConditions, legacyConditions, legacyMetricConditions } from "./legacy-conditions.js";
import { hasCriteria, logProperties, metricProperties, propertyIssues, spanProperties } from "./legacy-properties.js";

const texts = () => z.array(z.string()).nullish();
const errorMode = () => caseInsensitiveEnum(ERROR_MODES);
const group = z.strictObject({
  context: z
    .string()
    .optional()
    .meta({ description: "The context of the conditions. Default: inferred from their paths." }),
  error_mode: errorMode().optional().meta({ description: "The error mode of this group." }),
  conditions: texts().meta({ description: "Telemetry for which any of these conditions holds is dropped." }),
});
const groups = (what: string) =>
  z
    .array(z.union([z.string(), group]))
    .nullish()
    .meta({ description: `Conditions, or groups of them, that drop ${what}.` });

const rawSchema = z.strictObject({
  error_mode: errorMode().default("ignore").meta({
    description:
      "What to do when a condition fails: ignore (log it, treat the condition as false), silent (the same without a log line), or propagate (refuse the batch).",
  }),
  log_conditions: groups("logs"),
  trace_conditions: groups("spans and span events"),
  metric_conditions: groups("metrics and data points"),
  logs: z
    .strictObject({
      resource: texts().meta({
        description: "All telemetry of a resource for which any of these conditions holds is dropped.",
      }),
      log_record: texts().meta({ description: "Log records for which any of these conditions holds are dropped." }),
      include: logProperties.nullish().meta({ description: "Only log records that match this are kept." }),
      exclude: logProperties.nullish().meta({ description: "Log records that match this are dropped." }),
    })
    .nullish()
    .meta({ description: "Conditions for logs by context: the older form of log_conditions." }),
  traces: z
    .strictObject({
      resource: texts().meta({
        description: "All telemetry of a resource for which any of these conditions holds is dropped.",
      }),
      span: texts().meta({ description: "Spans for which any of these conditions holds are dropped." }),
      spanevent: texts().meta({ description: "Span events for which any of these conditions holds are dropped." }),
    })
    .nullish()
    .meta({ description: "Conditions for traces by context: the older form of trace_conditions." }),
  spans: z
    .strictObject({
      include: spanProperties.nullish().meta({ description: "Only spans that match this are kept." }),
      exclude: spanProperties.nullish().meta({ description: "Spans that match this are dropped." }),
    })
    .nullish()
    .meta({ description: "Spans to keep or drop by their properties; trace_conditions is more powerful." }),
  metrics: z
    .strictObject({
      resource: texts().meta({
        description: "All telemetry of a resource for which any of these conditions holds is dropped.",
      }),
      metric: texts().meta({ description: "Metrics for which any of these conditions holds are dropped." }),
      datapoint: texts().meta({ description: "Data points for which any of these conditions holds are dropped." }),
      regexp: ignored("patterns are compiled once and need no cache"),
      include: metricProperties.nullish().meta({ description: "Only metrics that match this are kept." }),
      exclude: metricProperties.nullish().meta({ description: "Metrics that match this are dropped." }),
    })
    .nullish()
    .meta({ description: "Conditions for metrics by context: the older form of metric_conditions." }),
  profile_conditions: ignored("profiles are not supported"),
  profiles: ignored("profiles are not supported"),
});

/**
 * Conditions of one context that are evaluated together: a record, metric or resource is dropped if any of them holds.
 */
interface FilterGroup {
  readonly context: ContextName;
  readonly conditions: readonly Condition[];
  readonly mode: ErrorMode;
}

export interface FilterConfig {
  /** The groups of each signal, from the outermost context to the innermost. */
  readonly groups: Readonly<Record<Signal, readonly FilterGroup[]>>;
}

/** The Collector's old keys: where each one is found, and the context of its conditions. */
const OLD_KEYS = [
  ["logs", "logs", "resource", "resource"],
  ["logs", "logs", "log_record", "log"],
  ["traces", "traces", "resource", "resource"],
  ["traces", "traces", "span", "span"],
  ["traces", "traces", "spanevent", "spanevent"],
  ["metrics", "metrics", "resource", "resource"],
  ["metrics", "metrics", "metric", "metric"],
  ["metrics", "metrics", "datapoint", "datapoint"],
] as const;

const NEW_KEYS = { logs: "log_conditions", traces: "trace_conditions", metrics: "metric_conditions" } as const;

export const filterSchema = rawSchema.transform((config, zod): FilterConfig => {
  const found: Record<Signal, FilterGroup[]> = { logs: [], traces: [], metrics: [] };
  const mode = config.error_mode;
  const add = (
    signal: Signal,
    context: ContextName | undefined,
    conditions: readonly string[],
    errors: ErrorMode,
    place: (i: number) => ConfigPath,
  ) => {
    const compile = (text: string) =>
      context === undefined ? compileInferred(signal, [], [text]) : compileIn(context, [], [text]);
    const groups = compileEach(conditions, compile, place, (issue) => zod.addIssue(issue));
    found[signal].push(...groups.map((one) => ({ context: one.context, conditions: one.conditions, mode: errors })));
  };
  for (const [signal, section, key, context] of OLD_KEYS) {
    const list = (config[section] as { [key: string]: string[] | null | undefined } | null | undefined)?.[key];
    add(signal, context, list ?? [], mode, (i) => [section, key, i]);
  }
  const { logs, spans, metrics } = config;
  if (legacyIssues(config, (issue) => zod.addIssue(issue)) === 0) {
    const addAll = (signal: Signal, context: ContextName, conditions: readonly Condition[]) =>
      found[signal].push({ context, conditions, mode });
    addAll("logs", "log", legacyConditions("log", logs?.include, logs?.exclude));
    addAll("traces", "span", legacyConditions("span", spans?.include, spans?.exclude));
    addAll("metrics", "metric", legacyMetricConditions(metrics?.include, metrics?.exclude));
    try {
      addAll("metrics", "metric", expressionConditions(metrics?.include, metrics?.exclude));
    } catch (error) {
      zod.addIssue(ottlIssue(error, ["metrics"]));
    }
  }
  for (const signal of SIGNALS) {
    for (const [i, item] of (config[NEW_KEYS[signal]] ?? []).entries()) {
      const path = [NEW_KEYS[signal], i];
      if (typeof item === "string") add(signal, undefined, [item], mode, () => path);
      else {
        const named = contextOfGroup(signal, item.context, path, (issue) => zod.addIssue(issue));
        const placeOf = (at: number) => [...path, "conditions", at];
        if (named !== undefined) add(signal, named.context, item.conditions ?? [], item.error_mode ?? mode, placeOf);
      }
    }
    found[signal] = groupByContext(found[signal], SIGNAL_CONTEXTS[signal]);
  }
  return { groups: found };
});

/** Reports the problems of `include` and `exclude`, and returns how many there are. */
function legacyIssues(config: z.infer<typeof rawSchema>, addIssue: AddOttlIssue): number {
  const issues = (["include", "exclude"] as const).flatMap((key) => {
    const found = (["logs", "spans", "metrics"] as const).flatMap((section) =>
      propertyIssues(config[section]?.[key] ?? {}).map(({ message, path }) => ({
        message,
        path: [section, key, ...path],
      })),
    );
    const { [key]: spans } = config.spans ?? {};
    const message = "at least one of services, span_names, span_kinds, attributes, resources or libraries is needed";
    return spans && !hasCriteria(spans) ? [...found, { message, path: ["spans", key] }] : found;
  });
  for (const issue of issues) addIssue({ code: "custom", ...issue });
  return issues.length;
}

/** Returns one group for each context and error mode, outermost context first. */
function groupByContext(groups: readonly FilterGroup[], contexts: readonly ContextName[]): FilterGroup[] {
  return contexts.flatMap((context) =>
    ERROR_MODES.flatMap((mode) => {
      const conditions = groups
        .filter((one) => one.context === context && one.mode === mode)
        .flatMap((one) => one.conditions);
      return conditions.length === 0 ? [] : [{ context, conditions, mode }];
    }),
  );
}

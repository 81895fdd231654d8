import { z } from "zod";
import { caseInsensitiveEnum, ignored, SIGNALS, type Signal } from "../../plugin.js";
import {
  type Condition,
  type ConfigPath,
  type ContextName,
  compileEach,
  compileIn,
  compileInferred,
  contextOfGroup,
  ERROR_MODES,
  type ErrorMode,
  ottlIssue,
  plainPaths,
  SIGNAL_CONTEXTS,
} from "../../runtime/kit.js";
import { expressionConditions, hasCriteria, legacyConditions, legacyMetricConditions } from "./legacy-conditions.js";
import { logProperties, metricProperties, propertyIssues, spanProperties } from "./legacy-properties.js";

const texts = () => z.array(z.string()).nullish();
const errorMode = () => caseInsensitiveEnum(ERROR_MODES);
const group = z.strictObject({
  context: z
    .string()
    .optional()
    .meta({ description: "What the conditions are about; inferred from their paths when left out." }),
  error_mode: errorMode().optional().meta({ description: "The same for this group alone." }),
  conditions: texts().meta({ description: "What any of these holds for is dropped." }),
});
const groups = (what: string) =>
  z
    .array(z.union([z.string(), group]))
    .nullish()
    .meta({ description: `Conditions, or groups of them, that drop ${what}.` });

const rawSchema = z.strictObject({
  error_mode: errorMode()
    .default("ignore")
    .meta({ description: "ignore (log, take the condition for false), silent, or propagate (refuse the batch)." }),
  log_conditions: groups("logs"),
  trace_conditions: groups("spans and span events"),
  metric_conditions: groups("metrics and data points"),
  logs: z
    .strictObject({
      resource: texts().meta({
        description: "What belongs to a resource for which any of these conditions holds is dropped.",
      }),
      log_record: texts().meta({ description: "Log records for which any of these conditions holds are dropped." }),
      include: logProperties.nullish().meta({ description: "Only log records like this are kept." }),
      exclude: logProperties.nullish().meta({ description: "Log records like this are dropped." }),
    })
    .nullish()
    .meta({ description: "Conditions for logs, by what they are about: the older form of log_conditions." }),
  traces: z
    .strictObject({
      resource: texts().meta({
        description: "What belongs to a resource for which any of these conditions holds is dropped.",
      }),
      span: texts().meta({ description: "Spans for which any of these conditions holds are dropped." }),
      spanevent: texts().meta({ description: "Span events for which any of these conditions holds are dropped." }),
    })
    .nullish()
    .meta({ description: "Conditions for traces, by what they are about: the older form of trace_conditions." }),
  spans: z
    .strictObject({
      include: spanProperties.nullish().meta({ description: "Only spans like this are kept." }),
      exclude: spanProperties.nullish().meta({ description: "Spans like this are dropped." }),
    })
    .nullish()
    .meta({ description: "Spans to keep or drop by their properties; trace_conditions can say more." }),
  metrics: z
    .strictObject({
      resource: texts().meta({
        description: "What belongs to a resource for which any of these conditions holds is dropped.",
      }),
      metric: texts().meta({ description: "Metrics for which any of these conditions holds are dropped." }),
      datapoint: texts().meta({ description: "Data points for which any of these conditions holds are dropped." }),
      regexp: ignored("patterns are compiled once and need no cache"),
      include: metricProperties.nullish().meta({ description: "Only metrics like this are kept." }),
      exclude: metricProperties.nullish().meta({ description: "Metrics like this are dropped." }),
    })
    .nullish()
    .meta({ description: "Conditions for metrics, by what they are about: the older form of metric_conditions." }),
  profile_conditions: ignored("profiles are not supported"),
  profiles: ignored("profiles are not supported"),
});

/** Conditions of one context that are decided together: if any holds, the thing is dropped. */
interface FilterGroup {
  readonly context: ContextName;
  readonly conditions: readonly Condition[];
  readonly mode: ErrorMode;
}

export interface FilterConfig {
  /** From the outermost context to the innermost. */
  readonly groups: Readonly<Record<Signal, readonly FilterGroup[]>>;
}

/** What is written under the Collector's old keys, by context. */
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
  const compileAll = (
    signal: Signal,
    conditions: readonly string[],
    errors: ErrorMode,
    place: (i: number) => ConfigPath,
    compile: Parameters<typeof compileEach>[1],
  ) => {
    const groups = compileEach(conditions, compile, place, (issue) => zod.addIssue(issue));
    found[signal].push(...groups.map((one) => ({ context: one.context, conditions: one.conditions, mode: errors })));
  };
  const add = (
    signal: Signal,
    context: ContextName | undefined,
    conditions: readonly string[],
    errors: ErrorMode,
    place: (i: number) => ConfigPath,
  ) =>
    compileAll(signal, conditions, errors, place, (text) =>
      context === undefined ? compileInferred(signal, [], [text]) : compileIn(context, [], [text]),
    );
  const addLegacy = (signal: Signal, context: ContextName, conditions: readonly string[], section: string) => {
    const paths = plainPaths(context);
    compileAll(
      signal,
      conditions,
      mode,
      () => [section],
      (text) => compileIn(context, [], [text], paths),
    );
  };
  for (const [signal, section, key, context] of OLD_KEYS) {
    const list = (config[section] as { [key: string]: string[] | null | undefined } | null | undefined)?.[key];
    add(signal, context, list ?? [], mode, (i) => [section, key, i]);
  }
  for (const key of ["include", "exclude"] as const) {
    for (const section of ["logs", "spans", "metrics"] as const)
      for (const { message, path } of propertyIssues(config[section]?.[key] ?? {}))
        zod.addIssue({ code: "custom", message, path: [section, key, ...path] });
    const properties = config.spans?.[key];
    if (properties && !hasCriteria(properties))
      zod.addIssue({
        code: "custom",
        message: "at least one of services, span_names, span_kinds, attributes, resources or libraries is needed",
        path: ["spans", key],
      });
  }
  addLegacy("logs", "log", legacyConditions(config.logs?.include, config.logs?.exclude), "logs");
  addLegacy("traces", "span", legacyConditions(config.spans?.include, config.spans?.exclude), "spans");
  const { include, exclude } = config.metrics ?? {};
  addLegacy("metrics", "metric", legacyMetricConditions(include, exclude), "metrics");
  try {
    const conditions = expressionConditions(include, exclude);
    if (conditions.length > 0) found.metrics.push({ context: "metric", conditions, mode });
  } catch (error) {
    zod.addIssue(ottlIssue(error, ["metrics"]));
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

/** One group for each context and mode, outermost context first. */
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

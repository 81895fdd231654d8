import { z } from "zod";
import {
  anyCase,
  type CompiledGroup,
  compileIn,
  compileInferred,
  defineProcessor,
  ERROR_MODES,
  type ErrorMode,
  eachBatch,
  errorHandler,
  ignored,
  ottlIssue,
  SIGNAL_CONTEXTS,
  SIGNALS,
  type Signal,
  transformBatch,
} from "../plugin.js";

const errorMode = () => anyCase(ERROR_MODES);
const group = z.strictObject({
  context: z
    .string()
    .optional()
    .meta({ description: "What the statements are about; inferred from their paths when left out." }),
  error_mode: errorMode().optional(),
  conditions: z
    .array(z.string())
    .nullish()
    .meta({ description: "The statements are executed where any of these holds." }),
  statements: z.array(z.string()).nullish().default([]),
  shared_cache: ignored("every record has a cache of its own"),
});
const list = () => z.array(z.union([z.string(), group])).nullish();

const KEYS: Readonly<Record<Signal, "log_statements" | "trace_statements" | "metric_statements">> = {
  logs: "log_statements",
  traces: "trace_statements",
  metrics: "metric_statements",
};

const schema = z
  .strictObject({
    error_mode: errorMode()
      .default("ignore")
      .meta({ description: "ignore (log and go on), silent, or propagate (refuse the batch)." }),
    log_statements: list().meta({ description: "OTTL statements for logs, or groups of them." }),
    trace_statements: list().meta({ description: "The same for traces." }),
    metric_statements: list().meta({ description: "The same for metrics." }),
    profile_statements: ignored("profiles are not supported"),
    flatten_data: ignored("records are transformed one by one anyway"),
  })
  .transform((config, context): TransformConfig => {
    const groups: Record<Signal, TransformGroup[]> = { logs: [], traces: [], metrics: [] };
    for (const signal of SIGNALS) {
      for (const [i, item] of (config[KEYS[signal]] ?? []).entries()) {
        const compiled = compileItem(signal, item, (issue) => context.addIssue(issue), [KEYS[signal], i]);
        const mode = (typeof item === "string" ? undefined : item.error_mode) ?? config.error_mode;
        if (compiled !== undefined) add(groups[signal], compiled, mode, typeof item === "string");
      }
    }
    return { groups };
  });

interface TransformGroup extends CompiledGroup {
  readonly mode: ErrorMode;
  /** Statements written one by one; neighbours of one context are executed together. */
  readonly loose: boolean;
}

interface TransformConfig {
  readonly groups: Readonly<Record<Signal, readonly TransformGroup[]>>;
}

type AddIssue = (
  issue: ReturnType<typeof ottlIssue> | { code: "custom"; message: string; path: (string | number)[] },
) => void;

function compileItem(
  signal: Signal,
  item: string | z.infer<typeof group>,
  addIssue: AddIssue,
  path: readonly (string | number)[],
): CompiledGroup | undefined {
  const statements = typeof item === "string" ? [item] : (item.statements ?? []);
  const conditions = typeof item === "string" ? [] : (item.conditions ?? []);
  const named = typeof item === "string" || !item.context ? undefined : item.context;
  const context = SIGNAL_CONTEXTS[signal].find((known) => known === named);
  if (named !== undefined && context === undefined) {
    addIssue({
      code: "custom",
      message: `expected one of ${SIGNAL_CONTEXTS[signal].join(", ")}`,
      path: [...path, "context"],
    });
    return undefined;
  }
  const result =
    context === undefined
      ? compileInferred(signal, statements, conditions)
      : compileIn(context, statements, conditions);
  if ("context" in result) return result;
  addIssue(ottlIssue(result.error, typeof item === "string" ? path : [...path, result.list, result.index]));
  return undefined;
}

function add(groups: TransformGroup[], compiled: CompiledGroup, mode: ErrorMode, loose: boolean): void {
  const last = groups.at(-1);
  if (loose && last?.loose && last.context === compiled.context)
    groups[groups.length - 1] = { ...last, statements: [...last.statements, ...compiled.statements] };
  else groups.push({ ...compiled, mode, loose });
}

/** Edits telemetry with statements of OTTL. A batch that no statement changes passes as the same bytes. */
export const transform = defineProcessor<TransformConfig>({
  type: "transform",
  summary: "Edits telemetry with OTTL statements.",
  signals: SIGNALS,
  schema,
  create({ groups }, context) {
    const mine = groups[context.signal].map((group) => ({ ...group, onError: errorHandler(group.mode, context) }));
    return eachBatch((batch) => {
      let current = batch;
      for (const { statements, conditions, onError } of mine)
        current = transformBatch(current, statements, conditions, onError);
      return current;
    });
  },
});

import { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import {
  type AddOttlIssue,
  type CompiledGroup,
  compileEach,
  compileIn,
  compileInferred,
  contextOfGroup,
  ERROR_MODES,
  type ErrorMode,
  ottlIssue,
} from "#ottl";
import { caseInsensitiveEnum, ignored, SIGNALS, type Signal } from "../../plugin.js";

const errorMode = () => caseInsensitiveEnum(ERROR_MODES);
const group = z.strictObject({
  context: z
    .string()
    .optional()
    .meta({ description: "The context of the statements. Default: inferred from their paths." }),
  error_mode: errorMode().optional().meta({ description: "The error mode of this group." }),
  conditions: z
    .array(z.string())
    .nullish()
    .meta({ description: "The statements run only if any of these conditions holds." }),
  statements: z
    .array(z.string())
    .nullish()
    .default([])
    .meta({ description: "OTTL statements, executed in this order." }),
  shared_cache: ignored("every record has a cache of its own"),
});
const list = () => z.array(z.union([z.string(), group])).nullish();

const STATEMENT_KEYS: Readonly<Record<Signal, "log_statements" | "trace_statements" | "metric_statements">> = {
  logs: "log_statements",
  traces: "trace_statements",
  metrics: "metric_statements",
};

export const transformSchema = z
  .strictObject({
    error_mode: errorMode().default("ignore").meta({
      description:
        "What to do when a statement fails: ignore (log and continue), silent (continue without a log line), or propagate (refuse the batch).",
    }),
    log_statements: list().meta({ description: "OTTL statements for logs, or groups of them." }),
    trace_statements: list().meta({ description: "The same for traces." }),
    metric_statements: list().meta({ description: "The same for metrics." }),
    profile_statements: ignored("profiles are not supported"),
    flatten_data: ignored("what a statement sets on a resource holds for all its records"),
  })
  .transform((config, context): TransformConfig => {
    const groups: Record<Signal, TransformGroup[]> = { logs: [], traces: [], metrics: [] };
    for (const signal of SIGNALS) {
      const compiler = new StatementListCompiler(signal, config.error_mode, (issue) => context.addIssue(issue));
      groups[signal] = compiler.compile(config[STATEMENT_KEYS[signal]] ?? []);
    }
    return { groups };
  });

interface TransformGroup extends CompiledGroup {
  readonly mode: ErrorMode;
}

export interface TransformConfig {
  readonly groups: Readonly<Record<Signal, readonly TransformGroup[]>>;
}

/**
 * Compiles the statement list of a signal. Statements that are written one by one form a group with one context if
 * there is a context that fits them all. Otherwise each runs in its own context.
 */
class StatementListCompiler {
  private readonly signal: Signal;
  private readonly mode: ErrorMode;
  private readonly addIssue: AddOttlIssue;

  constructor(signal: Signal, mode: ErrorMode, addIssue: AddOttlIssue) {
    this.signal = signal;
    this.mode = mode;
    this.addIssue = addIssue;
  }

  compile(items: readonly (string | z.infer<typeof group>)[]): TransformGroup[] {
    const groups: TransformGroup[] = [];
    for (let i = 0; i < items.length; i++) {
      const item = items[i]!;
      if (typeof item !== "string") groups.push(...this.compileGroup(item, [STATEMENT_KEYS[this.signal], i]));
      else {
        const from = i;
        while (typeof items[i + 1] === "string") i++;
        groups.push(...this.compileUngrouped(items.slice(from, i + 1) as string[], from));
      }
    }
    return groups;
  }

  private compileGroup(item: z.infer<typeof group>, path: ConfigPath): TransformGroup[] {
    const { statements, conditions } = { statements: item.statements ?? [], conditions: item.conditions ?? [] };
    const named = contextOfGroup(this.signal, item.context, path, this.addIssue);
    if (named === undefined) return [];
    const result =
      named.context === undefined
        ? compileInferred(this.signal, statements, conditions)
        : compileIn(named.context, statements, conditions);
    if ("context" in result) return [{ ...result, mode: item.error_mode ?? this.mode }];
    this.addIssue(ottlIssue(result.error, [...path, result.list, result.index]));
    return [];
  }

  private compileUngrouped(statements: readonly string[], from: number): TransformGroup[] {
    const together = compileInferred(this.signal, statements, []);
    if ("context" in together) return [{ ...together, mode: this.mode }];
    const groups: TransformGroup[] = [];
    const compile = (statement: string) => compileInferred(this.signal, [statement], [], statements);
    const placeOf = (i: number) => [STATEMENT_KEYS[this.signal], from + i];
    for (const one of compileEach(statements, compile, placeOf, this.addIssue))
      appendGroup(groups, { ...one, mode: this.mode });
    return groups;
  }
}

/** Adjacent groups of one context run together, record by record. */
function appendGroup(groups: TransformGroup[], next: TransformGroup): void {
  const last = groups.at(-1);
  if (last?.context !== next.context) groups.push(next);
  else groups[groups.length - 1] = { ...last, statements: [...last.statements, ...next.statements] };
}

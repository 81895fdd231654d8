import { z } from "zod";
import type { NamedPipeline } from "#contract";
import { type AddOttlIssue, type ContextName, ERROR_MODES, type ErrorMode } from "#ottl";
import { caseInsensitiveEnum } from "../../plugin.js";
import { compileTest, type RecordTests, splitStatement } from "./compile-test.js";
import {
  EXPECTED_CLIENT,
  EXPECTED_REQUEST,
  parseClientCondition,
  parseRequestCondition,
  type RequestTest,
} from "./request-test.js";

/** One row of the table: its condition and its pipelines. */
export interface RoutingRule {
  readonly pipelines: readonly string[];
  /** Whether records are copied, so that later routes see them too. */
  readonly isCopy: boolean;
  readonly test: { readonly request: RequestTest } | { readonly records: RecordTests };
}

export interface RoutingConfig {
  readonly table: readonly RoutingRule[];
  readonly defaults: readonly string[];
  readonly mode: ErrorMode;
}

const pipelines = () => z.array(z.string());
const routeSchema = z
  .strictObject({
    context: z
      .enum(["", "resource", "scope", "log", "span", "metric", "datapoint", "request", "otelcol"])
      .nullish()
      .meta({ description: "The context of the condition. Default: inferred from its paths, or else resource." }),
    condition: z.string().nullish().meta({ description: "An OTTL condition: records for which it holds are routed." }),
    statement: z.string().nullish().meta({ description: "The condition as a statement: route() where <condition>." }),
    pipelines: pipelines().min(1).meta({ description: "The pipelines that matching records go to." }),
    action: z
      .enum(["move", "copy"])
      .default("move")
      .meta({ description: "move, or copy: later routes and the default then get the records too." }),
  })
  .transform((written, zod): RoutingRule => {
    const { pipelines: names, action } = written;
    const test = compileRouteTest(written, (issue) => zod.addIssue(issue));
    return test === undefined ? z.NEVER : { pipelines: names, isCopy: action === "copy", test };
  });

const MATCH_ONCE_FALSE =
  'a record goes to the first route that matches; write "action: copy" if later routes should get it too';

export const routingSchema = z
  .strictObject({
    table: z.array(routeSchema).min(1).meta({ description: "The routes, tried from the first to the last." }),
    default_pipelines: pipelines()
      .nullish()
      .meta({ description: "Where records go that match no route. Without it, they are dropped and counted." }),
    error_mode: caseInsensitiveEnum(ERROR_MODES).default("ignore").meta({
      description:
        "What to do when a condition fails: ignore (log it, treat the condition as false), silent (the same without a log line), or propagate (refuse the batch).",
    }),
    match_once: z
      .unknown()
      .refine((value) => value !== false && value !== "false", MATCH_ONCE_FALSE)
      .optional()
      .meta({ ignored: "a record always goes to the first route that matches" }),
  })
  .transform(
    ({ table, default_pipelines: defaults, error_mode: mode }): RoutingConfig => ({
      table,
      defaults: defaults ?? [],
      mode,
    }),
  );

/** Returns all pipelines that the config names, with their paths. */
export function namedPipelines({ table, defaults }: RoutingConfig): NamedPipeline[] {
  return [
    ...table.flatMap((route, i) =>
      route.pipelines.map((pipeline, at) => ({ pipeline, path: ["table", i, "pipelines", at] })),
    ),
    ...defaults.map((pipeline, at) => ({ pipeline, path: ["default_pipelines", at] })),
  ];
}

type RawRoute = { readonly [key in "context" | "condition" | "statement"]?: string | null | undefined };

function compileRouteTest(raw: RawRoute, addIssue: AddOttlIssue): RoutingRule["test"] | undefined {
  const [at, problem] = findRouteProblem(raw) ?? [];
  if (at !== undefined) {
    addIssue({ code: "custom", message: problem!, path: [at] });
    return undefined;
  }
  const { context, condition, statement } = raw;
  const path = [condition ? "condition" : "statement"];
  const routeText = condition ? { condition, editor: undefined, offset: 0 } : splitStatement(statement!);
  const report = (message: string) => addIssue({ code: "custom", message, path });
  if (context === "request")
    return requestTest(parseRequestCondition(routeText.condition), () => report(EXPECTED_REQUEST));
  if (context === "otelcol" || (!context && /^\s*otelcol\./.test(routeText.condition)))
    return requestTest(parseClientCondition(routeText.condition), () => report(EXPECTED_CLIENT));
  const records = compileTest(routeText, (context || undefined) as ContextName | undefined, path);
  if (!("code" in records)) return { records };
  addIssue(records);
  return undefined;
}

function findRouteProblem({ context, condition, statement }: RawRoute): [key: string, message: string] | undefined {
  if (condition && statement) return ["statement", "expected a condition or a statement, not both"];
  if (!condition && !statement) return ["condition", "expected an OTTL condition that selects what is routed"];
  if (context === "request" && !condition) return ["statement", `${EXPECTED_REQUEST}, as a condition`];
  return undefined;
}

function requestTest(request: RequestTest | undefined, report: () => void): RoutingRule["test"] | undefined {
  if (request === undefined) report();
  return request && { request };
}

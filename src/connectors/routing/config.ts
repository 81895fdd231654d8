import { z } from "zod";
import { anyCase, type ContextName, ERROR_MODES, type ErrorMode, type NamedPipeline } from "../../plugin.js";
import { compileTest, type RecordTests, splitStatement } from "./compile.js";
import { CLIENT_FORM, parseClientCondition, parseRequestCondition, REQUEST_FORM, type RequestTest } from "./request.js";

/** One line of the table: what it is about, and where it leads. */
export interface Route {
  readonly pipelines: readonly string[];
  /** What is copied is looked at by the routes that follow, too. */
  readonly isCopy: boolean;
  readonly test: { readonly request: RequestTest } | { readonly records: RecordTests };
}

export interface RoutingConfig {
  readonly table: readonly Route[];
  readonly defaults: readonly string[];
  readonly mode: ErrorMode;
}

const pipelines = () => z.array(z.string());
const item = z
  .strictObject({
    context: z
      .enum(["", "resource", "scope", "log", "span", "metric", "datapoint", "request", "otelcol"])
      .nullish()
      .meta({ description: "What the condition is about; inferred from its paths when left out, else resource." }),
    condition: z.string().nullish().meta({ description: "What is routed: an OTTL condition." }),
    statement: z.string().nullish().meta({ description: "The same as a statement: route() where <condition>." }),
    pipelines: pipelines().min(1).meta({ description: "Where it goes." }),
    action: z
      .enum(["move", "copy"])
      .default("move")
      .meta({ description: "move, or copy: then the routes that follow, and the default, get it as well." }),
  })
  .transform((written, zod): Route => {
    const { pipelines: names, action } = written;
    const test = testOf(written, (issue) => zod.addIssue(issue));
    return test === undefined ? z.NEVER : { pipelines: names, isCopy: action === "copy", test };
  });

const KEEP_ALL_MATCHES =
  'a record goes to the first route that matches; write "action: copy" where others are to get it too';

export const routingSchema = z
  .strictObject({
    table: z.array(item).min(1).meta({ description: "The routes, tried from the first to the last." }),
    default_pipelines: pipelines()
      .nullish()
      .meta({ description: "Where what no route took goes. Without it, that is dropped and counted." }),
    error_mode: anyCase(ERROR_MODES)
      .default("ignore")
      .meta({ description: "ignore (log, take the condition for false), silent, or propagate (refuse the batch)." }),
    match_once: z
      .unknown()
      .refine((value) => value !== false && value !== "false", KEEP_ALL_MATCHES)
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

/** All pipelines that the config names, with their places. */
export function namedPipelines({ table, defaults }: RoutingConfig): NamedPipeline[] {
  return [
    ...table.flatMap((route, i) =>
      route.pipelines.map((pipeline, at) => ({ pipeline, path: ["table", i, "pipelines", at] })),
    ),
    ...defaults.map((pipeline, at) => ({ pipeline, path: ["default_pipelines", at] })),
  ];
}

type Written = { readonly [key in "context" | "condition" | "statement"]?: string | null | undefined };
type AddIssue = (issue: { code: "custom"; message: string; path: (string | number)[] }) => void;

function testOf(written: Written, addIssue: AddIssue): Route["test"] | undefined {
  const [at, misuse] = misuseOf(written) ?? [];
  if (at !== undefined) {
    addIssue({ code: "custom", message: misuse!, path: [at] });
    return undefined;
  }
  const { context, condition, statement } = written;
  const path = [condition ? "condition" : "statement"];
  const parts = condition ? { condition, editor: undefined, offset: 0 } : splitStatement(statement!);
  const report = (message: string) => addIssue({ code: "custom", message, path });
  if (context === "request") return requestTest(parseRequestCondition(parts.condition), () => report(REQUEST_FORM));
  if (context === "otelcol" || (!context && /^\s*otelcol\./.test(parts.condition)))
    return requestTest(parseClientCondition(parts.condition), () => report(CLIENT_FORM));
  const records = compileTest(parts, (context || undefined) as ContextName | undefined, path);
  if (!("code" in records)) return { records };
  addIssue(records);
  return undefined;
}

function misuseOf({ context, condition, statement }: Written): [key: string, message: string] | undefined {
  if (condition && statement) return ["statement", "expected a condition or a statement, not both"];
  if (!condition && !statement) return ["condition", "expected an OTTL condition that says what is routed"];
  if (context === "request" && !condition) return ["statement", `${REQUEST_FORM}, as a condition`];
  return undefined;
}

function requestTest(request: RequestTest | undefined, report: () => void): Route["test"] | undefined {
  if (request === undefined) report();
  return request && { request };
}

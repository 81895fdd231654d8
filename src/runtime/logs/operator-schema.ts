import { z } from "zod";
import { byteSize, duration, ignored, section, unsupported } from "#contract/schema";
import { compilePattern } from "#text/patterns";
import { CONTAINER_FORMATS } from "./container-parser.js";
import type { LogValue } from "./entries/log-value.js";
import { EntryExpression, EntryTemplate, EntryValue } from "./entry-expression.js";
import { EntrySeverity } from "./entry-severity.js";
import { EntryTime, LAYOUT_TYPES } from "./entry-time.js";
import { EntryTrace } from "./entry-trace.js";
import { LogField } from "./log-field.js";
import { ON_ERROR } from "./log-operator.js";
import { NAMED_PATTERNS } from "./text-operators.js";

/**
 * Reports an error thrown by `make` as a config problem. The result of `make` is discarded; the operator makes it
 * again.
 */
function checked<T extends z.ZodType>(schema: T, make: (value: z.output<T>) => unknown): T {
  return schema.superRefine((value, context) => {
    try {
      make(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: (error as Error).message });
    }
  }) as T;
}

/** Reports an error thrown by `make` as a config problem at its place. */
function made<In, Out>(schema: z.ZodType<In>, make: (value: In) => Out) {
  return schema.transform((value, context) => {
    try {
      return make(value);
    } catch (error) {
      context.addIssue({ code: "custom", message: (error as Error).message });
      return z.NEVER;
    }
  });
}

const field = () => made(z.string(), LogField.parse);
const expression = () => made(z.string(), (source) => new EntryExpression(source));
const template = () =>
  made(z.union([z.string(), z.number(), z.boolean()]), (value) => new EntryTemplate(String(value)));

/** Attributes that a receiver gives to every record, as texts. A mistake in an `EXPR(...)` of theirs is a config problem. */
export const templateTexts = () =>
  z.record(
    z.string(),
    checked(z.union([z.string(), z.number(), z.boolean()]).transform(String), (text) => new EntryTemplate(text)),
  );

/** A time zone of the messages of RFC 3164. */
export const syslogLocation = () =>
  z
    .string()
    .default("UTC")
    .transform((name) => (name === "Local" ? Intl.DateTimeFormat().resolvedOptions().timeZone : name))
    .refine(isTimeZone, { message: "expected a time zone, such as Europe/Berlin, UTC or Local" });

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const BODY = new LogField("body", []);
const ATTRIBUTES = new LogField("attributes", []);

const ids = z.union([z.string().transform((id) => [id]), z.array(z.string())]);

const common = {
  id: z
    .string()
    .trim()
    .min(1)
    .optional()
    .meta({ description: "The operator's name, for `output`. Default: its type." }),
  output: ids.optional().meta({ description: "The next operators. Default: the one after it." }),
  if: expression()
    .optional()
    .meta({ description: "An expression; entries for which it is not true are passed on unchanged." }),
  on_error: z.enum(ON_ERROR).default("send").meta({
    description: "How entries that fail are handled; `_quiet` does not log them.",
  }),
};

const timeKeys = {
  parse_from: field().meta({ description: "The field with the time." }),
  layout: z.string().default("").meta({ description: "The layout of the time." }),
  layout_type: z.enum(LAYOUT_TYPES).default("strptime").meta({ description: "The notation of the layout." }),
  location: z
    .string()
    .default("")
    .meta({ description: "The time zone of times without one. Default: this machine's." }),
  time_zone_locations: section(z.record(z.string(), z.string()))
    .optional()
    .meta({ description: "The places that abbreviations of time zones in the text stand for." }),
};
const time = made(z.strictObject(timeKeys), (settings) => new EntryTime(settings));

const severityKeys = {
  parse_from: field().meta({ description: "The field with the severity." }),
  preset: z
    .string()
    .default("")
    .meta({ description: "`none` starts without a mapping, `otel` without `warning` and `err`." }),
  mapping: section(z.record(z.string(), z.unknown()))
    .default({})
    .meta({ description: "Severities and the values that map to them: texts, numbers, `2xx`, or `{min, max}`." }),
  overwrite_text: z.boolean().default(false).meta({ description: "Write the severity's name as its text." }),
};
const severity = made(z.strictObject(severityKeys), (settings) => new EntrySeverity(settings));

const id = (name: string) =>
  section(
    z.strictObject({
      parse_from: field()
        .default(new LogField("body", [name]))
        .meta({ description: "The field with it." }),
    }),
  )
    .default({ parse_from: new LogField("body", [name]) })
    .meta({ description: "In hexadecimal digits." });
const traceKeys = { trace_id: id("trace_id"), span_id: id("span_id"), trace_flags: id("trace_flags") };
const traceOf = (keys: Record<"trace_id" | "span_id" | "trace_flags", { parse_from: LogField }>) =>
  new EntryTrace({
    trace_id: keys.trace_id.parse_from,
    span_id: keys.span_id.parse_from,
    trace_flags: keys.trace_flags.parse_from,
  });
const scopeName = z.strictObject({ parse_from: field().meta({ description: "The field with the name." }) });

const parser = {
  ...common,
  parse_from: field().default(BODY).meta({ description: "What is parsed." }),
  parse_to: field().default(ATTRIBUTES).meta({ description: "Where the values go." }),
  timestamp: time.optional().meta({ description: "Reads the time from the parsed values." }),
  severity: severity.optional().meta({ description: "Reads the severity from the parsed values." }),
  trace: made(section(z.strictObject(traceKeys)), traceOf)
    .optional()
    .meta({ description: "Reads trace ids from the parsed values." }),
  scope_name: section(scopeName).optional().meta({ description: "Reads the scope's name from the parsed values." }),
  body: field().optional().meta({ description: "The parsed value that becomes the body." }),
  preserve_to: unsupported("copy the field with the operator copy before the parser"),
};

const pattern = checked(z.string(), (source) => {
  try {
    compilePattern(source);
  } catch (error) {
    throw new Error(`not a pattern: ${(error as Error).message}`);
  }
});

const namedPattern = z.string().superRefine((source, context) => {
  try {
    if (compilePattern(source).groupNames.length > 0) return;
    context.addIssue({ code: "custom", message: "expected at least one named group, as (?P<name>...)" });
  } catch (error) {
    context.addIssue({ code: "custom", message: `not a pattern: ${(error as Error).message}` });
  }
});

const values = section(z.record(z.string(), template())).default({});
const type = <T extends string>(name: T) => z.literal(name).meta({ description: "Which operator it is." });

/** A YAML value as a value of an entry: whole numbers become integers. */
const value = made(z.unknown(), toLogValue);

function toLogValue(given: unknown): LogValue {
  if (typeof given === "number") return Number.isSafeInteger(given) ? BigInt(given) : given;
  if (Array.isArray(given)) return given.map(toLogValue);
  if (typeof given !== "object" || given === null) return (given ?? null) as LogValue;
  return Object.fromEntries(Object.entries(given).map(([key, each]) => [key, toLogValue(each)]));
}

const recombineKeys = {
  is_first_entry: expression()
    .optional()
    .meta({ description: "An expression that is true for the first entry of a group." }),
  is_last_entry: expression()
    .optional()
    .meta({ description: "An expression that is true for the last entry of a group." }),
  combine_field: field().meta({ description: "The field whose texts are joined." }),
  combine_with: z.string().default("\n").meta({ description: "The separator between the joined texts." }),
  source_identifier: field()
    .default(new LogField("attributes", ["log.file.path"]))
    .meta({ description: "Only entries with the same value here are joined." }),
  overwrite_with: z
    .preprocess((word) => (word === "" ? "oldest" : word), z.enum(["oldest", "newest"]))
    .default("oldest")
    .meta({ description: "The entry that provides the other fields of the result." }),
  force_flush_period: duration()
    .default(5000)
    .meta({ description: "How long to wait for further entries of a group." }),
  max_batch_size: z
    .number()
    .int()
    .nonnegative()
    .default(1000)
    .meta({ description: "The maximum number of joined entries; 0 means no limit." }),
  max_unmatched_batch_size: z.number().int().nonnegative().default(100).meta({
    description:
      "The maximum number of entries joined while neither the first nor the last was seen; 0 means no limit.",
  }),
  max_sources: z
    .number()
    .int()
    .positive()
    .default(1000)
    .meta({ description: "The maximum number of sources that wait at once." }),
  max_log_size: byteSize().default(0).meta({ description: "The maximum length of the joined text; 0 means no limit." }),
};

const route = z.strictObject({
  expr: expression().meta({ description: "An expression that is true for the entries of this route." }),
  output: ids.meta({ description: "The operators that these entries go to." }),
  attributes: values.meta({ description: "Attributes added to these entries." }),
});

const pair = {
  from: field().meta({ description: "The field to read the value from." }),
  to: field().meta({ description: "The field to write the value to." }),
};

const OPERATORS = [
  z.strictObject({ ...common, type: type("noop") }),
  z.strictObject({
    ...parser,
    type: type("json_parser"),
    parse_ints: z
      .boolean()
      .default(false)
      .meta({ description: "Whole numbers are integers; else all numbers are doubles." }),
    format: ignored("json_parser reads any JSON object; for lines of containers use the operator container"),
    cache: ignored("parsing needs none"),
  }),
  z.strictObject({
    ...parser,
    type: type("json_array_parser"),
    header: z
      .string()
      .default("")
      .meta({ description: "The names of the items, separated by commas. Without it the result is a list." }),
  }),
  z.strictObject({ ...parser, type: type("uri_parser") }),
  z.strictObject({
    ...parser,
    type: type("regex_parser"),
    regex: namedPattern.meta({ description: "A pattern in RE2 syntax, with named groups." }),
    cache: ignored("parsing needs none"),
  }),
  z
    .strictObject({
      ...parser,
      type: type("csv_parser"),
      header: z.string().default("").meta({ description: "The names of the fields." }),
      header_delimiter: z
        .string()
        .default("")
        .meta({ description: "The separator between the names. Default: `delimiter`." }),
      header_attribute: z.string().default("").meta({ description: "An attribute that contains the names instead." }),
      delimiter: z.string().length(1).default(",").meta({ description: "The separator between fields." }),
      lazy_quotes: z.boolean().default(false).meta({ description: "Allow quotes inside fields." }),
      ignore_quotes: z.boolean().default(false).meta({ description: "Treat quotes as ordinary characters." }),
    })
    .refine(({ header, header_attribute }) => (header === "") !== (header_attribute === ""), {
      message: "expected either header or header_attribute",
    })
    .refine(
      ({ header, header_delimiter, delimiter }) => header === "" || header.includes(header_delimiter || delimiter),
      {
        path: ["header"],
        message: "the names must be separated by header_delimiter, or by delimiter if that is not set",
      },
    )
    .refine(({ lazy_quotes, ignore_quotes }) => !lazy_quotes || !ignore_quotes, {
      path: ["ignore_quotes"],
      message: "expected either lazy_quotes or ignore_quotes",
    }),
  z.strictObject({
    ...parser,
    type: type("key_value_parser"),
    delimiter: z.string().min(1).default("=").meta({ description: "The separator between a key and its value." }),
    pair_delimiter: z.string().default("").meta({ description: "The separator between pairs. Default: a space." }),
  }),
  z.strictObject({
    ...parser,
    type: type("syslog_parser"),
    protocol: z
      .enum(["rfc3164", "rfc5424", "none"])
      .meta({ description: "The form of the messages; `none`: any text." }),
    location: syslogLocation().meta({ description: "The time zone of RFC 3164's times." }),
    enable_octet_counting: z.boolean().default(false).meta({ description: "A message may be preceded by its length." }),
    allow_skip_pri_header: z.boolean().default(false).meta({ description: "The priority may be missing." }),
    non_transparent_framing_trailer: ignored("the ends of lines are no part of a record"),
    max_octets: ignored("max_log_size bounds records"),
  }),
  z.strictObject({
    ...parser,
    type: type("container"),
    format: z
      .enum(["", ...CONTAINER_FORMATS])
      .default("")
      .meta({ description: "The format of the lines. Default: detected." }),
    add_metadata_from_filepath: z
      .boolean()
      .default(true)
      .meta({ description: "Read namespace, pod and container from the path of the file." }),
    max_log_size: byteSize()
      .default(1024 * 1024)
      .meta({ description: "The maximum length of a line joined from its parts." }),
  }),
  checked(
    z.strictObject({ ...common, ...severityKeys, type: type("severity_parser") }),
    (settings) => new EntrySeverity(settings),
  ),
  checked(z.strictObject({ ...common, ...timeKeys, type: type("time_parser") }), (settings) => new EntryTime(settings)),
  z.strictObject({ ...common, ...traceKeys, type: type("trace_parser") }),
  z.strictObject({ ...common, type: type("scope_name_parser"), ...scopeName.shape }),
  z.strictObject({
    ...common,
    type: type("add"),
    field: field().meta({ description: "Where the value goes." }),
    value: checked(value, (given) => typeof given === "string" && new EntryValue(given)).meta({
      description: "The value; in a text `EXPR(...)` is an expression.",
    }),
  }),
  z.strictObject({ ...common, type: type("remove"), field: field().meta({ description: "What is removed." }) }),
  z.strictObject({
    ...common,
    type: type("retain"),
    fields: z.array(field()).min(1).meta({ description: "What is kept." }),
  }),
  z.strictObject({ ...common, type: type("unquote"), field: field().meta({ description: "The quoted text." }) }),
  z
    .strictObject({
      ...common,
      type: type("regex_replace"),
      field: field().meta({ description: "The text to change." }),
      regex: pattern.default("").meta({ description: "The pattern to replace, in RE2 syntax." }),
      regex_name: z
        .enum(["", ...(Object.keys(NAMED_PATTERNS) as (keyof typeof NAMED_PATTERNS)[])])
        .default("")
        .meta({ description: "The name of a pattern that is known: `ansi_control_sequences`." }),
      replace_with: z
        .string()
        .default("")
        .meta({ description: "The text to put in its place; `$1` is the first group of the pattern." }),
    })
    .refine(({ regex, regex_name }) => (regex === "") !== (regex_name === ""), {
      message: "expected either regex or regex_name",
    }),
  z.strictObject({
    ...common,
    type: type("sanitize_utf8"),
    field: field().default(BODY).meta({ description: "The text in which invalid characters are replaced." }),
  }),
  z.strictObject({
    ...common,
    type: type("assign_keys"),
    field: field().meta({ description: "The list that becomes a map." }),
    keys: z.array(z.string()).min(1).meta({ description: "The keys of its items, in order." }),
  }),
  z.strictObject({ ...common, type: type("move"), ...pair }),
  z.strictObject({ ...common, type: type("copy"), ...pair }),
  z
    .strictObject({ ...common, type: type("flatten"), field: field().meta({ description: "The map." }) })
    .refine(({ field: { isRoot } }) => !isRoot, {
      path: ["field"],
      message: "expected a field of body, attributes or resource",
    }),
  z
    .strictObject({ ...common, type: type("recombine"), ...recombineKeys })
    .refine(({ is_first_entry: first, is_last_entry: last }) => (first === undefined) !== (last === undefined), {
      message: "expected either is_first_entry or is_last_entry",
    }),
  z.strictObject({
    ...common,
    type: type("router"),
    routes: z.array(route).min(1).meta({ description: "The routes; an entry takes the first that matches." }),
    default: ids.optional().meta({ description: "Where all other entries go; without it they are dropped." }),
  }),
  z.strictObject({
    ...common,
    type: type("filter"),
    expr: expression().meta({ description: "An expression that is true for the entries to drop." }),
    drop_ratio: z.number().min(0).max(1).default(1).meta({ description: "The share of these entries to drop." }),
  }),
] as const;

const operatorSchema = z.discriminatedUnion("type", OPERATORS, {
  error: () => `expected one of ${OPERATORS.map(({ shape }) => shape.type.value).join(", ")}`,
});

export type OperatorConfig = z.infer<typeof operatorSchema>;

/** A list of operators with unique ids whose outputs exist and form no cycle. */
export const operatorsSchema = z
  .preprocess((list) => list ?? [], z.array(operatorSchema))
  .superRefine((operators, context) => {
    const names = operatorIds(operators);
    for (const [index, operator] of operators.entries()) {
      const path = [index, "id"];
      if (names.indexOf(names[index]!) !== index)
        context.addIssue({ code: "custom", path, message: "the id is taken" });
      for (const target of outputsOf(operator)) {
        const at = names.indexOf(target);
        if (at < 0 && target !== "noop_output") {
          const message = `there is no operator ${target}; there are ${names.join(", ")}`;
          context.addIssue({ code: "custom", path: [index, "output"], message });
        } else if (at >= 0 && at <= index) {
          const message = `${target} comes before it: entries would loop forever`;
          context.addIssue({ code: "custom", path: [index, "output"], message });
        }
      }
    }
  });

/** The ids of the operators. An operator without an id gets its type, with a number if that is taken. */
export function operatorIds(operators: readonly OperatorConfig[]): string[] {
  const taken = new Set(operators.flatMap(({ id: name }) => name ?? []));
  return operators.map(({ id: name, type: kind }) => {
    if (name !== undefined) return name;
    let own: string = kind;
    for (let i = 1; taken.has(own); i++) own = `${kind}${i}`;
    taken.add(own);
    return own;
  });
}

function outputsOf(operator: OperatorConfig): readonly string[] {
  const routed = operator.type === "router" ? operator.routes.flatMap(({ output }) => output) : [];
  return [...routed, ...(operator.type === "router" ? (operator.default ?? []) : (operator.output ?? []))];
}

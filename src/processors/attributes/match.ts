import { z } from "zod";
import { valueText } from "#otlp/bytes";
import { SEVERITY_NUMBER_NAMES, type Signal, SPAN_KIND_SYMBOLS } from "#otlp/signals";
import { compilePattern } from "#text/patterns";
import { type AnyRecordView, type Attributes, ignored, type Value } from "../../plugin.js";

/**
 * The Collector's `include` and `exclude` select records by their properties, either by equality (`strict`) or by
 * pattern (`regexp`). For every list of names, at least one entry must match. For attributes and resources, all entries
 * must match.
 */
const attributeMatch = z.strictObject({
  key: z.string().meta({ description: "The attribute that must exist." }),
  value: z
    .union([z.string(), z.number(), z.boolean()])
    .optional()
    .meta({ description: "The value that it must have. Default: any value." }),
});

const optionalTexts = () => z.array(z.string()).optional();

/** The Collector's `include` and `exclude`. */
export const matchSchema = z
  .strictObject({
    match_type: z.enum(["strict", "regexp"]).meta({ description: "strict: equal; regexp: patterns in RE2 syntax." }),
    regexp: ignored("patterns are compiled once and need no cache"),
    services: optionalTexts().meta({ description: "Values of the resource's service.name; one must match." }),
    resources: z.array(attributeMatch).optional().meta({ description: "Attributes of the resource; all must match." }),
    attributes: z.array(attributeMatch).optional().meta({ description: "Attributes of the record; all must match." }),
    libraries: z
      .array(
        z.strictObject({
          name: z.string().meta({ description: "The name of the scope." }),
          version: z.string().optional().meta({ description: "Its version. Default: any version." }),
        }),
      )
      .optional()
      .meta({ description: "Instrumentation scopes; one must match." }),
    span_names: optionalTexts().meta({ description: "Names of spans; one must match." }),
    span_kinds: optionalTexts().meta({ description: "Kinds of spans; one must match." }),
    log_bodies: optionalTexts().meta({ description: "Bodies of log records; one must match." }),
    log_severity_texts: optionalTexts().meta({ description: "Severity texts; one must match." }),
    log_severity_number: z
      .strictObject({
        min: z
          .union([
            z.string().refine((name) => SEVERITY_NUMBER_NAMES.includes(name.toLowerCase()), {
              message: "expected the name of a severity, such as INFO or WARN2, or its number",
            }),
            z.number().int(),
          ])
          .meta({ description: "The lowest severity that matches, such as INFO or 9." }),
        match_undefined: z.boolean().optional().meta({ description: "Records without a severity match too." }),
      })
      .optional()
      .meta({ description: "The severity number of log records." }),
    metric_names: optionalTexts().meta({ description: "Names of metrics; one must match." }),
  })
  .superRefine((config, context) => {
    if (!CRITERIA.some((key) => config[key] !== undefined && (!Array.isArray(config[key]) || config[key].length > 0)))
      context.addIssue({ code: "custom", path: [], message: `expected at least one of ${CRITERIA.join(", ")}` });
    if (config.match_type !== "regexp") {
      config.span_kinds?.forEach((kind, i) => {
        const message = `expected one of ${SPAN_KINDS.join(", ")}`;
        if (!SPAN_KINDS.includes(kind)) context.addIssue({ code: "custom", path: ["span_kinds", i], message });
      });
      return;
    }
    for (const [path, pattern] of patternsOf(config)) {
      try {
        compilePattern(pattern);
      } catch (error) {
        context.addIssue({
          code: "custom",
          path,
          message: `expected a pattern in RE2 syntax: ${(error as Error).message}`,
        });
      }
    }
  });

export type MatchConfig = z.infer<typeof matchSchema>;
/** Tells whether a record has the properties. */
type Matcher = (record: AnyRecordView) => boolean;

const SPAN_KINDS: readonly string[] = SPAN_KIND_SYMBOLS.slice(1);

/** The properties that a match may ask for. */
const CRITERIA = [
  "services",
  "resources",
  "attributes",
  "libraries",
  "span_names",
  "span_kinds",
  "log_bodies",
  "log_severity_texts",
  "log_severity_number",
  "metric_names",
] as const;

/** The properties that records of only one signal have. */
const CRITERIA_OF_SIGNAL = {
  traces: ["span_names", "span_kinds"],
  logs: ["log_bodies", "log_severity_texts", "log_severity_number"],
  metrics: ["metric_names"],
} as const;

/** Returns why no record of a signal can match `include` or `exclude`; undefined if some can. */
export function refusesMatches(
  { include, exclude }: { readonly include?: MatchConfig | undefined; readonly exclude?: MatchConfig | undefined },
  signal: Signal,
): string | undefined {
  for (const [owner, keys] of Object.entries(CRITERIA_OF_SIGNAL)) {
    if (owner === signal) continue;
    for (const [name, match] of Object.entries({ include, exclude })) {
      const found = keys.find((key) => match?.[key] !== undefined);
      if (found !== undefined) return `${name}.${found} is only for ${owner}`;
    }
  }
  return undefined;
}

const TEXT_LISTS = [
  "services",
  "span_names",
  "span_kinds",
  "log_bodies",
  "log_severity_texts",
  "metric_names",
] as const;

function patternsOf(config: Partial<MatchConfig>): [path: (string | number)[], pattern: string][] {
  const found: [(string | number)[], string][] = [];
  for (const key of TEXT_LISTS)
    for (const [i, pattern] of (config[key] ?? []).entries()) found.push([[key, i], pattern]);
  for (const key of ["resources", "attributes"] as const) {
    config[key]?.forEach(({ value }, i) => {
      if (typeof value === "string") found.push([[key, i, "value"], value]);
    });
  }
  config.libraries?.forEach(({ name, version }, i) => {
    found.push([["libraries", i, "name"], name]);
    if (version !== undefined) found.push([["libraries", i, "version"], version]);
  });
  return found;
}

/** Returns a function that is true for records that have all the properties. */
export function createMatcher(config: MatchConfig): Matcher {
  const isRegexp = config.match_type === "regexp";
  const oneOf = (
    list: readonly string[] | undefined,
    read: (record: AnyRecordView) => string | undefined,
  ): Matcher[] => {
    if (list === undefined || list.length === 0) return [];
    const tests = list.map((text) => textTest(text, isRegexp));
    return [
      (record) => {
        const text = read(record);
        return text !== undefined && tests.some((test) => test(text));
      },
    ];
  };
  const allOf = (list: MatchConfig["attributes"], read: (record: AnyRecordView) => Attributes): Matcher[] =>
    (list ?? []).map(({ key, value }) => {
      if (value === undefined) return (record) => read(record).has(key);
      const test = valueTest(value, isRegexp);
      return (record) => {
        const found = read(record).get(key);
        return found !== undefined && test(found);
      };
    });
  const tests: Matcher[] = [
    ...oneOf(config.services, (record) => textOrEmpty(record.resource.attributes.get("service.name"))),
    ...oneOf(config.span_names, (record) => (record.signal === "traces" ? record.name : undefined)),
    ...oneOf(config.span_kinds, (record) => (record.signal === "traces" ? SPAN_KIND_SYMBOLS[record.kind] : undefined)),
    ...oneOf(config.log_bodies, (record) => (record.signal === "logs" ? textOrEmpty(record.body) : undefined)),
    ...oneOf(config.log_severity_texts, (record) => (record.signal === "logs" ? record.severityText : undefined)),
    ...oneOf(config.metric_names, (record) => (record.signal === "metrics" ? record.name : undefined)),
    ...allOf(config.attributes, (record) => record.attributes),
    ...allOf(config.resources, (record) => record.resource.attributes),
    ...libraryTests(config.libraries, isRegexp),
    ...severityTests(config.log_severity_number),
  ];
  return (record) => tests.every((test) => test(record));
}

function libraryTests(libraries: MatchConfig["libraries"], isRegexp: boolean): Matcher[] {
  if (libraries === undefined || libraries.length === 0) return [];
  const tests = libraries.map(({ name, version }) => {
    const isName = textTest(name, isRegexp);
    const isVersion = version === undefined ? () => true : textTest(version, isRegexp);
    return (record: AnyRecordView) => isName(record.scope.name) && isVersion(record.scope.version);
  });
  return [(record) => tests.some((test) => test(record))];
}

function severityTests(wantedSeverity: MatchConfig["log_severity_number"]): Matcher[] {
  if (wantedSeverity === undefined) return [];
  const { min, match_undefined: matchUndefined = false } = wantedSeverity;
  const minSeverity = typeof min === "number" ? min : SEVERITY_NUMBER_NAMES.indexOf(min.toLowerCase());
  return [
    (record) => {
      if (record.signal !== "logs") return false;
      return record.severityNumber === 0 ? matchUndefined : record.severityNumber >= minSeverity;
    },
  ];
}

function textTest(expectedText: string, isRegexp: boolean): (found: string) => boolean {
  if (!isRegexp) return (found) => found === expectedText;
  const pattern = compilePattern(expectedText);
  return (found) => pattern.test(found);
}

function valueTest(value: string | number | boolean, isRegexp: boolean): (found: Value) => boolean {
  if (typeof value !== "string") return (found) => found === value;
  const test = textTest(value, isRegexp);
  return isRegexp ? (found) => test(textOrEmpty(found)) : (found) => found === value;
}

function textOrEmpty(value: Value | undefined): string {
  return value === undefined || value === null ? "" : valueText(value);
}

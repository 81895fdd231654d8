import { z } from "zod";
import { SEVERITY_NUMBER_NAMES, SPAN_KIND_SYMBOLS } from "#otlp/signals";
import { compilePattern } from "#text/patterns";

/**
 * `include` and `exclude` with a match_type are the Collector's older way to configure what is dropped. They are read
 * and checked as the Collector does it. All kinds of criteria must match; within a list of names, one match is enough.
 */

const attribute = z.strictObject({
  key: z.string().min(1, "expected the key of an attribute").meta({ description: "The attribute that must exist." }),
  value: z
    .union([z.string(), z.number(), z.boolean(), z.array(z.unknown()), z.record(z.string(), z.unknown())])
    .nullish()
    .meta({ description: "The value that it must have. Default: any value." }),
});
const attributes = () => z.array(attribute).nullish();
const texts = () => z.array(z.string()).nullish();
const matchType = (description: string) => z.string().nullish().meta({ description });
const textMatchType = () =>
  matchType("strict: equal; regexp: patterns in RE2 syntax. Required if names or values are given.");
const regexp = z.unknown().optional().meta({ ignored: "patterns are compiled once and need no cache" });
const resource_attributes = attributes().meta({ description: "Attributes of the resource; all must match." });

export const logProperties = z.strictObject({
  match_type: textMatchType(),
  resource_attributes,
  record_attributes: attributes().meta({ description: "Attributes of the record; all must match." }),
  severity_texts: texts().meta({ description: "Severity texts; one must match." }),
  severity_number: z
    .strictObject({
      min: z
        .union([z.string(), z.int()])
        .nullish()
        .refine((min) => severityNumber(min) !== -1, {
          error: ({ input }) => `there is no severity ${input}; there are TRACE to FATAL4, or 1 to 24`,
        })
        .meta({ description: "The lowest severity that matches, such as INFO or WARN2, or its number." }),
      match_undefined: z.boolean().default(false).meta({ description: "Records without a severity match too." }),
    })
    .nullish()
    .meta({ description: "The severity number of records." }),
  bodies: texts().meta({ description: "Bodies; one must match." }),
});

export const metricProperties = z.strictObject({
  match_type: matchType(
    "strict: equal; regexp: patterns in RE2 syntax; expr: by `expressions`. Required if names or values are given.",
  ),
  regexp,
  resource_attributes,
  metric_names: texts().meta({ description: "Names of metrics; one must match." }),
  expressions: texts().meta({
    description:
      'Expressions of expr-lang with MetricName, MetricType, HasLabel("name") and Label("name"): a metric matches if any of them is true for any of its points.',
  }),
});

export const spanProperties = z.strictObject({
  match_type: textMatchType(),
  regexp,
  services: texts().meta({ description: "Values of the resource's service.name; one must match." }),
  span_names: texts().meta({ description: "Names of spans; one must match." }),
  span_kinds: texts().meta({ description: "Kinds of spans; one must match." }),
  attributes: attributes().meta({ description: "Attributes of the span; all must match." }),
  resources: attributes().meta({ description: "Attributes of the resource; all must match." }),
  libraries: z
    .array(
      z.strictObject({
        name: z.string().nullish().meta({ description: "The name of the scope. Default: a scope without a name." }),
        version: z.string().nullish().meta({ description: "Its version. Default: any version." }),
      }),
    )
    .nullish()
    .meta({ description: "Instrumentation scopes; one must match." }),
});

/** The key of an attribute and the value it is compared with. */
export type LegacyAttribute = z.infer<typeof attribute>;
export type LegacyMetricProperties = z.infer<typeof metricProperties>;
/** The properties of all signals together. */
export type LegacyProperties = Partial<
  z.infer<typeof logProperties> & Omit<LegacyMetricProperties, "expressions"> & z.infer<typeof spanProperties>
>;

/** The span kinds that a strict match accepts. */
const SPAN_KINDS = SPAN_KIND_SYMBOLS.slice(1);
const NAMES = ["metric_names", "span_names", "services", "span_kinds", "severity_texts", "bodies"] as const;
const ATTRIBUTES = ["attributes", "record_attributes", "resources", "resource_attributes"] as const;

interface PropertyIssue {
  readonly message: string;
  readonly path: (string | number)[];
}

/** Checks properties whose types are already right, and returns every problem with its path. */
export function propertyIssues(properties: LegacyProperties): PropertyIssue[] {
  const { match_type, span_kinds } = properties;
  const texts = NAMES.flatMap((key) => (properties[key] ?? []).map((value, i) => ({ value, path: [key, i] })));
  const versions = (properties.libraries ?? []).flatMap(({ name, version }, i) => [
    { value: name ?? "", path: ["libraries", i, "name"] },
    ...(typeof version === "string" ? [{ value: version, path: ["libraries", i, "version"] }] : []),
  ]);
  const values = ATTRIBUTES.flatMap((key) =>
    (properties[key] ?? []).map(({ value }, i) => ({ value, path: [key, i, "value"] })),
  ).filter(({ value }) => value !== undefined && value !== null);
  if (match_type === "regexp")
    return [...texts, ...versions, ...values].flatMap(({ value, path }) => patternIssue(value, path));
  if (match_type !== "strict") {
    const compared = [...texts.filter(({ path }) => match_type !== "expr" || path[0] !== "metric_names"), ...versions];
    const found = match_type ? `, found "${match_type}"` : "";
    const message = `expected "strict" or "regexp"${found}`;
    return compared.length + values.length > 0 ? [{ message, path: ["match_type"] }] : [];
  }
  const unknown = span_kinds?.find((kind) => !SPAN_KINDS.includes(kind));
  const message = `there is no span kind ${unknown}; there are ${SPAN_KINDS.join(", ")}`;
  return unknown === undefined ? [] : [{ message, path: ["span_kinds"] }];
}

/** Whether the properties contain any criterion. */
export function hasCriteria(properties: LegacyProperties): boolean {
  return [...NAMES, ...ATTRIBUTES, "libraries" as const].some((key) => properties[key]?.length);
}

function patternIssue(pattern: unknown, path: (string | number)[]): PropertyIssue[] {
  if (typeof pattern !== "string") return [{ message: "expected a pattern, as match_type is regexp", path }];
  try {
    compilePattern(pattern);
    return [];
  } catch (error) {
    return [{ message: `expected a pattern in RE2 syntax: ${(error as Error).message}`, path }];
  }
}

/**
 * Returns the number of a severity written as INFO, info or 9. Returns undefined if `min` is empty, and -1 if it is not
 * a severity.
 */
export function severityNumber(min: string | number | null | undefined): number | undefined {
  if (min === undefined || min === null || min === "") return undefined;
  const wanted = String(min).toLowerCase();
  return SEVERITY_NUMBER_NAMES.findIndex(
    (name, number) => number > 0 && (wanted === name || wanted === String(number)),
  );
}

import { z } from "zod";
import { type Condition, compileMetricExpressions } from "../../runtime/kit.js";

/**
 * The older way to say what to drop: `include` and `exclude` with a match_type. It is translated into conditions, so
 * that there is one way in which things are dropped. All kinds of criteria must fit; of a list of names any one.
 */

const attribute = z.strictObject({
  key: z.string().meta({ description: "The attribute that must be there." }),
  value: z
    .union([z.string(), z.number(), z.boolean()])
    .nullish()
    .meta({ description: "The value that it must have; left out, any will do." }),
});
const attributes = () => z.array(attribute).nullish();
const texts = () => z.array(z.string()).nullish();
const matchType = z.enum(["strict", "regexp"], {
  error: 'expected "strict" or "regexp"; for expressions write OTTL conditions',
});
const metricMatchType = z.enum(["strict", "regexp", "expr"], { error: 'expected "strict", "regexp" or "expr"' });
const common = {
  match_type: matchType.default("strict").meta({ description: "strict: equal; regexp: patterns in RE2 syntax." }),
  regexp: z.unknown().optional().meta({ ignored: "patterns are compiled once and need no cache" }),
  resource_attributes: attributes().meta({ description: "By attributes of the resource, all of them." }),
};

export const logProperties = z.strictObject({
  ...common,
  record_attributes: attributes().meta({ description: "By attributes of the record, all of them." }),
  severity_texts: texts().meta({ description: "By the text of the severity, of which any will do." }),
  severity_number: z
    .strictObject({
      min: z
        .union([z.string(), z.int()])
        .nullish()
        .meta({ description: "The lowest that fits, such as INFO or WARN2, or its number." }),
      match_undefined: z.boolean().default(false).meta({ description: "Records without a severity fit too." }),
    })
    .nullish()
    .meta({ description: "By how severe a record is." }),
  bodies: texts().meta({ description: "By the body, of which any will do." }),
});

export const metricProperties = z.strictObject({
  ...common,
  match_type: metricMatchType.default("strict").meta({
    description: "strict: equal; regexp: patterns in RE2 syntax; expr: by `expressions`.",
  }),
  metric_names: texts().meta({ description: "By the name of the metric, of which any will do." }),
  expressions: texts().meta({
    description:
      'Expressions of expr-lang with MetricName, MetricType, HasLabel("name") and Label("name"): a metric fits if any is true for any of its points.',
  }),
});

export const spanProperties = z.strictObject({
  match_type: matchType.default("strict").meta({ description: "strict: equal; regexp: patterns in RE2 syntax." }),
  regexp: common.regexp,
  services: texts().meta({ description: "By service.name of the resource, of which any will do." }),
  span_names: texts().meta({ description: "By the name of the span, of which any will do." }),
  span_kinds: texts().meta({ description: "By the kind of the span, of which any will do." }),
  attributes: attributes().meta({ description: "By attributes of the span, all of them." }),
  resources: attributes().meta({ description: "By attributes of the resource, all of them." }),
  libraries: z
    .array(
      z.strictObject({
        name: z.string().meta({ description: "The name of the scope." }),
        version: z.string().nullish().meta({ description: "Its version; left out, any will do." }),
      }),
    )
    .nullish()
    .meta({ description: "By the instrumentation scope, of which any will do." }),
});

type Properties = Partial<
  z.infer<typeof logProperties> &
    Omit<z.infer<typeof metricProperties>, "match_type" | "expressions"> &
    z.infer<typeof spanProperties>
>;

/** The conditions under which `include` and `exclude` drop something. */
export function legacyConditions(
  include: Properties | null | undefined,
  exclude: Properties | null | undefined,
): string[] {
  const kept = include && conditionOf(include);
  const dropped = exclude && conditionOf(exclude);
  return [...(kept ? [`not (${kept})`] : []), ...(dropped ? [dropped] : [])];
}

type MetricProperties = z.infer<typeof metricProperties> | null | undefined;

/**
 * The same for metrics. Resources are looked at by themselves, as in the Collector: an excluded one goes with all its
 * metrics, whatever their names.
 */
export function legacyMetricConditions(include: MetricProperties, exclude: MetricProperties): string[] {
  return [ofResource, ofName].flatMap((part) => legacyConditions(include && part(include), exclude && part(exclude)));
}

/** What `expressions` say. Throws an `OttlSyntaxError` for one that is none. */
export function expressionConditions(include: MetricProperties, exclude: MetricProperties): Condition[] {
  return [include, exclude].flatMap((properties, i) =>
    properties?.match_type === "expr" && properties.expressions?.length
      ? [compileMetricExpressions(properties.expressions, i === 0)]
      : [],
  );
}

function ofResource({ match_type, resource_attributes }: NonNullable<MetricProperties>): Properties {
  return { match_type: match_type === "expr" ? "strict" : match_type, resource_attributes };
}

function ofName({ match_type, metric_names }: NonNullable<MetricProperties>): Properties {
  return match_type === "expr" ? {} : { match_type, metric_names };
}

/** Whether anything is said of what to keep or drop: without it, everything would be dropped, which nobody means. */
export function hasCriteria(properties: Properties): boolean {
  return conditionOf(properties) !== undefined;
}

/** Undefined when there is no criterion: then nothing is dropped. */
function conditionOf(properties: Properties): string | undefined {
  const regexp = properties.match_type === "regexp";
  const fits = (path: string, expected: string | number | boolean) =>
    regexp && typeof expected === "string"
      ? `IsMatch(${path}, ${ottlLiteral(expected)})`
      : `${path} == ${ottlLiteral(expected)}`;
  const anyOf = (path: string, names: readonly string[] | null | undefined) =>
    names?.length ? [`(${names.map((name) => fits(path, name)).join(" or ")})`] : [];
  const allOf = (path: string, list: Properties["attributes"]) =>
    (list ?? []).map(({ key, value }) => {
      const at = `${path}[${ottlLiteral(key)}]`;
      return value === null || value === undefined ? `${at} != nil` : fits(at, value);
    });
  const criteria = [
    ...anyOf("name", properties.metric_names ?? properties.span_names),
    ...anyOf('resource.attributes["service.name"]', properties.services),
    ...anyOf("kind.deprecated_string", properties.span_kinds),
    ...anyOf("severity_text", properties.severity_texts),
    ...anyOf("body.string", properties.bodies),
    ...severityCondition(properties.severity_number),
    ...allOf("attributes", properties.attributes ?? properties.record_attributes),
    ...allOf("resource.attributes", properties.resources ?? properties.resource_attributes),
    ...librariesCondition(properties.libraries, fits),
  ];
  return criteria.length === 0 ? undefined : criteria.join(" and ");
}

/** Without `min` every severity fits. */
function severityCondition(number: Properties["severity_number"]): string[] {
  if (!number) return [];
  const min = String(number.min ?? "").toUpperCase();
  const lowest = /^\d+$/.test(min) ? min : `SEVERITY_NUMBER_${min}`;
  const atLeast = min === "" ? "severity_number != 0" : `severity_number >= ${lowest}`;
  return [number.match_undefined ? `(severity_number == 0 or ${atLeast})` : atLeast];
}

/** The kinds that a strict match knows. */
export const SPAN_KINDS: readonly string[] = ["INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"].map(
  (kind) => `SPAN_KIND_${kind}`,
);

function librariesCondition(list: Properties["libraries"], fits: (path: string, expected: string) => string): string[] {
  if (!list?.length) return [];
  const each = list.map(({ name, version }) =>
    [fits("scope.name", name), ...(typeof version === "string" ? [fits("scope.version", version)] : [])].join(" and "),
  );
  return [`(${each.map((one) => `(${one})`).join(" or ")})`];
}

function ottlLiteral(value: string | number | boolean): string {
  return typeof value === "string" ? `"${value.replace(/["\\]/g, "\\$&")}"` : String(value);
}

import {
  type Condition,
  type ContextName,
  compileCondition,
  compileMetricExpressions,
  composed,
  type OttlValue,
  textFits,
  textIsOneOf,
  valueIs,
} from "#ottl";
import { compilePattern } from "#text";
import {
  type LegacyAttribute,
  type LegacyMetricProperties,
  type LegacyProperties,
  severityNumber,
} from "./legacy-properties.js";

/** `include` and `exclude` become conditions, so that there is one way in which things are dropped. */

/** The conditions under which they drop something. The properties have no issues. */
export function legacyConditions(
  context: ContextName,
  include: LegacyProperties | null | undefined,
  exclude: LegacyProperties | null | undefined,
): Condition[] {
  const kept = include ? criteriaOf(context, include) : [];
  const dropped = exclude ? criteriaOf(context, exclude) : [];
  return [
    ...(kept.length > 0 ? [composed("none", [composed("all", kept)])] : []),
    ...(dropped.length > 0 ? [composed("all", dropped)] : []),
  ];
}

type MetricProperties = LegacyMetricProperties | null | undefined;

/**
 * The same for metrics. Resources are looked at by themselves, as in the Collector: an excluded one goes with all its
 * metrics, whatever their names.
 */
export function legacyMetricConditions(include: MetricProperties, exclude: MetricProperties): Condition[] {
  return [ofResource, ofName].flatMap((part) =>
    legacyConditions("metric", include && part(include), exclude && part(exclude)),
  );
}

/** What `expressions` say. Throws an `OttlSyntaxError` for one that is none. */
export function expressionConditions(include: MetricProperties, exclude: MetricProperties): Condition[] {
  return [include, exclude].flatMap((properties, i) =>
    properties?.match_type === "expr" && properties.expressions?.length
      ? [compileMetricExpressions(properties.expressions, i === 0)]
      : [],
  );
}

function ofResource({ match_type, resource_attributes }: LegacyMetricProperties): LegacyProperties {
  return { match_type, resource_attributes };
}

function ofName({ match_type, metric_names }: LegacyMetricProperties): LegacyProperties {
  return match_type === "expr" ? {} : { match_type, metric_names };
}

/** All of them must hold. Without any, nothing is kept or dropped. */
function criteriaOf(context: ContextName, properties: LegacyProperties): Condition[] {
  const isRegexp = properties.match_type === "regexp";
  const anyOf = (path: string, names: readonly string[] | null | undefined) =>
    names?.length ? [fits(path, context, names, isRegexp)] : [];
  const allOf = (path: string, list: readonly LegacyAttribute[] | null | undefined) =>
    (list ?? []).map((one) => attributeCondition(path, context, one, isRegexp));
  const { services, libraries, severity_number } = properties;
  return [
    ...anyOf("name", properties.metric_names ?? properties.span_names),
    ...(services?.length ? [serviceCondition(context, services, isRegexp)] : []),
    ...anyOf("kind.deprecated_string", properties.span_kinds),
    ...anyOf("severity_text", properties.severity_texts),
    ...anyOf("body.string", properties.bodies),
    ...(severity_number ? [severityCondition(context, severity_number)] : []),
    ...allOf("attributes", properties.attributes ?? properties.record_attributes),
    ...allOf("resource.attributes", properties.resources ?? properties.resource_attributes),
    ...(libraries?.length ? [librariesCondition(context, libraries, isRegexp)] : []),
  ];
}

/** Is a text one of several, or does one of the patterns match it? */
function fits(path: string, context: ContextName, texts: readonly string[], isRegexp: boolean): Condition {
  return isRegexp ? textFits(path, context, patternTest(texts)) : textIsOneOf(path, context, texts);
}

function patternTest(expected: readonly string[]): (text: string) => boolean {
  const patterns = expected.map(compilePattern);
  return (text) => patterns.some((pattern) => pattern.test(text));
}

/** A pattern is matched with the text of what is written in one piece, not with lists, maps and bytes. */
function attributeCondition(
  attributes: string,
  context: ContextName,
  { key, value }: LegacyAttribute,
  isRegexp: boolean,
): Condition {
  if (value === null || value === undefined) return hasKey(attributes, context, key);
  const path = `${attributes}[${quoted(key)}]`;
  return isRegexp
    ? textFits(path, context, patternTest([String(value)]), { plain: true })
    : valueIs(path, context, ottlValueOf(value));
}

function hasKey(attributes: string, context: ContextName, key: string): Condition {
  return compileCondition(`ContainsValue(Keys(${attributes}), ${quoted(key)})`, context);
}

/** What the Collector takes for the name of the service of a resource that does not tell. */
const NO_SERVICE = "<nil-service-name>";

/** The name of a service is looked at as text, whatever it is. */
function serviceCondition(context: ContextName, names: readonly string[], isRegexp: boolean): Condition {
  const path = 'resource.attributes["service.name"]';
  const isThere = hasKey("resource.attributes", context, "service.name");
  const isFitting = isRegexp ? patternTest(names) : (text: string) => names.includes(text);
  return composed("any", [
    fits(path, context, names, isRegexp),
    ...(isFitting(NO_SERVICE) ? [composed("none", [isThere])] : []),
    ...(isFitting("") ? [composed("all", [isThere, valueIs(path, context, null)])] : []),
  ]);
}

/** Without `min` every severity fits. */
function severityCondition(
  context: ContextName,
  { min, match_undefined }: NonNullable<LegacyProperties["severity_number"]>,
): Condition {
  const lowest = severityNumber(min);
  const atLeast = lowest === undefined ? "severity_number != 0" : `severity_number >= ${lowest}`;
  return compileCondition(match_undefined ? `severity_number == 0 or ${atLeast}` : atLeast, context);
}

function librariesCondition(
  context: ContextName,
  libraries: NonNullable<LegacyProperties["libraries"]>,
  isRegexp: boolean,
): Condition {
  const each = libraries.map(({ name, version }) =>
    composed("all", [
      fits("scope.name", context, [name ?? ""], isRegexp),
      ...(typeof version === "string" ? [fits("scope.version", context, [version], isRegexp)] : []),
    ]),
  );
  return composed("any", each);
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** A whole number is an integer if it fits one. */
function ottlValueOf(value: unknown): OttlValue {
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(ottlValueOf);
  if (typeof value !== "object" || value === null) return (value ?? null) as OttlValue;
  return new Map(Object.entries(value).map(([key, item]) => [key, ottlValueOf(item)]));
}

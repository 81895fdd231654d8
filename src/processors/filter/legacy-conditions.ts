import {
  type Condition,
  type ContextName,
  compileCondition,
  compileMetricExpressions,
  composed,
  type OttlValue,
  textIsOneOf,
  textMatches,
  valueIs,
} from "#ottl";
import { compilePattern } from "#text/patterns";
import {
  type LegacyAttribute,
  type LegacyMetricProperties,
  type LegacyProperties,
  severityNumber,
} from "./legacy-properties.js";

/** Turns `include` and `exclude` into conditions, so that all dropping goes through the same code. */

/**
 * Returns the conditions under which `include` and `exclude` drop something. The properties must have been checked
 * before.
 */
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
 * Does the same for metrics. As in the Collector, resources are matched separately from names: an excluded resource is
 * dropped with all its metrics, whatever their names.
 */
export function legacyMetricConditions(include: MetricProperties, exclude: MetricProperties): Condition[] {
  return [resourceProperties, nameProperties].flatMap((part) =>
    legacyConditions("metric", include && part(include), exclude && part(exclude)),
  );
}

/** Compiles the `expressions` of both. Throws an `OttlSyntaxError` if one of them cannot be parsed. */
export function expressionConditions(include: MetricProperties, exclude: MetricProperties): Condition[] {
  return [include, exclude].flatMap((properties, i) =>
    properties?.match_type === "expr" && properties.expressions?.length
      ? [compileMetricExpressions(properties.expressions, i === 0)]
      : [],
  );
}

function resourceProperties({ match_type, resource_attributes }: LegacyMetricProperties): LegacyProperties {
  return { match_type, resource_attributes };
}

function nameProperties({ match_type, metric_names }: LegacyMetricProperties): LegacyProperties {
  return match_type === "expr" ? {} : { match_type, metric_names };
}

/** Returns criteria that must all hold. If there are none, the properties neither keep nor drop anything. */
function criteriaOf(context: ContextName, properties: LegacyProperties): Condition[] {
  const isRegexp = properties.match_type === "regexp";
  const anyOf = (path: string, names: readonly string[] | null | undefined) =>
    names?.length ? [textCondition(path, context, names, isRegexp)] : [];
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

/** Holds if the text equals one of `texts`, or if one of the patterns matches it. */
function textCondition(path: string, context: ContextName, texts: readonly string[], isRegexp: boolean): Condition {
  return isRegexp ? textMatches(path, context, patternTest(texts)) : textIsOneOf(path, context, texts);
}

function patternTest(expected: readonly string[]): (text: string) => boolean {
  const patterns = expected.map(compilePattern);
  return (text) => patterns.some((pattern) => pattern.test(text));
}

/** A pattern is matched against the text of strings, numbers and booleans, never against lists, maps or bytes. */
function attributeCondition(
  attributes: string,
  context: ContextName,
  { key, value }: LegacyAttribute,
  isRegexp: boolean,
): Condition {
  if (value === null || value === undefined) return hasKey(attributes, context, key);
  const path = `${attributes}[${quoted(key)}]`;
  return isRegexp
    ? textMatches(path, context, patternTest([String(value)]), { plain: true })
    : valueIs(path, context, ottlValueOf(value));
}

function hasKey(attributes: string, context: ContextName, key: string): Condition {
  return compileCondition(`ContainsValue(Keys(${attributes}), ${quoted(key)})`, context);
}

/** The service name that the Collector assumes for a resource without `service.name`. */
const NO_SERVICE = "<nil-service-name>";

/** Compares the service name as text, whatever the type of the attribute. */
function serviceCondition(context: ContextName, names: readonly string[], isRegexp: boolean): Condition {
  const path = 'resource.attributes["service.name"]';
  const isThere = hasKey("resource.attributes", context, "service.name");
  const isFitting = isRegexp ? patternTest(names) : (text: string) => names.includes(text);
  return composed("any", [
    textCondition(path, context, names, isRegexp),
    ...(isFitting(NO_SERVICE) ? [composed("none", [isThere])] : []),
    ...(isFitting("") ? [composed("all", [isThere, valueIs(path, context, null)])] : []),
  ]);
}

/** Without `min`, every severity matches. */
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
      textCondition("scope.name", context, [name ?? ""], isRegexp),
      ...(typeof version === "string" ? [textCondition("scope.version", context, [version], isRegexp)] : []),
    ]),
  );
  return composed("any", each);
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Returns a bigint for whole numbers that fit into 64 bits. */
function ottlValueOf(value: unknown): OttlValue {
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(ottlValueOf);
  if (typeof value !== "object" || value === null) return (value ?? null) as OttlValue;
  return new Map(Object.entries(value).map(([key, item]) => [key, ottlValueOf(item)]));
}

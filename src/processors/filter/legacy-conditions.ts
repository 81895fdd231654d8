import { type Condition, compileMetricExpressions, compilePattern } from "../../runtime/kit.js";
import {
  type LegacyAttribute,
  type LegacyMetricProperties,
  type LegacyProperties,
  severityNumber,
} from "./legacy-properties.js";

/**
 * `include` and `exclude` are translated into conditions, so that there is one way in which things are dropped. The
 * conditions know the paths of `plainPaths`.
 */

/** The conditions under which `include` and `exclude` drop something. */
export function legacyConditions(
  include: LegacyProperties | null | undefined,
  exclude: LegacyProperties | null | undefined,
): string[] {
  const kept = include && conditionOf(include);
  const dropped = exclude && conditionOf(exclude);
  return [...(kept ? [`not (${kept})`] : []), ...(dropped ? [dropped] : [])];
}

type MetricProperties = LegacyMetricProperties | null | undefined;

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

function ofResource({ match_type, resource_attributes }: LegacyMetricProperties): LegacyProperties {
  return { match_type, resource_attributes };
}

function ofName({ match_type, metric_names }: LegacyMetricProperties): LegacyProperties {
  return match_type === "expr" ? {} : { match_type, metric_names };
}

/** Whether anything is said of what to keep or drop: without it, everything would be dropped, which nobody means. */
export function hasCriteria(properties: LegacyProperties): boolean {
  return conditionOf(properties) !== undefined;
}

/** Whether a text fits what is expected, as a condition on its path. */
type Fits = (path: string, expected: string) => string;

const isEqual: Fits = (path, expected) => `${path} == ${ottlLiteral(expected)}`;
const isMatch: Fits = (path, pattern) => `IsMatch(${path}, ${ottlLiteral(pattern)})`;
const hasKey: Fits = (map, key) => `ContainsValue(Keys(${map}), ${ottlLiteral(key)})`;

/** Undefined when there is no criterion: then nothing is dropped. */
function conditionOf(properties: LegacyProperties): string | undefined {
  const isRegexp = properties.match_type === "regexp";
  const fits = isRegexp ? isMatch : isEqual;
  const anyOf = (path: string, names: readonly string[] | null | undefined, test = fits) =>
    names?.length ? [`(${names.map((name) => test(path, name)).join(" or ")})`] : [];
  const allOf = (path: string, list: readonly LegacyAttribute[] | null | undefined) =>
    (list ?? []).map((one) => attributeCondition(path, one, isRegexp));
  const criteria = [
    ...anyOf("name", properties.metric_names ?? properties.span_names),
    ...anyOf('resource.attributes["service.name"]', properties.services, isRegexp ? isServiceMatch : isServiceName),
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

/** A pattern is matched with the text of what is written in one piece, not with lists, maps and bytes. */
function attributeCondition(attributes: string, { key, value }: LegacyAttribute, isRegexp: boolean): string {
  if (value === null || value === undefined) return hasKey(attributes, key);
  const at = `${attributes}[${ottlLiteral(key)}]`;
  return isRegexp ? isMatch(`plain.${at}`, String(value)) : `${at} == ${ottlLiteral(value)}`;
}

/** What the Collector takes for the name of the service of a resource that does not tell. */
const NO_SERVICE = "<nil-service-name>";

const withoutService = `not ${hasKey("resource.attributes", "service.name")}`;

/** The name of a service is compared as text, whatever it is. */
function isServiceName(path: string, name: string): string {
  const tests = [isEqual(path, name)];
  if (name === NO_SERVICE) tests.push(withoutService);
  if (isTextOfOther(name)) tests.push(`String(${path}) == ${ottlLiteral(name)}`);
  if (name === "") tests.push(`(${path} == nil and ${hasKey("resource.attributes", "service.name")})`);
  return tests.join(" or ");
}

function isServiceMatch(path: string, pattern: string): string {
  const tests = [isMatch(path, pattern)];
  const fitsAtOnce = (text: string) => isPattern(pattern) && compilePattern(pattern).test(text);
  if (fitsAtOnce(NO_SERVICE)) tests.push(withoutService);
  if (fitsAtOnce("")) tests.push(`(${path} == nil and ${hasKey("resource.attributes", "service.name")})`);
  return tests.join(" or ");
}

/** Might it be the text of something else than a string? */
function isTextOfOther(text: string): boolean {
  try {
    return typeof JSON.parse(text) !== "string";
  } catch {
    return false;
  }
}

/** What is none is told by the condition that it stands in. */
function isPattern(text: string): boolean {
  try {
    compilePattern(text);
    return true;
  } catch {
    return false;
  }
}

/** Without `min` every severity fits. */
function severityCondition(number: LegacyProperties["severity_number"]): string[] {
  if (!number) return [];
  const min = severityNumber(number.min);
  const atLeast = min === undefined ? "severity_number != 0" : `severity_number >= ${min}`;
  return [number.match_undefined ? `(severity_number == 0 or ${atLeast})` : atLeast];
}

function librariesCondition(list: LegacyProperties["libraries"], fits: Fits): string[] {
  if (!list?.length) return [];
  const each = list.map(({ name, version }) =>
    [fits("scope.name", name ?? ""), ...(typeof version === "string" ? [fits("scope.version", version)] : [])].join(
      " and ",
    ),
  );
  return [`(${each.map((one) => `(${one})`).join(" or ")})`];
}

function ottlLiteral(value: unknown): string {
  if (typeof value === "string") return `"${value.replace(/["\\]/g, "\\$&")}"`;
  if (Array.isArray(value)) return `[${value.map(ottlLiteral).join(", ")}]`;
  if (typeof value === "number") return numberLiteral(value);
  if (typeof value !== "object" || value === null) return String(value ?? "nil");
  return `{${Object.entries(value)
    .map(([key, item]) => `${ottlLiteral(key)}: ${ottlLiteral(item)}`)
    .join(", ")}}`;
}

/** A whole number is an integer if it fits one; a double has a point. */
function numberLiteral(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return String(BigInt(value));
  const text = String(value);
  return text.includes(".") ? text : text.replace(/e|$/, ".0$&");
}

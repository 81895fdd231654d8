import type { Value } from "#otlp/bytes";
import { MAX_SEVERITY_NUMBER, SEVERITIES, SEVERITY_NUMBERS } from "#otlp/signals";
import type { AnyRecordView } from "#otlp/views";

/**
 * A pattern that matches records, in a small language for config and filters:
 *
 *     order.*                                      the event's, span's or metric's name; `*` stands for any text
 *     severity>=ERROR                              =, !=, <, <=, >, >= and TRACE, DEBUG, INFO, WARN, ERROR, FATAL or 1 to 24
 *     attributes.tenant=acme                       = or != and a text in which `*` stands for any text
 *     resource.service.name                        there is such an attribute
 *     severity>=WARN and attributes.tenant=acme    all of them
 *
 * Names and values are case-sensitive. A record without a severity, or without the attribute, matches no condition on
 * it except `!=`.
 */
export type RecordPattern = (record: AnyRecordView) => boolean;

/** Returns the pattern, or a sentence about why the text is not valid. */
export function parseRecordPattern(text: string): RecordPattern | { readonly problem: string } {
  const conditions = text.split(/\sand\s/i).map((part) => parseCondition(part.trim()));
  const problem = conditions.find((condition) => typeof condition !== "function");
  if (problem !== undefined) return problem;
  const all = conditions as RecordPattern[];
  return all.length === 1 ? all[0]! : (record) => all.every((condition) => condition(record));
}

/**
 * Returns a predicate for texts that match the glob: `*` stands for any text, everything else for itself. Takes linear
 * time.
 */
export function glob(text: string): (candidate: string) => boolean {
  const [first = "", ...rest] = text.split("*");
  const last = rest.pop();
  if (last === undefined) return (candidate) => candidate === text;
  return (candidate) => {
    if (candidate.length < first.length + last.length) return false;
    if (!candidate.startsWith(first) || !candidate.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      at = candidate.indexOf(part, at);
      if (at < 0) return false;
      at += part.length;
    }
    return at <= candidate.length - last.length;
  };
}

const CONDITION = /^([^\s=!<>]+)\s*(?:(!=|<=|>=|=|<|>)(.*))?$/s;

function parseCondition(text: string): RecordPattern | { readonly problem: string } {
  const [, subject, operator, written = ""] = CONDITION.exec(text) ?? [];
  const operand = written.trimStart();
  if (subject === undefined) return { problem: `${JSON.stringify(text)} is not a pattern; ${EXAMPLES}` };
  if (subject === "severity") return parseSeverity(operator, operand);
  const attribute = /^(attributes|resource)\.(.+)$/.exec(subject);
  if (attribute) return operator === undefined ? hasAttribute(attribute) : parseAttribute(attribute, operator, operand);
  if (operator === undefined) return namePattern(subject);
  return { problem: `cannot compare ${JSON.stringify(subject)}; ${EXAMPLES}` };
}

const EXAMPLES = "write a name such as order.*, severity>=ERROR, attributes.tenant=acme or resource.service.name=shop";

function namePattern(text: string): RecordPattern {
  const matches = glob(text);
  return (record) => matches(record.name);
}

function parseSeverity(operator: string | undefined, operand: string): RecordPattern | { readonly problem: string } {
  const range = severityRange(operand);
  if (operator === undefined || range === undefined) {
    return {
      problem: `expected severity>=ERROR, with one of ${SEVERITIES.join(", ").toUpperCase()} or a number from 1 to ${MAX_SEVERITY_NUMBER}`,
    };
  }
  const [from, to] = range;
  const holds: Record<string, (severity: number) => boolean> = {
    "=": (severity) => severity >= from && severity <= to,
    "!=": (severity) => severity < from || severity > to,
    ">=": (severity) => severity >= from,
    ">": (severity) => severity > to,
    "<=": (severity) => severity > 0 && severity <= to,
    "<": (severity) => severity > 0 && severity < from,
  };
  const test = holds[operator]!;
  return (record) => (record.signal === "logs" ? test(record.severityNumber) : operator === "!=");
}

/** Returns the range of severity numbers. ERROR is 17 to 20, as in OpenTelemetry; a number stands for itself. */
function severityRange(text: string): [from: number, to: number] | undefined {
  const severity = SEVERITIES.find((name) => name === text.toLowerCase());
  if (severity !== undefined) return [SEVERITY_NUMBERS[severity], SEVERITY_NUMBERS[severity] + 3];
  const number = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= MAX_SEVERITY_NUMBER ? [number, number] : undefined;
}

function hasAttribute([, owner = "", key = ""]: RegExpExecArray): RecordPattern {
  return (record) => attributeOf(record, owner, key) !== undefined;
}

function parseAttribute(
  [, owner = "", key = ""]: RegExpExecArray,
  operator: string,
  operand: string,
): RecordPattern | { readonly problem: string } {
  if (operator !== "=" && operator !== "!=")
    return { problem: `attributes are compared with = or !=, not ${operator}` };
  const matches = glob(operand);
  const wanted = operator === "=";
  return (record) => {
    const value = attributeOf(record, owner, key);
    return (value !== undefined && matches(valueText(value))) === wanted;
  };
}

function attributeOf(record: AnyRecordView, owner: string, key: string): Value | undefined {
  return owner === "resource" ? record.resource.attributes.get(key) : record.attributes.get(key);
}

function valueText(value: Value): string {
  if (typeof value !== "object" || value === null) return String(value ?? "");
  return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
}

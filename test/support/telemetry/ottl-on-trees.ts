import type { Tree, TreeValue } from "../../../src/runtime/otlp/json/tree.js";

/**
 * A second opinion on conditions: the rules of comparison once more, over the decoded tree of a log record, written
 * with nothing of the language's own code. A condition is data, and `written` is its text.
 */
export type Operand =
  | { readonly literal: string | bigint | number | boolean | null }
  | { readonly attribute: string }
  | { readonly resource: string }
  | { readonly field: "severity_number" | "severity_text" | "flags" | "event_name" | "time_unix_nano" | "body" };

export type ConditionTree =
  | { readonly compare: readonly [Operand, string, Operand] }
  | { readonly and: readonly ConditionTree[] }
  | { readonly or: readonly ConditionTree[] }
  | { readonly not: ConditionTree };

type Plain =
  | string
  | bigint
  | number
  | boolean
  | null
  | { readonly bytes: string }
  | Plain[]
  | { readonly entries: [string, Plain][] };

export function written(condition: ConditionTree): string {
  if ("compare" in condition) {
    const [left, operator, right] = condition.compare;
    return `${operandText(left)} ${operator} ${operandText(right)}`;
  }
  if ("and" in condition) return `(${condition.and.map(written).join(" and ")})`;
  if ("or" in condition) return `(${condition.or.map(written).join(" or ")})`;
  return `not (${written(condition.not)})`;
}

function operandText(operand: Operand): string {
  if ("attribute" in operand) return `attributes[${quoted(operand.attribute)}]`;
  if ("resource" in operand) return `resource.attributes[${quoted(operand.resource)}]`;
  if ("field" in operand) return operand.field;
  const { literal } = operand;
  if (literal === null) return "nil";
  if (typeof literal === "string") return quoted(literal);
  if (typeof literal === "number") return Number.isInteger(literal) ? literal.toFixed(1) : String(literal);
  return String(literal);
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

export function decide(condition: ConditionTree, record: Tree, resource: Tree): boolean {
  if ("and" in condition) return condition.and.every((part) => decide(part, record, resource));
  if ("or" in condition) return condition.or.some((part) => decide(part, record, resource));
  if ("not" in condition) return !decide(condition.not, record, resource);
  const [left, operator, right] = condition.compare;
  return related(resolve(left, record, resource), resolve(right, record, resource), operator);
}

function resolve(operand: Operand, record: Tree, resource: Tree): Plain {
  if ("literal" in operand) return operand.literal;
  if ("attribute" in operand) return attributeOf(record, operand.attribute);
  if ("resource" in operand) return attributeOf(resource, operand.resource);
  switch (operand.field) {
    case "severity_number":
      return BigInt((record["severityNumber"] as number | undefined) ?? 0);
    case "flags":
      return BigInt((record["flags"] as number | undefined) ?? 0);
    case "severity_text":
      return (record["severityText"] as string | undefined) ?? "";
    case "event_name":
      return (record["eventName"] as string | undefined) ?? "";
    case "time_unix_nano":
      return BigInt.asIntN(64, (record["timeUnixNano"] as bigint | undefined) ?? 0n);
    case "body":
      return anyValue(record["body"] as Tree | undefined);
  }
}

function attributeOf(owner: Tree, key: string): Plain {
  const found = ((owner["attributes"] ?? []) as Tree[]).find((attribute) => (attribute["key"] ?? "") === key);
  return anyValue(found?.["value"] as Tree | undefined);
}

function anyValue(tree: Tree | undefined): Plain {
  if (tree === undefined) return null;
  const [name, value] = (Object.entries(tree)[0] ?? ["", null]) as [string, TreeValue | null];
  switch (name) {
    case "arrayValue":
      return (((value as Tree)["values"] ?? []) as Tree[]).map(anyValue);
    case "kvlistValue": {
      const entries = new Map<string, Plain>();
      for (const item of ((value as Tree)["values"] ?? []) as Tree[]) {
        const key = (item["key"] as string | undefined) ?? "";
        if (!entries.has(key)) entries.set(key, anyValue(item["value"] as Tree | undefined));
      }
      return { entries: [...entries].sort(([a], [b]) => (a < b ? -1 : 1)) };
    }
    case "bytesValue":
      return { bytes: Buffer.from(value as Uint8Array).toString("hex") };
    default:
      return value as Plain;
  }
}

function related(left: Plain, right: Plain, operator: string): boolean {
  const [a, b] = [somethingOrNil(left), somethingOrNil(right)];
  const order = orderOf(a, b);
  switch (operator) {
    case "==":
      return order === "equal";
    case "!=":
      return order !== "equal";
    case "<":
      return order === "less";
    case "<=":
      return order === "less" || (order === "equal" && isOrdered(a));
    case ">":
      return order === "more";
    default:
      return order === "more" || (order === "equal" && isOrdered(a));
  }
}

/** Bytes without a byte compare as nil. */
function somethingOrNil(value: Plain): Plain {
  return typeof value === "object" && value !== null && "bytes" in value && value.bytes === "" ? null : value;
}

function isOrdered(value: Plain): boolean {
  return typeof value !== "object" || value === null || "bytes" in value;
}

function orderOf(a: Plain, b: Plain): "equal" | "less" | "more" | "none" {
  const isNumber = (value: Plain) => typeof value === "number" || typeof value === "bigint";
  if (isNumber(a) && isNumber(b)) {
    if (typeof a === typeof b) return ordered(a as number, b as number);
    return ordered(Number(a), Number(b));
  }
  if (typeof a === "string" && typeof b === "string") return ordered(Buffer.compare(Buffer.from(a), Buffer.from(b)), 0);
  if (typeof a === "boolean" && typeof b === "boolean") return ordered(Number(a), Number(b));
  if (a === null || b === null) return a === b ? "equal" : "none";
  if (typeof a === "object" && typeof b === "object") {
    if ("bytes" in a && "bytes" in b)
      return ordered(Buffer.compare(Buffer.from(a.bytes, "hex"), Buffer.from(b.bytes, "hex")), 0);
    return text(a) === text(b) && !text(a).includes("double NaN") ? "equal" : "none";
  }
  return "none";
}

function ordered(a: number, b: number): "equal" | "less" | "more" | "none" {
  return a === b ? "equal" : a < b ? "less" : a > b ? "more" : "none";
}

function text(value: Plain): string {
  return JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return `int ${part}`;
    return typeof part === "number" ? `double ${part}` : part;
  });
}

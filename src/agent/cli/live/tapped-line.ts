import type { TappedRecord } from "#contract/api";
import { painter, printable } from "#text";
import type { Output } from "../terminal.js";

type Json = { readonly [key: string]: unknown };

/** Longer strings of a record are cut for display, in characters. */
const MAX_LENGTH = 2000;

/**
 * One record on one line: its time, `label` if given, its content and its attributes. Values from outside are made
 * printable.
 */
export function tappedLine({ at, signal, record, resource }: TappedRecord, { colour }: Output, label = ""): string {
  const paint = painter(colour);
  const time = new Date(at).toTimeString().slice(0, 8);
  const parts = [
    DESCRIBE[signal]?.(record) ?? "",
    attributesText(attributesIn(record)),
    attributesText(resource["attributes"]),
  ];
  const [what, own, shared] = parts.map((text) => printable(text).slice(0, MAX_LENGTH));
  return [paint("dim", time), label, what, own, shared && paint("dim", shared)].filter(Boolean).join("  ");
}

const DESCRIBE: Readonly<Record<string, (record: Json) => string>> = {
  logs: ({ severityText, severityNumber, body, eventName }) =>
    [severityText ?? severityNumber, eventName, plainText(body as AnyJsonValue)].filter(Boolean).join(" "),
  traces: ({ name, startTimeUnixNano: start, endTimeUnixNano: end, status }) => {
    const isFailed = ["2", "STATUS_CODE_ERROR"].includes(String((status as Json | undefined)?.["code"]));
    return [name, durationText(start, end), isFailed && "ERROR"].filter(Boolean).join(" ");
  },
  metrics(record) {
    const point = pointIn(record);
    const value = point?.["asInt"] ?? point?.["asDouble"] ?? point?.["sum"] ?? point?.["count"];
    return [`${record["name"]} = ${value ?? "?"}`, record["unit"]].filter(Boolean).join(" ");
  },
};

function attributesIn(record: Json): unknown {
  return record["attributes"] ?? pointIn(record)?.["attributes"];
}

function pointIn(record: Json): Json | undefined {
  const data = Object.values(record).find((value) => Array.isArray((value as Json | null)?.["dataPoints"])) as
    | { readonly dataPoints: readonly Json[] }
    | undefined;
  return data?.dataPoints[0];
}

function durationText(start: unknown, end: unknown): string {
  if (start === undefined || end === undefined) return "";
  return `${(Number(BigInt(String(end)) - BigInt(String(start))) / 1e6).toFixed(1)}ms`;
}

/** A value of OTLP/JSON, such as `{"stringValue": "a"}`. */
export type AnyJsonValue = { readonly [key: string]: unknown } | null | undefined;

/** An OTLP/JSON value for display: strings without quotes, maps and lists as JSON. */
export function plainText(value: AnyJsonValue): string {
  const plain = plainValue(value);
  return typeof plain === "string" ? plain : plain === undefined ? "" : JSON.stringify(plain);
}

/** `{a=1 b=two}`; an empty string when there are no attributes. */
function attributesText(attributes: unknown): string {
  if (!Array.isArray(attributes) || attributes.length === 0) return "";
  const pairs = attributes as readonly { readonly key?: string; readonly value?: AnyJsonValue }[];
  return `{${pairs.map(({ key = "", value }) => `${key}=${plainText(value)}`).join(" ")}}`;
}

function plainValue(value: AnyJsonValue): unknown {
  if (value === null || value === undefined) return undefined;
  const [kind, inner] = Object.entries(value)[0] ?? [];
  if (kind === "arrayValue") return valuesIn(inner).map((each) => plainValue(each as AnyJsonValue));
  if (kind === "kvlistValue") {
    const pairs = valuesIn(inner) as readonly { readonly key?: string; readonly value?: AnyJsonValue }[];
    return Object.fromEntries(pairs.map(({ key = "", value: each }) => [key, plainValue(each)]));
  }
  return kind === "intValue" ? Number(inner) : inner;
}

function valuesIn(list: unknown): readonly unknown[] {
  return ((list as { readonly values?: readonly unknown[] } | undefined)?.values ?? []) as readonly unknown[];
}

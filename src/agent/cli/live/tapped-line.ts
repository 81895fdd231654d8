import type { TappedRecord } from "#contract/api";
import { painter, printable } from "#text";
import type { Output } from "../terminal.js";
import { type AnyJsonValue, attributesText, plainText } from "./plain-values.js";

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

import type { TreeValue } from "#otlp/bytes";
import { SEVERITIES, type Severity, SPAN_KINDS } from "#otlp/signals";
import type { Paint, Style } from "#text";
import type { Batch, Tree } from "../../plugin.js";
import { attributesPart, joinParts, MAX_VALUE_LENGTH, timePart } from "./line-parts.js";
import { pointLines } from "./normal-metrics.js";
import { resourceGroups, serviceName } from "./records.js";
import { elapsedText, hex, isTree, messages, plainText } from "./values.js";

const MAX_BODY_LENGTH = 1000;

/** Returns one line for each log record, span or data point. Each line is complete, so that it can be searched. */
export function* normalLines(batch: Batch, paint: Paint): Iterable<string> {
  for (const resource of resourceGroups(batch)) {
    const service = paint("cyan", serviceName(resource));
    for (const { items } of resource.scopes) {
      for (const item of items) yield* linesOf(batch, item, service, paint);
    }
  }
}

function linesOf(batch: Batch, item: Tree, service: string, paint: Paint): Iterable<string> {
  if (batch.signal === "logs") return [logLine(item, service, paint)];
  if (batch.signal === "traces") return [spanLine(item, service, paint)];
  return pointLines(item, service, paint);
}

function labelled(label: string, text: string, paint: Paint): string {
  return text === "" ? "" : paint("dim", `${label}=${text}`);
}

function logLine(log: Tree, service: string, paint: Paint): string {
  const body = log["body"] === undefined ? paint("dim", "(no body)") : plainText(log["body"], MAX_BODY_LENGTH);
  const event =
    typeof log["eventName"] === "string" ? plainText({ stringValue: log["eventName"] }, MAX_VALUE_LENGTH) : "";
  return joinParts(
    timePart(log["timeUnixNano"] || log["observedTimeUnixNano"], paint),
    severityPart(log, paint),
    service,
    event && paint("magenta", event),
    body,
    attributesPart(log["attributes"], paint),
    labelled("trace", hex(log["traceId"]), paint),
    labelled("span", hex(log["spanId"]), paint),
  );
}

const SEVERITY_STYLES: Readonly<Record<Severity, Style>> = {
  trace: "dim",
  debug: "blue",
  info: "green",
  warn: "yellow",
  error: "red",
  fatal: "red",
};

/** Returns the sender's severity text, or else the name of the severity number, or else a dash. */
function severityPart(log: Tree, paint: Paint): string {
  const number = Number(log["severityNumber"] ?? 0);
  const severity = SEVERITIES[Math.ceil(number / 4) - 1];
  const written = typeof log["severityText"] === "string" ? plainText({ stringValue: log["severityText"] }, 20) : "";
  const text = written || (severity?.toUpperCase() ?? "-");
  return paint(severity === undefined ? "dim" : SEVERITY_STYLES[severity], text.padEnd(5));
}

function spanLine(span: Tree, service: string, paint: Paint): string {
  const name = plainText({ stringValue: String(span["name"] ?? "") }, MAX_VALUE_LENGTH);
  return joinParts(
    timePart(span["startTimeUnixNano"], paint),
    statusPart(span["status"], paint),
    service,
    paint("bold", name || "(no name)"),
    spanDuration(span),
    statusMessage(span["status"], paint),
    paint("dim", kindText(Number(span["kind"] ?? 0))),
    attributesPart(span["attributes"], paint),
    countPart("events", span["events"], paint),
    countPart("links", span["links"], paint),
    labelled("trace", hex(span["traceId"]), paint),
    labelled("span", hex(span["spanId"]), paint),
    labelled("parent", hex(span["parentSpanId"]), paint),
  );
}

function kindText(kind: number): string {
  return kind === 0 ? "" : (SPAN_KINDS[kind] ?? "");
}

function spanDuration(span: Tree): string {
  const { startTimeUnixNano: start, endTimeUnixNano: end } = span;
  if (typeof end !== "bigint" || end === 0n) return "(not ended)";
  return elapsedText(end - (typeof start === "bigint" ? start : 0n));
}

function statusPart(status: TreeValue | undefined, paint: Paint): string {
  const code = isTree(status) ? status["code"] : 0;
  if (code === 2) return paint("red", "ERROR");
  return code === 1 ? paint("green", "OK   ") : paint("dim", "-    ");
}

function statusMessage(status: TreeValue | undefined, paint: Paint): string {
  const message = isTree(status) ? status["message"] : undefined;
  return typeof message === "string" ? paint("red", plainText({ stringValue: message }, MAX_VALUE_LENGTH)) : "";
}

function countPart(noun: string, list: TreeValue | undefined, paint: Paint): string {
  const count = messages(list).length;
  return count === 0 ? "" : labelled(noun, String(count), paint);
}

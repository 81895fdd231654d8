import { bodyEnd, decodeMessage, MESSAGES, message, nextBody } from "#otlp/bytes";
import { SPAN_KIND_SYMBOLS, STATUS_CODES } from "#otlp/signals";
import { SPAN_EVENT_NAME_TAG, SPAN_EVENTS_TAG } from "#otlp/tags";
import { walkOwnedRecords } from "#otlp/views";
import type { Batch, Tree } from "../../../plugin.js";
import type { ExceptionDimension } from "./config.js";

/** An exception that a span has recorded as an event. */
export interface SpanException {
  readonly span: Tree;
  readonly event: Tree;
  /** The scope of the span. It is the same object for all exceptions of one scope. */
  readonly scope: ExceptionScope;
  /** `service.name`, `span.name`, `span.kind` and `status.code`. */
  readonly own: readonly KeyValue[];
  /** The values of the dimensions, undefined where one is missing. */
  readonly dimensions: readonly (Tree | undefined)[];
}

/** A scope as the batch has it; undefined if it is missing there. */
export interface ExceptionScope {
  readonly tree: Tree | undefined;
}

/** A KeyValue as a tree. */
export type KeyValue = { readonly key: string; readonly value: Tree };

const NAME = Buffer.from("exception");
const SPAN = MESSAGES["Span"]!;
const RESOURCE = MESSAGES["Resource"]!;
const SCOPE = MESSAGES["Scope"]!;

/**
 * Returns the events with the name `exception`, in order. Spans without one are not decoded. Resources without a
 * `service.name` are skipped, as in the Collector.
 */
export function findExceptions(batch: Batch, wanted: readonly ExceptionDimension[]): SpanException[] {
  const b = batch.bytes;
  const found: SpanException[] = [];
  if (!Buffer.from(b.buffer, b.byteOffset, b.length).includes(NAME)) return found;
  let place = { resourceStart: 0, resourceEnd: 0, scopeStart: 0, scopeEnd: 0 };
  let resource: readonly KeyValue[] | undefined;
  let scope: ExceptionScope | undefined;
  walkOwnedRecords(b, {
    resource(resourceStart, resourceEnd) {
      place = { ...place, resourceStart, resourceEnd };
      resource = undefined;
    },
    scope(scopeStart, scopeEnd) {
      place = { ...place, scopeStart, scopeEnd };
      scope = undefined;
    },
    record(start, end) {
      if (!hasException(b, start, end)) return;
      const { resourceStart, resourceEnd, scopeStart, scopeEnd } = place;
      resource ??= attributesOf(decodeMessage(RESOURCE, b, resourceStart, resourceEnd));
      const service = attributeValue(resource, "service.name");
      if (service === undefined) return;
      scope ??= { tree: scopeEnd > scopeStart ? decodeMessage(SCOPE, b, scopeStart, scopeEnd) : undefined };
      const span = decodeMessage(SPAN, b, start, end);
      const own = ownAttributes(service, span);
      for (const event of span["events"] as Tree[]) {
        if (event["name"] !== "exception") continue;
        const places = [attributesOf(span), attributesOf(event), resource];
        const dimensions = wanted.map((dimension) => dimensionOf(dimension, places));
        found.push({ span, event, scope, own, dimensions });
      }
    },
  });
  return found;
}

function hasException(b: Uint8Array, start: number, end: number): boolean {
  for (let p = start; (p = nextBody(b, p, end, SPAN_EVENTS_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    const [from, to] = message(b, body, p, SPAN_EVENT_NAME_TAG);
    if (to - from === NAME.length && NAME.compare(b, from, to) === 0) return true;
  }
  return false;
}

/** The attributes of a resource, span or event. */
export function attributesOf(tree: Tree): readonly KeyValue[] {
  return (tree["attributes"] ?? []) as unknown as readonly KeyValue[];
}

/** The value of an attribute; undefined if it is missing. */
export function attributeValue(attributes: readonly KeyValue[], name: string): Tree | undefined {
  for (const { key, value } of attributes) if (key === name) return value ?? {};
  return undefined;
}

function ownAttributes(service: Tree, span: Tree): KeyValue[] {
  const { name = "", kind = 0, status } = span as { name?: string; kind?: number; status?: { code?: number } };
  const code = STATUS_CODES[status?.code ?? 0];
  return [
    textAttribute("service.name", (service["stringValue"] ?? "") as string),
    textAttribute("span.name", name),
    textAttribute("span.kind", SPAN_KIND_SYMBOLS[kind] ?? ""),
    textAttribute("status.code", code === undefined ? "" : `STATUS_CODE_${code.toUpperCase()}`),
  ];
}

/** An attribute whose value is a text. */
export function textAttribute(key: string, text: string): KeyValue {
  return { key, value: { stringValue: text } };
}

function dimensionOf(
  { name, fallback }: ExceptionDimension,
  places: readonly (readonly KeyValue[])[],
): Tree | undefined {
  for (const attributes of places) {
    const value = attributeValue(attributes, name);
    if (value !== undefined) return value;
  }
  return fallback === undefined ? undefined : { stringValue: fallback };
}

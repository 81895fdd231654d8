import { jsonText, type PlainAttributes, plainValueText } from "#otlp/json";
import type { SplunkHecConfig } from "./config.js";

/** A resource or record may have a token of its own, which is not sent as a field. */
export const TOKEN_ATTRIBUTE = "com.splunk.hec.access_token";

/** An event as JSON, and the places of its records in the batch. */
export interface HecEvent {
  readonly text: string;
  readonly records: readonly number[];
}

/** Where Splunk puts an event. */
export interface HecMetadata {
  readonly host: string;
  readonly source: string;
  readonly sourcetype: string;
  readonly index: string;
}

/** The metadata that events have without attributes. */
export function defaultMetadata({ source, sourcetype, index }: SplunkHecConfig): HecMetadata {
  return { host: "unknown", source, sourcetype, index };
}

/** Reads the metadata from attributes, and calls `field` for all others. */
export function readMetadata(
  attributes: PlainAttributes,
  before: HecMetadata,
  names: SplunkHecConfig["otel_attrs_to_hec_metadata"],
  field: (key: string, value: unknown) => void,
): HecMetadata {
  const found = { ...before };
  for (const key in attributes) {
    const value = attributes[key];
    if (key === names.host) found.host = plainValueText(value);
    else if (key === names.source) found.source = plainValueText(value);
    else if (key === names.sourcetype) found.sourcetype = plainValueText(value);
    else if (key === names.index) found.index = plainValueText(value);
    else if (key !== TOKEN_ATTRIBUTE) field(key, value);
  }
  return found;
}

/** Writes an event. `event` is JSON, and `fields` is the JSON of an object. */
export function eventText(seconds: number, metadata: HecMetadata, event: string, fields: string): string {
  const { host, source, sourcetype, index } = metadata;
  const text = (key: string, value: string) => (value === "" ? "" : `,"${key}":${JSON.stringify(value)}`);
  const time = seconds > 0 ? `,"time":${seconds}` : "";
  const places = `${text("source", source)}${text("sourcetype", sourcetype)}${text("index", index)}`;
  return `{"event":${event},"host":${JSON.stringify(host)}${places}${time}${fields === "{}" ? "" : `,"fields":${fields}`}}`;
}

/**
 * Adds a field of an event, as the Collector does: maps become fields with a dot between the keys, and lists with maps or
 * lists in them become text.
 */
export function addField(fields: Record<string, unknown>, key: string, value: unknown): void {
  if (Array.isArray(value)) setField(fields, key, value.some(isNested) ? jsonText(value) : value);
  else if (!isMap(value)) setField(fields, key, value);
  else for (const [inner, each] of Object.entries(value)) addField(fields, `${key}.${inner}`, each);
}

/** Sets a field, also one with the name `__proto__`. */
export function setField(fields: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") fields[key] = value;
  else Object.defineProperty(fields, key, { value, writable: true, enumerable: true, configurable: true });
}

function isMap(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function isNested(value: unknown): boolean {
  return Array.isArray(value) || isMap(value);
}

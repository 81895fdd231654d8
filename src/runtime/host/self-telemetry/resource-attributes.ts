import { randomUUID } from "node:crypto";
import { StartError } from "#contract/errors";
import { packageVersion } from "#system";
import { isObject } from "#text/json";

export type ResourceAttributes = Record<string, string | number | boolean | string[]>;

const PATH = ["service", "telemetry", "resource"];

/**
 * The agent's resource attributes. `instanceId` is used unless the config has one; with null there is none. Accepts all forms of service.telemetry.resource: a map (null removes a default), or
 * `attributes: [{name, value}]` and `attributes_list: "a=b,c=d"` of newer configs.
 */
export function resourceAttributes(written: unknown, instanceId: string | null = randomUUID()): ResourceAttributes {
  const attributes: ResourceAttributes = {
    "service.name": "sluice",
    "service.version": packageVersion(),
    ...(instanceId !== null && { "service.instance.id": instanceId }),
  };
  for (const [key, value] of writtenEntries(written)) {
    if (value === null || value === undefined) delete attributes[key];
    else attributes[key] = attributeValue(value);
  }
  return attributes;
}

function writtenEntries(written: unknown): [string, unknown][] {
  if (written === undefined || written === null) return [];
  if (typeof written !== "object" || Array.isArray(written)) {
    throw new StartError("expected a map of resource attributes", PATH);
  }
  const { attributes, attributes_list: list } = written as Record<string, unknown>;
  if (Array.isArray(attributes) || typeof list === "string") {
    const fromText = typeof list === "string" ? list.split(",").map(splitPair) : [];
    return [...fromText, ...listEntries(attributes ?? [])];
  }
  return Object.entries(isObject(attributes) ? attributes : written);
}

function listEntries(list: unknown): [string, unknown][] {
  if (!Array.isArray(list)) throw new StartError("expected a list of {name, value}", [...PATH, "attributes"]);
  return list.map((item: unknown, index) => {
    const { name, value } = isObject(item) ? item : {};
    if (typeof name === "string") return [name, value];
    throw new StartError("expected {name, value}", [...PATH, "attributes", String(index)]);
  });
}

function splitPair(text: string): [string, unknown] {
  const at = text.indexOf("=");
  return at < 0 ? [text.trim(), ""] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function attributeValue(value: unknown): string | number | boolean | string[] {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return Array.isArray(value) ? value.map(String) : JSON.stringify(value);
}

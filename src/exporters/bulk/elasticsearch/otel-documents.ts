import type { PlainAttributes, TreeOwner } from "#otlp/json";
import type { Tree } from "../../../plugin.js";
import type { DocumentSource } from "../bulk-sender.js";
import { withoutRouting } from "./route.js";

/** Returns the fields that tell where a record comes from. */
export function ownerFields(owner: TreeOwner): DocumentSource {
  return {
    resource: {
      attributes: withoutRouting(owner.resource),
      dropped_attributes_count: owner.resourceDropped || undefined,
      schema_url: owner.resourceUrl || undefined,
    },
    scope: {
      name: owner.scopeName || undefined,
      version: owner.scopeVersion || undefined,
      attributes: withoutRouting(owner.scopeAttributes),
      dropped_attributes_count: owner.scope["droppedAttributesCount"] || undefined,
      schema_url: owner.scopeUrl || undefined,
    },
  };
}

/** The duration is 0 if a span ends before it begins. */
export function durationOf({ startTimeUnixNano: start, endTimeUnixNano: end }: Tree): bigint {
  const length = typeof start === "bigint" && typeof end === "bigint" ? end - start : 0n;
  return length < 0n ? 0n : length;
}

/** Capitalises kinds and codes as the Collector does. */
export function capitalised(name: string | undefined): string | undefined {
  return name === undefined ? undefined : name.charAt(0).toUpperCase() + name.slice(1);
}

export function isMap(value: unknown): value is PlainAttributes {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

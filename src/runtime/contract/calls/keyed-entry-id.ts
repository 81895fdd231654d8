import { createHash } from "node:crypto";

/**
 * Returns the id of an entry that its sender identifies by a key. It is the same each time the entry comes, in every
 * agent with such an exporter and pipeline. Stores count from 1, so none of them creates such an id.
 */
export function keyedEntryId(exporter: string, pipeline: string, key: string): string {
  const name = JSON.stringify([exporter, pipeline, key]);
  return `${createHash("sha256").update(name).digest("hex").slice(0, KEYED_TAG_LENGTH)}-0`;
}

export function isKeyedEntryId(id: string): boolean {
  return id.endsWith("-0");
}

const KEYED_TAG_LENGTH = 32;

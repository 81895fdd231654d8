import { createHash } from "node:crypto";
import type { Entry } from "#contract/operations";
import type { NewEntry } from "./store.js";

/** The entry that a store keeps for what it is given: fresh and pending, unless its fields say otherwise. */
export function createEntry(fresh: NewEntry, id: string, exporter: string): Entry {
  return {
    state: "pending",
    attempts: 0,
    calls: 0,
    history: [],
    cycles: [],
    replays: 0,
    ...fresh.fields,
    id,
    exporter,
    pipeline: fresh.pipeline,
    signal: fresh.batch.signal,
    items: fresh.batch.count,
    bytes: fresh.batch.byteLength,
    enqueuedAt: fresh.enqueuedAt,
    source: fresh.source,
    generation: fresh.generation,
  };
}

/** Names an entry for ever: `sequence` is never used twice under the same tag. */
export function entryId(tag: string, sequence: number): string {
  return `${tag}-${sequence}`;
}

/** The sequence number an id was made from; undefined when it is not one of ours. */
export function sequenceOfId(id: string): number | undefined {
  const digits = /-(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** A random tag: it begins the ids of a store's entries, so that no two stores give the same id. */
export function newIdTag(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The id of an entry whose sender knows it by a key: the same each time it comes, in every agent with such an exporter and
 * pipeline. Stores count from 1, so none of them gives such an id.
 */
export function keyedEntryId(exporter: string, pipeline: string, key: string): string {
  const name = JSON.stringify([exporter, pipeline, key]);
  return entryId(createHash("sha256").update(name).digest("hex").slice(0, KEYED_TAG_LENGTH), 0);
}

export function isKeyedEntryId(id: string): boolean {
  return id.endsWith("-0");
}

const KEYED_TAG_LENGTH = 32;

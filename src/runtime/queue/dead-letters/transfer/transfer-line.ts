import { createHash } from "node:crypto";
import type { Entry } from "#contract/operations";
import { Batch } from "#otlp";
import { batchToJson } from "#otlp/json";
import { SIGNALS } from "#otlp/signals";

/** A dead letter on its way from one store to another. */
export interface TransferredDeadLetter {
  readonly entry: Entry;
  readonly batch: Batch;
}

/** To be incremented when an older agent would misread the line. */
const VERSION = 1;

/**
 * Encodes a dead letter as one line of JSON: its entry, its payload (OTLP protobuf in base64) and a checksum over both.
 * Without the newline.
 */
export function writeTransferLine({ entry, batch }: TransferredDeadLetter): string {
  const payload = Buffer.from(batch.bytes).toString("base64");
  return JSON.stringify({ version: VERSION, entry, payload, checksum: checksumOf(entry, payload) });
}

/**
 * Encodes a dead letter for people, with the payload as masked OTLP/JSON. The line cannot be imported, because masked
 * records are not complete.
 */
export function writeMaskedLine({ entry: { metadata: _, ...entry }, batch }: TransferredDeadLetter): string {
  return `{"version":${VERSION},"masked":true,"entry":${JSON.stringify(entry)},"payload":${batchToJson(batch)}}`;
}

/** Parses and verifies a line, including its payload. Returns a sentence about the problem if it is not valid. */
export function readTransferLine(line: string): TransferredDeadLetter | { readonly problem: string } {
  const fields = parse(line);
  if (fields === undefined) return { problem: "this is not a line of JSON: it was cut or changed" };
  const { version, entry, payload, checksum, masked } = fields;
  if (typeof version !== "number") return { problem: "this is not an exported dead letter" };
  if (masked === true) return { problem: "its records are masked: to import it, export it with --reveal --why TEXT" };
  if (version > VERSION) return { problem: `version ${version} of the format is newer than this Sluice: update it` };
  if (typeof payload !== "string" || checksum !== checksumOf(entry, payload)) {
    return { problem: "the checksum is wrong: the line was cut or changed" };
  }
  if (!isDeadLetter(entry)) return { problem: "the entry is incomplete" };
  try {
    // These marks are only valid in the store they came from.
    const { goesAsItIs: _, arriving: __, ...own } = entry;
    return { entry: own, batch: Batch.admit(entry.signal, Buffer.from(payload, "base64")) };
  } catch (error) {
    return { problem: `the payload is not valid OTLP: ${(error as Error).message}` };
  }
}

function checksumOf(entry: unknown, payload: string): string {
  return createHash("sha256")
    .update(`${JSON.stringify(entry)}\n${payload}`)
    .digest("hex")
    .slice(0, 32);
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The checksum detects damage; this detects values that never were entries. */
function isDeadLetter(value: unknown): value is Entry {
  const entry = value as Partial<Entry> | null | undefined;
  return (
    typeof entry?.id === "string" &&
    /^[\w-]{1,128}$/.test(entry.id) &&
    typeof entry.exporter === "string" &&
    SIGNALS.some((signal) => signal === entry.signal) &&
    entry.state === "failed" &&
    typeof entry.failure?.at === "number" &&
    typeof entry.failure.reason === "string" &&
    typeof entry.failure.error?.class === "string" &&
    typeof entry.failure.error.message === "string" &&
    typeof entry.failure.signature === "string" &&
    [entry.failure.names, entry.failure.traceIds, entry.failure.schemaUrls].every(isStringArray) &&
    typeof entry.source?.receiver === "string" &&
    typeof entry.pipeline === "string" &&
    typeof entry.generation === "string" &&
    Array.isArray(entry.history) &&
    Array.isArray(entry.cycles) &&
    typeof entry.replays === "number" &&
    typeof entry.enqueuedAt === "number"
  );
}

function isStringArray(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

import { logs } from "../support/telemetry/batches.js";

const MARK = /chaos#(\d{9})/g;

/** An OTLP request of log records, each with its number in the body. */
export function encodeNumbers(numbers: readonly number[], padding = PADDING): Uint8Array {
  return logs(...numbers.map((number) => `${markOf(number)} ${padding}`)).bytes;
}

/** The number of a record as it stands in its body or name. */
export function markOf(number: number): string {
  return `chaos#${String(number).padStart(9, "0")}`;
}

/** The numbers of the records in a request, read from the bytes, whatever they were merged with or split into. */
export function decodeNumbers(body: Buffer): number[] {
  return [...body.toString("latin1").matchAll(MARK)].map((match) => Number(match[1]));
}

const PADDING = "a record of ordinary length, so that a batch is larger than one log block of the store".repeat(3);

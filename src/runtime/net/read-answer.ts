import type { IncomingMessage } from "node:http";

/** Reads a whole response. Rejects, and stops reading, when it is longer than `maxBytes` or breaks off. */
export async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
  }
  if (!response.complete) throw new Error("the answer was cut off");
  return Buffer.concat(chunks);
}

/**
 * Parses a response as JSON. Throws when it has more than `max` objects and lists: an empty one takes two bytes in the
 * text and about thirty times as many in memory. Brackets in strings count too.
 */
export function parseAnswer(bytes: Buffer, max = Number.POSITIVE_INFINITY): unknown {
  if (bytes.length > max && countOpenings(bytes) > max)
    throw new Error(`the answer has more than ${max} objects and lists`);
  return JSON.parse(bytes.toString("utf8"));
}

function countOpenings(bytes: Buffer): number {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if ((bytes[i]! & 0xdf) === 0x5b) count++; // [ and {
  return count;
}

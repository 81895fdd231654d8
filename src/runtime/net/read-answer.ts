import type { IncomingMessage } from "node:http";

/** All of an answer. Rejects, and reads no more of it, when it is longer than `maxBytes` or breaks off. */
export async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
  }
  if (!response.complete) throw new Error("the answer broke off");
  return Buffer.concat(chunks);
}

/**
 * An answer as JSON. Throws when it has more objects and lists than `max`: an empty one has two bytes there and some thirty times as many in
 * memory. Braces and brackets in texts count too.
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

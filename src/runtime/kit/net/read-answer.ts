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

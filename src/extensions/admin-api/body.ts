import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { splitLines } from "#text";
import { badRequest, HttpError } from "./http-error.js";

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_LINE_LENGTH = 64 * 1024 * 1024;

/** Reads and checks the JSON body of a request. An empty body counts as `{}`. */
export async function readBody<T>(
  request: IncomingMessage,
  schema: z.ZodType<T>,
  maxBytes = MAX_BODY_BYTES,
): Promise<T> {
  const text = await readText(request, maxBytes);
  const parsed = schema.safeParse(text.trim() === "" ? {} : parseJson(text));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.length > 0 ? `${path.join(".")}: ` : ""}${message}`,
  );
  throw badRequest(problems.join("; "));
}

async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf<Buffer>(request)) {
    size += chunk.length;
    if (size > maxBytes) throw new HttpError("too_large", `the body may have at most ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badRequest(`the body is not JSON: ${(error as Error).message}`);
  }
}

/** Returns the lines of a body of any length. */
export function readLines(request: IncomingMessage): AsyncIterable<string> {
  const tooLong = () => new HttpError("too_large", "a line is too long");
  return splitLines(chunksOf<string>(request.setEncoding("utf8")), MAX_LINE_LENGTH, tooLong);
}

/** Leaving the loop early keeps the connection open for the answer. */
function chunksOf<T>(request: IncomingMessage): AsyncIterable<T> {
  return request.iterator({ destroyOnReturn: false });
}

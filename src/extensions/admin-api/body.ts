import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { badRequest, HttpError } from "./http-error.js";

const MOST_BODY_BYTES = 1024 * 1024;
const MOST_LINE_LENGTH = 64 * 1024 * 1024;

/** The JSON of a request, checked; an empty body counts as `{}`. */
export async function readBody<T>(request: IncomingMessage, schema: z.ZodType<T>): Promise<T> {
  const text = await readText(request);
  const parsed = schema.safeParse(text.trim() === "" ? {} : parseJson(text));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.length > 0 ? `${path.join(".")}: ` : ""}${message}`,
  );
  throw badRequest(problems.join("; "));
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf<Buffer>(request)) {
    size += chunk.length;
    if (size > MOST_BODY_BYTES) throw new HttpError(413, "too_large", `the body may have ${MOST_BODY_BYTES} bytes`);
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

/** The lines of a body, however long it is; read no faster than they are taken. */
export async function* readLines(request: IncomingMessage): AsyncGenerator<string> {
  request.setEncoding("utf8");
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of chunksOf<string>(request)) {
    const [first = "", ...more] = chunk.split("\n");
    pieces.push(first);
    length += first.length;
    if (length > MOST_LINE_LENGTH) throw new HttpError(413, "too_large", "a line is too long");
    if (more.length === 0) continue;
    yield pieces.join("");
    yield* more.slice(0, -1);
    pieces = [more.at(-1)!];
    length = pieces[0]!.length;
  }
  if (length > 0) yield pieces.join("");
}

/** Leaving the loop early leaves the connection open for the answer. */
function chunksOf<T>(request: IncomingMessage): AsyncIterable<T> {
  return request.iterator({ destroyOnReturn: false });
}

import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import type { Clock } from "../../plugin.js";
import { MAX_ANSWER_BYTES, NoAnswerError } from "../../runtime/kit.js";

/** What came back. `body` is empty when it was too large, broke off or took too long: the status counts. */
export interface HttpResult {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type CreateRequest = (options: RequestOptions) => ClientRequest;

/** How long the body of an answer may take once its head is there. */
const BODY_TIMEOUT_MS = 10_000;

/**
 * Sends one request and resolves with its answer. Rejects with a `NoAnswerError` when none came, and at once when `abort`
 * fires before the head of the answer is there. Leaves no listener and no socket behind.
 */
export function sendHttpRequest(
  createRequest: CreateRequest,
  options: RequestOptions,
  chunks: readonly Uint8Array[],
  abort: AbortSignal,
  clock: Clock,
): Promise<HttpResult> {
  return new Promise((resolve, reject) => {
    const request = createRequest(options);
    const onAbort = () => request.destroy(new Error("aborted"));
    abort.addEventListener("abort", onAbort, { once: true });
    let answered = false;
    request.on("response", (response) => {
      answered = true;
      readBody(request, response, clock, (body) => {
        abort.removeEventListener("abort", onAbort);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    const fail = (error: NodeJS.ErrnoException) => {
      if (answered) return;
      abort.removeEventListener("abort", onAbort);
      reject(new NoAnswerError(error, request.reusedSocket && isDisconnect(error)));
    };
    request.on("error", fail);
    request.on("close", () => fail(new Error("the connection ended without an answer")));
    for (const chunk of chunks) request.write(chunk);
    request.end();
  });
}

function readBody(request: ClientRequest, response: IncomingMessage, clock: Clock, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let cancel = () => {};
  const finish = (body: Buffer) => {
    cancel();
    done(body);
  };
  const abandonBody = () => {
    request.destroy();
    finish(Buffer.alloc(0));
  };
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) abandonBody();
    else chunks.push(chunk);
  });
  response.on("end", () => finish(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
  response.on("error", () => finish(Buffer.alloc(0)));
  if (response.headers["content-length"] !== "0") cancel = clock.after(BODY_TIMEOUT_MS, abandonBody);
}

function isDisconnect(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNRESET" || error.code === "EPIPE";
}

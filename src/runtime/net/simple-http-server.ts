import type { IncomingMessage, ServerResponse } from "node:http";
import { maskText } from "#text";
import { type HttpServerPlace, type ListeningServer, startHttpServer } from "./http-server.js";

/** Response of a small server. `headers` are added to content type and length. */
export interface SimpleHttpResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Address of a small server, and its handler. */
interface SimpleHttpServerSettings extends HttpServerPlace {
  /** Called for GET and HEAD with the path, without its query. If it throws, the response is a 500. */
  readonly answer: (path: string, request: IncomingMessage) => SimpleHttpResponse | Promise<SimpleHttpResponse>;
  /** Whether other methods are answered like GET. Their bodies are not kept. */
  readonly takesAnyMethod?: boolean;
  /** Called first, if given: if it returns a response, that is sent instead. */
  readonly refuse?: ((request: IncomingMessage) => Promise<SimpleHttpResponse | undefined>) | undefined;
}

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * A server for pages read by people or probes: GET and HEAD only, unless told otherwise, with complete bodies. Slow clients are disconnected.
 * Rejects with a `StartError` when it cannot listen.
 */
export function startSimpleHttpServer(settings: SimpleHttpServerSettings): Promise<ListeningServer> {
  return startHttpServer({
    ...settings,
    timeouts: { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    cutsBadClients: true,
    listener: (request, response) => void respond(settings, request, response),
  });
}

async function respond(settings: SimpleHttpServerSettings, request: IncomingMessage, response: ServerResponse) {
  response.on("error", () => {});
  request.resume();
  const { status, type, body, headers } = await answerTo(settings, request);
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body), ...headers });
  response.end(request.method === "HEAD" ? undefined : body);
}

async function answerTo(settings: SimpleHttpServerSettings, request: IncomingMessage): Promise<SimpleHttpResponse> {
  const refusal = await settings.refuse?.(request);
  if (refusal !== undefined) return refusal;
  if (request.method !== "GET" && request.method !== "HEAD" && settings.takesAnyMethod !== true) {
    return { status: 405, type: "text/plain", body: "GET or HEAD only\n", headers: { allow: "GET, HEAD" } };
  }
  try {
    return await settings.answer((request.url ?? "/").split("?", 1)[0]!, request);
  } catch (error) {
    return { status: 500, type: "text/plain", body: `${maskText((error as Error).message)}\n` };
  }
}

import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AdminError, type AdminErrorCode, fromIsoTimes } from "#contract/operations";

export interface ApiRequest {
  readonly method: string;
  readonly json?: unknown;
  /** Lines sent as the request body as they come, each followed by a newline. */
  readonly lines?: AsyncIterable<string>;
  /** True when the response is not in our format: strings that look like times are not converted. */
  readonly isPlain?: boolean;
  /** The request fails when no response has begun by then. */
  readonly timeoutMs?: number;
}

/** TLS settings and the token that an agent's API may require. */
export interface ApiAccess {
  /** All in PEM: the CA to trust in place of the system's, and the client certificate with its key. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly token?: string;
}

/**
 * Sends a request to the admin API. An error response is thrown as an `AdminError`. Uses no proxy and follows no
 * redirect: this is for agents nearby.
 */
export async function sendRequest(url: URL, options: ApiRequest, access: ApiAccess): Promise<IncomingMessage> {
  const type = options.lines === undefined ? "application/json" : "application/x-ndjson";
  const headers = {
    ...(options.method === "POST" && { "content-type": type }),
    ...(access.token !== undefined && { authorization: `Bearer ${access.token}` }),
  };
  const { request: send } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  const request = send(url, { method: options.method, headers, ...access.tls });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on("response", resolve).on("error", (error) => reject(withOrigin(error, url)));
  });
  const onTimeout = () =>
    request.destroy(new AdminError("unavailable", `${url.origin} accepts the connection but does not answer`));
  if (options.timeoutMs !== undefined) request.setTimeout(options.timeoutMs, onTimeout);
  if (options.lines === undefined) request.end(options.json === undefined ? undefined : JSON.stringify(options.json));
  else pipeline(Readable.from(withNewlines(options.lines)), request).catch((error: Error) => request.destroy(error));
  const response = await answered;
  if (response.statusCode! >= 400) throw await errorFromResponse(response, url);
  return response;
}

export async function requestJson<T>(url: URL, options: ApiRequest, access: ApiAccess): Promise<T> {
  return JSON.parse(
    await textOf(await sendRequest(url, options, access)),
    options.isPlain ? undefined : fromIsoTimes,
  ) as T;
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) text += chunk;
  return text;
}

/** Adds the server's address to the message: "read ECONNRESET" alone does not say who hung up. */
function withOrigin(error: Error, url: URL): Error {
  if (!(error instanceof AdminError)) error.message = `${url.origin}: ${error.message}`;
  return error;
}

/** True when this side does not trust the server's certificate, or the server does not trust ours. */
export function isCertificateError(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return /CERT|ISSUER|ERR_TLS|ERR_SSL|SIGNATURE/.test(code);
}

/** True when nothing listens at the address. */
export function isUnreachable(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === "ECONNREFUSED" || code === "ENOENT" || code === "EHOSTUNREACH";
}

async function errorFromResponse(response: IncomingMessage, url: URL): Promise<AdminError> {
  const text = await textOf(response);
  const apiError = parse(text)?.error;
  if (typeof apiError?.message !== "string") {
    return new AdminError(
      "unavailable",
      `${url.origin} answered ${response.statusCode}: this is not the API of a Sluice agent`,
    );
  }
  const code =
    CODES.find((known) => known === apiError.code) ?? (response.statusCode! < 500 ? "bad_request" : "unavailable");
  return new AdminError(code, response.statusCode === 401 ? `${apiError.message}; ${TOKEN_ADVICE}` : apiError.message);
}

const TOKEN_ADVICE = "set SLUICE_ADMIN_TOKEN, or ask as the user that runs the agent, who can read its token file";

const CODES: readonly AdminErrorCode[] = ["not_found", "bad_request", "conflict", "unavailable"];

function parse(text: string): { error?: { code?: unknown; message?: unknown } } | undefined {
  try {
    return JSON.parse(text) as { error?: { code?: unknown; message?: unknown } };
  } catch {
    return undefined;
  }
}

async function* withNewlines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

/** One event of a stream of server-sent events. */
interface AgentEvent {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: the type of the data depends on the event
  readonly data: any;
}

/** Yields the events of a response until it ends. */
export async function* readEvents(response: IncomingMessage): AsyncGenerator<AgentEvent> {
  let rest = "";
  for await (const chunk of response.setEncoding("utf8") as AsyncIterable<string>) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = fieldOf(block, "event: ");
      const data = fieldOf(block, "data: ");
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}

/**
 * Splits at "
 * " only: data may contain other characters that a regular expression treats as line ends.
 */
function fieldOf(block: string, name: string): string | undefined {
  const line = block.split("\n").find((each) => each.startsWith(name));
  return line?.slice(name.length);
}

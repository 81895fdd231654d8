import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AdminError, type AdminErrorCode, fromIsoTimes } from "#contract/operations";

export interface ApiRequest {
  readonly method: string;
  readonly json?: unknown;
  /** Sent as they come, each with a newline. */
  readonly lines?: AsyncIterable<string>;
  /** What is answered is not ours: texts that look like times stay texts. */
  readonly isPlain?: boolean;
  /** Give up when nothing has been answered by then. */
  readonly timeoutMs?: number;
}

/** How an agent is reached beside its URL. */
export interface ApiAccess {
  /** PEM: whom to trust in place of the system's authorities, and the certificate to show. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly token?: string;
}

/** Asks the API; an error it answers with is thrown as the `AdminError` it was. No proxy, no redirect: this is for agents nearby. */
export async function sendRequest(url: URL, options: ApiRequest, access: ApiAccess): Promise<IncomingMessage> {
  const type = options.lines === undefined ? "application/json" : "application/x-ndjson";
  const headers = {
    ...(options.method === "POST" && { "content-type": type }),
    ...(access.token !== undefined && { authorization: `Bearer ${access.token}` }),
  };
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = send(url, { method: options.method, headers, ...access.tls });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on("response", resolve).on("error", (error) => reject(withOrigin(error, url)));
  });
  const onTimeout = () =>
    request.destroy(new AdminError("unavailable", `${url.origin} takes the connection but does not answer`));
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

/** "read ECONNRESET" alone does not say who hung up. */
function withOrigin(error: Error, url: URL): Error {
  if (!(error instanceof AdminError)) error.message = `${url.origin}: ${error.message}`;
  return error;
}

/** True when the certificate of whoever answers is not trusted, or this one is not trusted there. */
export function isDistrusted(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code);
  return /CERT|ISSUER|ERR_TLS|ERR_SSL|SIGNATURE/.test(code);
}

/** True when there is nobody to ask. */
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

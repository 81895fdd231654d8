import { reportLost } from "./connection.js";
import { readToken, signInWanted } from "./session.js";

/** An error response. `code` is the API's own, or `unreachable`. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request("GET", path, signal);
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const response = await request("POST", path, undefined, JSON.stringify(body));
  return (await response.json()) as T;
}

/** Sends a request with this tab's token. Rejects with an `ApiError` unless the response is a success. */
export async function request(method: string, path: string, signal?: AbortSignal, body?: string): Promise<Response> {
  const token = readToken();
  const headers: Record<string, string> = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const init: RequestInit = { method, headers, cache: "no-store", redirect: "error" };
  if (signal !== undefined) init.signal = signal;
  if (body !== undefined) init.body = body;
  const response = await fetch(`/api/v1${path}`, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    reportLost();
    throw new ApiError(0, "unreachable", "the agent cannot be reached");
  });
  if (response.ok) return response;
  const error = await readError(response);
  // Ignore a response that was aborted, because even its message may be missing, and one to a token that has been
  // replaced meanwhile.
  const counts = !signal?.aborted && token === readToken();
  if (response.status === 401 && counts) signInWanted.set(token === undefined ? "" : error.message);
  throw error;
}

async function readError(response: Response): Promise<ApiError> {
  const answer = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } };
  const { code = "internal", message = `the agent answered ${response.status}` } = answer.error ?? {};
  return new ApiError(response.status, code, message);
}

/** A query string of the parameters that have a value. */
export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}

/** Encodes one segment of a path: ids may contain slashes. */
export function segment(id: string): string {
  return encodeURIComponent(id);
}

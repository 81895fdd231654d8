import type { AuthHeaders, ClientAuthenticator, ClientAuthRequest, SendOptions } from "#contract";
import type { BuiltInContext } from "#contract/built-in";
import { isRefusal, Refusal, StartError } from "#contract/errors";
import { isHeader } from "../http1/request-writer.js";
import { refusalOfAbort } from "../otlp/refusals.js";

/**
 * The authenticator named in an exporter's `auth`; undefined when there is no `auth`. Throws a `StartError` when it
 * does not exist.
 */
export function clientAuthenticator(
  auth: { readonly authenticator: string } | null | undefined,
  { authenticators }: BuiltInContext,
): ClientAuthenticator | undefined {
  if (!auth) return undefined;
  if (authenticators === undefined) throw new StartError("there are no authenticators here", ["auth"]);
  return authenticators.client(auth.authenticator);
}

/**
 * One request of an exporter, as its authenticator sees it. The body is assembled only if the authenticator reads it.
 */
export class OutgoingRequest implements ClientAuthRequest {
  readonly method = "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly metadata?: NonNullable<ClientAuthRequest["metadata"]>;
  private readonly chunks: readonly Uint8Array[];

  constructor(
    url: URL,
    headers: Readonly<Record<string, string>>,
    chunks: readonly Uint8Array[],
    { metadata }: SendOptions = {},
  ) {
    this.url = url;
    this.headers = headers;
    this.chunks = chunks;
    if (metadata !== undefined) this.metadata = metadata;
  }

  get body(): Uint8Array {
    return this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
  }
}

/**
 * Sends with the authenticator's headers. If the server rejects the credentials, tells the authenticator, and sends
 * once more if that gives other headers. Rejects when `abort` fires, also while waiting for credentials.
 */
export async function sendAuthorized<Result>(
  authenticator: ClientAuthenticator,
  request: ClientAuthRequest,
  peer: string,
  abort: AbortSignal,
  send: (headers: AuthHeaders) => Promise<Result>,
): Promise<Result> {
  const headers = await authorize(authenticator, request, peer, abort);
  try {
    return await send(headers);
  } catch (error) {
    const refusal = withoutCredentials(error, headers);
    if (authenticator.refused === undefined || !isCredentialsError(error)) throw refusal;
    authenticator.refused(headers);
    const renewed = await authorize(authenticator, request, peer, abort);
    if (isSame(headers, renewed)) throw refusal;
    return send(renewed).catch((again: unknown) => Promise.reject(withoutCredentials(again, renewed)));
  }
}

/**
 * Throws a `StartError` when a gRPC exporter cannot use this authenticator: like other gRPC clients it sends
 * credentials only over TLS, or to this machine.
 */
export function checkGrpcAuth(
  { isConfidential, isHttpOnly }: ClientAuthenticator,
  { id, isSecure, host }: { id: string; isSecure: boolean; host: string | undefined },
): void {
  const path = ["auth", "authenticator"];
  if (isHttpOnly)
    throw new StartError(`"${id}" signs HTTP requests; use an exporter that sends over HTTP, such as otlp_http`, path);
  if (isSecure || !isConfidential || isLocalHost(host)) return;
  throw new StartError(`"${id}" gives credentials, which are not sent to ${host} without TLS`, path);
}

/** A Unix socket or a loopback address, which no other machine can intercept. */
export function isLocalHost(host: string | undefined): boolean {
  return host === undefined || host === "localhost" || host === "::1" || /^127\./.test(host);
}

function authorize(
  authenticator: ClientAuthenticator,
  request: ClientAuthRequest,
  peer: string,
  abort: AbortSignal,
): AuthHeaders | Promise<AuthHeaders> {
  const headers = authenticator.authorize(request);
  return headers instanceof Promise ? untilAborted(headers, peer, abort).then(checked) : checked(headers);
}

const CHECKED = new WeakSet<AuthHeaders>();

/**
 * Rejects invalid header values: HTTP/2 would pass on a line break, which a proxy could forward over HTTP/1. The error
 * does not show the value.
 */
function checked(headers: AuthHeaders): AuthHeaders {
  if (CHECKED.has(headers)) return headers;
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !isHeader(name, value))
      throw new Refusal("transient", `the authenticator gave a header ${JSON.stringify(name)} that cannot be sent`);
  }
  CHECKED.add(headers);
  return headers;
}

function untilAborted<T>(promise: Promise<T>, peer: string, abort: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(refusalOfAbort(peer, abort));
    if (abort.aborted) onAbort();
    abort.addEventListener("abort", onAbort);
    promise.then(resolve, reject).finally(() => abort.removeEventListener("abort", onAbort));
  });
}

const CREDENTIALS_STATUSES: ReadonlySet<string | undefined> = new Set([
  "HTTP 401",
  "HTTP 403",
  "UNAUTHENTICATED",
  "PERMISSION_DENIED",
]);

function isCredentialsError(error: unknown): boolean {
  return isRefusal(error) && CREDENTIALS_STATUSES.has(error.status);
}

const SECRET_NAME = /auth|token|key|secret|cookie|signature/i;
/** Shorter values may occur in a sentence by chance. */
const MIN_SECRET_LENGTH = 6;

/** Masks credentials in an error message: some servers repeat them in their response, which is stored and shown. */
export function withoutSecrets(message: string, headers: AuthHeaders): string {
  let text = message;
  for (const [name, value] of Object.entries(headers)) {
    const words = SECRET_NAME.test(name) && value !== undefined ? [value, ...value.split(" ")] : [];
    for (const word of words) if (word.length >= MIN_SECRET_LENGTH) text = text.replaceAll(word, "[REDACTED]");
  }
  return text;
}

function withoutCredentials(error: unknown, headers: AuthHeaders): unknown {
  if (!isRefusal(error)) return error;
  const message = withoutSecrets(error.message, headers);
  if (message === error.message) return error;
  const { kind, code, status, category, retryAfterMs, blame } = error;
  return new Refusal(kind, message, {
    code,
    ...(status !== undefined && { status }),
    ...(category !== undefined && { category }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(blame !== undefined && { blame }),
  });
}

function isSame(one: AuthHeaders, other: AuthHeaders): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

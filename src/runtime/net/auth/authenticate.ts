import type { IncomingMessage } from "node:http";
import {
  AUTH_PREFIX,
  AuthError,
  type AuthenticatedClient,
  isAuthError,
  type Origin,
  type ServerAuthenticator,
  type ServerAuthRequest,
} from "#contract";
import type { BuiltInContext } from "#contract/built-in";
import { StartError } from "#contract/errors";
import { GRPC_STATUS } from "../otlp/grpc-status.js";
import type { ErrorAnswer } from "../otlp/refusals.js";
import type { SimpleHttpResponse } from "../simple-http-server.js";
import { httpAuthRequest } from "./server-auth-request.js";

/** The authenticated client, or an error: it was rejected, or cannot be checked now. */
export type AuthOutcome = AuthenticatedClient | AuthError;

/**
 * The authenticator that an `auth` section names. Throws a `StartError` when there is none: no port may open without
 * its authenticator.
 */
export function serverAuthenticator(
  { authenticator }: { readonly authenticator: string },
  { authenticators }: BuiltInContext,
): ServerAuthenticator {
  if (authenticators === undefined) throw new StartError("there are no authenticators here", ["auth"]);
  return authenticators.server(authenticator);
}

/** Asks an authenticator. Neither throws nor rejects: an unexpected error means that the client is rejected. */
export function authenticate(
  authenticator: ServerAuthenticator,
  request: ServerAuthRequest,
): AuthOutcome | Promise<AuthOutcome> {
  try {
    const client = authenticator.authenticate(request);
    return client instanceof Promise ? client.catch(asAuthError) : client;
  } catch (error) {
    return asAuthError(error);
  }
}

function asAuthError(error: unknown): AuthError {
  if (isAuthError(error)) return error;
  return new AuthError("unavailable", "clients cannot be authenticated right now", { cause: error });
}

/**
 * OTLP response for a client that is rejected: 401 and UNAUTHENTICATED, which no client retries, or a retryable error.
 */
export function answerOfAuthError({ kind, message, retryAfterMs = RETRY_AFTER_MS }: AuthError): ErrorAnswer {
  if (kind === "unauthenticated") return { httpStatus: 401, code: GRPC_STATUS.UNAUTHENTICATED, message };
  return { httpStatus: 503, code: GRPC_STATUS.UNAVAILABLE, message, retryAfterMs };
}

const RETRY_AFTER_MS = 1000;

/** Facts about a client as metadata: `auth.subject`, `auth.tenant`, and its attributes prefixed with `auth.`. */
export function authMetadata(client: AuthenticatedClient): NonNullable<Origin["metadata"]> {
  let metadata = METADATA.get(client);
  if (metadata === undefined) METADATA.set(client, (metadata = createMetadata(client)));
  return metadata;
}

/** A recognised client is always the same object, so its metadata is created once. */
const METADATA = new WeakMap<AuthenticatedClient, NonNullable<Origin["metadata"]>>();

function createMetadata({ authenticator, subject, tenant, attributes }: AuthenticatedClient) {
  const metadata = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(attributes)) {
    metadata.set(`${AUTH_PREFIX}${name.toLowerCase()}`, typeof value === "string" ? [value] : value);
  }
  metadata.set(`${AUTH_PREFIX}authenticator`, [authenticator]).set(`${AUTH_PREFIX}subject`, [subject]);
  if (tenant !== undefined) metadata.set(`${AUTH_PREFIX}tenant`, [tenant]);
  return metadata;
}

/**
 * Returns the response for a client that the authenticator rejects: 401, or 503 with Retry-After; undefined for others.
 */
export function rejectUnauthenticated(
  authenticator: ServerAuthenticator,
): (request: IncomingMessage) => Promise<SimpleHttpResponse | undefined> {
  return async (request) => {
    const outcome = await authenticate(authenticator, httpAuthRequest(request));
    if (!isAuthError(outcome)) return undefined;
    const { httpStatus: status, message, retryAfterMs = 0 } = answerOfAuthError(outcome);
    const headers: Record<string, string> =
      outcome.kind === "unauthenticated"
        ? { "www-authenticate": authenticator.challenge }
        : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
    return { status, type: "text/plain", body: `${message}\n`, headers };
  };
}

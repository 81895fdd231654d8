import type { ComponentContext, Origin } from "#contract";
import {
  AUTH_PREFIX,
  AuthError,
  type AuthenticatedClient,
  isAuthError,
  type ServerAuthenticator,
  type ServerAuthRequest,
} from "#contract";
import { StartError } from "#contract/errors";
import { GRPC_STATUS } from "../otlp/grpc-status.js";
import type { ErrorAnswer } from "../otlp/refusals.js";

/** Who is not let in, or cannot be told now. */
export type AuthOutcome = AuthenticatedClient | AuthError;

/** The authenticator that an `auth` names. Throws a `StartError` when there is none: no port opens without its lock. */
export function serverAuthenticator(
  { authenticator }: { readonly authenticator: string },
  { authenticators }: ComponentContext,
): ServerAuthenticator {
  if (authenticators === undefined) throw new StartError("there are no authenticators here", ["auth"]);
  return authenticators.server(authenticator);
}

/** Asks an authenticator. Neither throws nor rejects: what it throws by mistake lets nobody in. */
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
  return new AuthError("unavailable", "clients cannot be authenticated at the moment", { cause: error });
}

/** What whoever is not let in is answered over OTLP: 401 and UNAUTHENTICATED, which no client sends again, or to come back. */
export function answerOfAuthError({ kind, message, retryAfterMs = RETRY_AFTER_MS }: AuthError): ErrorAnswer {
  if (kind === "unauthenticated") return { httpStatus: 401, code: GRPC_STATUS.UNAUTHENTICATED, message };
  return { httpStatus: 503, code: GRPC_STATUS.UNAVAILABLE, message, retryAfterMs };
}

const RETRY_AFTER_MS = 1000;

/** What is known of a client as metadata: `auth.subject`, `auth.tenant`, and `auth.` with the names of its attributes. */
export function authMetadata(client: AuthenticatedClient): NonNullable<Origin["metadata"]> {
  let metadata = METADATA.get(client);
  if (metadata === undefined) METADATA.set(client, (metadata = createMetadata(client)));
  return metadata;
}

/** Whoever is recognised is the same object, so this is made once for each. */
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

import type { IncomingMessage } from "node:http";
import { isAuthError, type ServerAuthenticator } from "#contract";
import type { SimpleHttpResponse } from "../simple-http-server.js";
import { answerOfAuthError, authenticate } from "./authenticate.js";
import { httpAuthRequest } from "./server-auth-request.js";

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

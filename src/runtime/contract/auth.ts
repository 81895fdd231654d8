import type { PeerCertificate } from "node:tls";
import type { Origin } from "./delivery.js";

/**
 * Authentication in both directions. An extension may authenticate clients to our servers (server side), authenticate
 * us to other servers (client side), or both. Receivers, exporters and extensions name it under
 * `auth: {authenticator: ID}`. A config that names an extension that cannot do this does not load.
 */

/** The side of a connection that an authenticator works for. */
export type AuthSide = "server" | "client";

/** Prefix of metadata names that only an authenticator may set. Client headers with this prefix are dropped. */
export const AUTH_PREFIX = "auth.";

/**
 * The client that sent a request, as determined by an authenticator. It contains no credentials, because it is stored
 * with the data.
 */
export interface AuthenticatedClient {
  /** The id of the extension that authenticated the client. */
  readonly authenticator: string;
  readonly subject: string;
  /** The tenant whose data the client sends, if the authenticator knows it. */
  readonly tenant?: string;
  /** Further properties of the client, such as the claims of its token. */
  readonly attributes: Readonly<Record<string, string | readonly string[]>>;
}

/** The parts of a request that an authenticator may use: its headers and its connection, never the body. */
export interface ServerAuthRequest {
  /**
   * Returns a header, or gRPC metadata, by its lower-case name. Throws an `AuthError` if there is more than one,
   * because it would be unclear which credentials count.
   */
  header(name: string): string | undefined;
  readonly remoteAddress: string | undefined;
  /** The same object for all requests of a connection. To be used only as a key for data remembered per connection. */
  readonly connection: object;
  /** The client's certificate, if TLS has verified one; the same object for all requests of a connection. */
  peerCertificate(): PeerCertificate | undefined;
}

/** Decides which client a request came from. */
export interface ServerAuthenticator {
  /** The value of WWW-Authenticate in the answer to unauthenticated clients. */
  readonly challenge: string;
  /**
   * Throws, or rejects with, an `AuthError` if the client is not authenticated; any other error counts as
   * `unavailable`. Credentials that were verified recently are answered without a promise.
   */
  authenticate(request: ServerAuthRequest): AuthenticatedClient | Promise<AuthenticatedClient>;
}

/** A request that is about to be sent. */
export interface ClientAuthRequest {
  readonly method: string;
  readonly url: URL;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /**
   * The stored metadata of the client that the data came from. It applies to all data of the request, because data with
   * different metadata is sent in separate requests.
   */
  readonly metadata?: Origin["metadata"];
}

/**
 * Headers, or gRPC metadata, by lower-case name. Each replaces an existing one of the same name; undefined removes it.
 */
export type AuthHeaders = Readonly<Record<string, string | undefined>>;

/** Authenticates us to a server. */
export interface ClientAuthenticator {
  /**
   * Returns the headers to send. An error refuses the attempt; a `Refusal` says for how long. The same object may be
   * returned repeatedly.
   */
  authorize(request: ClientAuthRequest): AuthHeaders | Promise<AuthHeaders>;
  /**
   * Called if the server rejected the headers of `authorize`. If `authorize` would still return them, they must be
   * discarded.
   */
  refused?(headers: AuthHeaders): void;
  /** Whether anybody who intercepts the headers could use them. */
  readonly isConfidential: boolean;
  /** Whether it only works for HTTP requests, because it signs them. Calls over gRPC cannot be signed. */
  readonly isHttpOnly?: boolean;
  /**
   * The client metadata that it reads, by lower-case name. This metadata is stored with queued data, and data that
   * differs in it is sent separately.
   */
  readonly metadataKeys?: readonly string[];
}

/** Looks up the authenticators that component configs name. */
export interface Authenticators {
  /** Throws a `StartError` if the extension is not an authenticator for servers, or has not started. */
  server(id: string): ServerAuthenticator;
  client(id: string): ClientAuthenticator;
}

/**
 * `unauthenticated`: a retry with the same credentials fails too. `unavailable`: cannot be decided now; retry later.
 */
type AuthErrorKind = "unauthenticated" | "unavailable";

const BRAND = Symbol.for("sluice.AuthError");

/**
 * The reason why a client is not authenticated. The message is sent to the client, so it must contain no credentials
 * and nothing that helps to guess them.
 */
export class AuthError extends Error {
  override readonly name = "AuthError";
  readonly [BRAND] = true;
  readonly kind: AuthErrorKind;
  readonly retryAfterMs: number | undefined;

  constructor(kind: AuthErrorKind, message: string, options: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Recognised by its brand, so that errors of another copy of the package are recognised too. */
export function isAuthError(error: unknown): error is AuthError {
  return typeof error === "object" && error !== null && (error as Record<symbol, unknown>)[BRAND] === true;
}

import type { PeerCertificate } from "node:tls";
import type { Origin } from "./delivery.js";

/**
 * Who may send, and who we are when we send. An extension may be an authenticator of servers (it looks at what a client
 * shows), of clients (it gives what we show), or both; receivers, exporters and extensions name it under
 * `auth: {authenticator: ID}`. A config that names one that cannot do it does not load.
 */

/** The side of a connection that an authenticator works for. */
export type AuthSide = "server" | "client";

/** Names of metadata that only an authenticator may give; a header that is called so is not kept. */
export const AUTH_PREFIX = "auth.";

/** Who a request came from, as an authenticator of ours found out. It holds no credentials: it is kept with the data. */
export interface AuthenticatedClient {
  /** The id of the extension that vouches for it. */
  readonly authenticator: string;
  readonly subject: string;
  /** Whose data it sends, where the authenticator knows. */
  readonly tenant?: string;
  /** What else is known of it, such as the claims of its token. */
  readonly attributes: Readonly<Record<string, string | readonly string[]>>;
}

/** What an authenticator may look at: the head of a request and its connection, never the body. */
export interface ServerAuthRequest {
  /**
   * A header, or gRPC metadata, by its lower-case name. Throws an `AuthError` when it came more than once: of two
   * credentials nobody knows which one counts.
   */
  header(name: string): string | undefined;
  readonly remoteAddress: string | undefined;
  /** The same for all requests of a connection; only for what is remembered beside it. */
  readonly connection: object;
  /** The client's certificate, if TLS has verified one; the same object for all requests of a connection. */
  peerCertificate(): PeerCertificate | undefined;
}

/** Decides who a request came from. */
export interface ServerAuthenticator {
  /** The value of WWW-Authenticate in the answer to those who are not let in. */
  readonly challenge: string;
  /**
   * Throws, or rejects with, an `AuthError` for whoever is not let in; anything else counts as `unavailable`. What was
   * verified a short while ago is answered without a promise.
   */
  authenticate(request: ServerAuthRequest): AuthenticatedClient | Promise<AuthenticatedClient>;
}

/** A request that is about to be sent. */
export interface ClientAuthRequest {
  readonly method: string;
  readonly url: URL;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** What was kept of the client that the data came from: of all of it, as requests are kept apart by it. */
  readonly metadata?: Origin["metadata"];
}

/** Headers, or gRPC metadata, by lower-case name: each is added, in place of what has the same name; undefined takes that away. */
export type AuthHeaders = Readonly<Record<string, string | undefined>>;

/** Says who we are to a server. */
export interface ClientAuthenticator {
  /** What it throws refuses the attempt: a `Refusal` says for how long. The same object may be given again and again. */
  authorize(request: ClientAuthRequest): AuthHeaders | Promise<AuthHeaders>;
  /** The server did not take what `authorize` gave: if that is still what it would give, it is to be forgotten. */
  refused?(headers: AuthHeaders): void;
  /** What it gives lets anybody in who reads it on the way. */
  readonly isConfidential: boolean;
  /** It signs HTTP requests, which calls over gRPC are not. */
  readonly isHttpOnly?: boolean;
  /** The client metadata that it reads, by lower-case name: that is kept with what waits, and keeps requests apart. */
  readonly metadataKeys?: readonly string[];
}

/** Where components find the authenticators that their configs name. */
export interface Authenticators {
  /** Throws a `StartError` when the extension is none, or has not started. */
  server(id: string): ServerAuthenticator;
  client(id: string): ClientAuthenticator;
}

/** `unauthenticated`: a retry with the same credentials fails too. `unavailable`: nobody can tell now; retry later. */
export type AuthErrorKind = "unauthenticated" | "unavailable";

const BRAND = Symbol.for("sluice.AuthError");

/** Why a client is not let in. The message goes to the client: it holds no credentials, and tells nothing to guess by. */
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

/** Told by its brand, so that one of another copy of the package counts too. */
export function isAuthError(error: unknown): error is AuthError {
  return typeof error === "object" && error !== null && (error as Record<symbol, unknown>)[BRAND] === true;
}

import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { userInfo } from "node:os";
import {
  AuthError,
  type AuthenticatedClient,
  isAuthError,
  type ServerAuthenticator,
  type ServerAuthRequest,
} from "#contract";
import { ADMIN_ROLES, type AdminRole } from "#contract/api";
import { glob } from "#contract/schema";
import { adminTokenHash, authenticate, CredentialGate, httpAuthRequest, serverAuthenticator } from "#net/auth";
import type { ComponentContext } from "../../plugin.js";
import type { AdminApiConfig } from "./config.js";
import { HttpError } from "./http-error.js";
import type { Actor } from "./operator.js";

interface AdminToken {
  /** Hash of the token. All hashes have the same length. */
  readonly hash: Buffer;
  readonly actor: Actor;
  readonly client: AuthenticatedClient;
}

/** Identifies callers by token or by the configured authenticator, and decides what they may do. */
export class AdminAccess {
  private readonly gate: CredentialGate;
  private readonly known: AdminToken[];
  private readonly authenticator: ServerAuthenticator | undefined;
  private readonly actorOf: (client: AuthenticatedClient) => Actor;
  private readonly id: string;

  constructor({ tokens = [], auth, grants = [] }: AdminApiConfig, context: ComponentContext) {
    this.id = context.id;
    this.gate = new CredentialGate(context);
    this.known = tokens.map(({ name, roles, hash, token }) =>
      this.knownToken(hash ?? adminTokenHash(token!), { name, roles: new Set(roles) }),
    );
    this.authenticator = auth && serverAuthenticator(auth, context);
    this.actorOf = granter(grants);
  }

  /** Accepts a token that allows everything. Its bearer is the user that runs the agent, who alone can read it. */
  addOwner(token: string): void {
    const owner: Actor = { name: ownerName(), roles: new Set(ADMIN_ROLES), isOwner: true };
    this.known.push(this.knownToken(adminTokenHash(token), owner));
  }

  /** Throws an `HttpError`: 401 if the caller is unknown, 503 if that cannot be decided now. */
  async identify(request: IncomingMessage): Promise<Actor> {
    const head = httpAuthRequest(request);
    const client = this.tokenClient(head);
    const byToken = client && this.known.find((known) => known.client === client);
    if (byToken !== undefined) return byToken.actor;
    if (this.authenticator === undefined) throw this.unauthorized("a token is required");
    const outcome = await authenticate(this.authenticator, head);
    if (!isAuthError(outcome)) return this.actorOf(outcome);
    if (outcome.kind === "unavailable") throw new HttpError("unavailable", outcome.message);
    // It may have been a guess at a token, which the authenticator does not recognise as its own kind of credential.
    if (request.headers.authorization !== undefined) this.gate.invalid(head, outcome.message);
    throw this.unauthorized(outcome.message);
  }

  /**
   * Returns undefined if the authenticator must be asked. That includes a valid token from an address with too many
   * failures: the answer must not reveal that the token is valid.
   */
  private tokenClient(head: ServerAuthRequest): AuthenticatedClient | undefined {
    try {
      const shown = head.header("authorization");
      if (!shown) return undefined;
      if (this.authenticator !== undefined && this.find(shown) === undefined) return undefined;
      // Not a promise, because nothing here is asynchronous.
      return this.gate.authenticate(head, shown, (text) => ({ client: this.verify(text) })) as AuthenticatedClient;
    } catch (error) {
      if (!isAuthError(error)) throw error;
      if (this.authenticator !== undefined) return undefined;
      if (error.kind === "unavailable") throw new HttpError("unavailable", error.message);
      throw this.unauthorized(error.message);
    }
  }

  private verify(shown: string): AuthenticatedClient {
    const found = this.find(shown);
    if (found === undefined) throw new AuthError("unauthenticated", "the token is not valid");
    return found;
  }

  private find(shown: string): AuthenticatedClient | undefined {
    const hash = Buffer.from(adminTokenHash(/^bearer +(\S+)$/i.exec(shown)?.[1] ?? ""));
    let found: AuthenticatedClient | undefined;
    // All tokens are compared, so that the time reveals nothing.
    for (const known of this.known) if (timingSafeEqual(known.hash, hash)) found = known.client;
    return found;
  }

  private knownToken(hash: string, actor: Actor): AdminToken {
    return { hash: Buffer.from(hash), actor, client: { authenticator: this.id, subject: actor.name, attributes: {} } };
  }

  private unauthorized(message: string): HttpError {
    return new HttpError("unauthorized", message, {
      "www-authenticate": this.authenticator?.challenge ?? 'Bearer realm="sluice"',
    });
  }
}

/** The name that commands of the same user have in the audit too. */
function ownerName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user without a name.
    return "owner";
  }
}

/** Throws an `HttpError` unless the actor has the role. */
export function requireRole({ name, roles }: Actor, role: AdminRole): void {
  if (!roles.has(role)) throw new HttpError("forbidden", `${JSON.stringify(name)} does not have the role ${role}`);
}

/** Returns the combined rights of all grants that match a client. */
function granter(grants: NonNullable<AdminApiConfig["grants"]>): (client: AuthenticatedClient) => Actor {
  const rules = grants.map(({ subject = "*", group, roles }) => ({
    roles,
    isSubject: glob(subject),
    isGroup: group === undefined ? undefined : glob(group),
  }));
  return ({ subject, attributes }) => {
    const groups = [attributes["membership"] ?? []].flat();
    const fitting = rules.filter(
      ({ isSubject, isGroup }) => isSubject(subject) && (isGroup === undefined || groups.some(isGroup)),
    );
    return { name: subject, roles: new Set(fitting.flatMap(({ roles }) => roles)) };
  };
}

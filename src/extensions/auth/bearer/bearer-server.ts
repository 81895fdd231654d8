import { hash, timingSafeEqual } from "node:crypto";
import { AuthError, type AuthenticatedClient, type ServerAuthenticator, type ServerAuthRequest } from "#contract";
import { CredentialGate, type VerifiedCredentials } from "#net/auth";
import type { ComponentContext } from "../../../plugin.js";

interface BearerServerSettings {
  /** In lower case. */
  readonly header: string;
  /** The word before the token; "" for none. */
  readonly scheme: string;
}

interface KnownToken {
  readonly digest: Buffer;
  readonly client: AuthenticatedClient;
}

/** Accepts clients with one of the tokens. A client is identified by the beginning of its token's hash. */
export class BearerServer implements ServerAuthenticator {
  readonly challenge: string;
  private readonly id: string;
  private readonly settings: BearerServerSettings;
  private readonly gate: CredentialGate;
  private known: readonly KnownToken[] = [];

  constructor(settings: BearerServerSettings, context: ComponentContext) {
    this.id = context.id;
    this.settings = settings;
    this.challenge = `${/^[\w-]+$/.test(settings.scheme) ? settings.scheme : "Bearer"} realm="sluice"`;
    this.gate = new CredentialGate(context);
  }

  /** Replaces the accepted tokens. */
  use(tokens: readonly string[]): void {
    this.known = tokens.map((token) => {
      const digest = digestOf(token);
      const subject = `token-${digest.toString("hex", 0, 4)}`;
      return { digest, client: { authenticator: this.id, subject, attributes: {} } };
    });
    this.gate.forget();
  }

  authenticate(request: ServerAuthRequest): AuthenticatedClient | Promise<AuthenticatedClient> {
    const shown = request.header(this.settings.header);
    if (shown === undefined) throw this.gate.missing(request, "a token is required");
    return this.gate.authenticate(request, shown, (credentials) => this.verify(credentials));
  }

  private verify(shown: string): VerifiedCredentials {
    const token = withoutScheme(shown, this.settings.scheme);
    const digest = digestOf(token ?? "");
    let found: KnownToken | undefined;
    // All tokens are compared, so that the time reveals nothing.
    for (const known of this.known) if (timingSafeEqual(known.digest, digest)) found = known;
    if (token === undefined || found === undefined) throw new AuthError("unauthenticated", "the token is not valid");
    return { client: found.client };
  }
}

function withoutScheme(shown: string, scheme: string): string | undefined {
  if (scheme === "") return shown;
  if (shown.slice(0, scheme.length).toLowerCase() !== scheme.toLowerCase() || shown[scheme.length] !== " ") {
    return undefined;
  }
  return shown.slice(scheme.length + 1).trim();
}

function digestOf(token: string): Buffer {
  return Buffer.from(hash("sha256", token, "base64"), "base64");
}

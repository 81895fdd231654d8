import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import type { RenewedCredentials } from "#net/auth";
import { type GoogleToken, googleTokens } from "#net/google";
import type { ExtensionContext } from "../../../plugin.js";
import { type GoogleClientAuthConfig, googleClientAuthSchema } from "./config.js";

/** Gives exporters tokens of Google's default credentials. */
export const googleClientAuth = defineBuiltInExtension<GoogleClientAuthConfig>({
  type: "googleclientauth",
  aliases: ["google_client_auth"],
  summary: "Gives exporters tokens of Google's default credentials, for telemetry.googleapis.com and other services.",
  runsIn: "both",
  schema: googleClientAuthSchema,
  authenticates: () => ["client"],
  create: (config, context) => new GoogleClientAuth(config, context),
});

class GoogleClientAuth implements BuiltInExtension {
  private readonly config: GoogleClientAuthConfig;
  private readonly tokens: RenewedCredentials<GoogleToken>;

  constructor(config: GoogleClientAuthConfig, context: ExtensionContext) {
    this.config = config;
    this.tokens = googleTokens(context, config.scopes);
  }

  readonly clientAuthenticator: ClientAuthenticator = {
    isConfidential: true,
    authorize: () => {
      const token = this.tokens.get();
      return token instanceof Promise ? token.then((found) => this.headers(found)) : this.headers(token);
    },
    refused: (headers) => {
      const token = this.tokens.get();
      if (!(token instanceof Promise) && Object.values(headers).includes(bearer(token))) this.tokens.forget(token);
    },
  };

  /** Fetches the first token at once, but nothing waits for it until the first request. */
  async start(): Promise<void> {
    Promise.resolve(this.tokens.get()).catch(() => {}); // The failure was logged, and the next request tries again.
  }

  async stop(): Promise<void> {}

  private headers(token: GoogleToken): AuthHeaders {
    const { project, quota_project: quotaProject, token_header: name } = this.config;
    const paying = quotaProject || token.quotaProject;
    return {
      [name]: bearer(token),
      ...(paying && { "x-goog-user-project": paying }),
      ...(project && { "x-goog-project-id": project }),
    };
  }
}

function bearer({ token }: GoogleToken): string {
  return `Bearer ${token}`;
}

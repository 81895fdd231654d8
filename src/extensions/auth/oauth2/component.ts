import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import { loadClientTls } from "#net";
import { isLocalHost, RenewedCredentials } from "#net/auth";
import type { ExtensionContext } from "../../../plugin.js";
import { type OAuth2ClientConfig, oauth2ClientSchema } from "./config.js";
import { type TokenHeaders, TokenRequest } from "./token-request.js";

/** Gets tokens from an OAuth 2.0 authorization server by the client credentials grant. */
export const oauth2Client = defineBuiltInExtension<OAuth2ClientConfig>({
  type: "oauth2client",
  aliases: ["oauth2_client"],
  summary: "Gives exporters tokens of an OAuth 2.0 server (client credentials), renewed before they expire.",
  runsIn: "both",
  schema: oauth2ClientSchema,
  authenticates: () => ["client"],
  create: (config, context) => new OAuth2Client(config, context),
});

class OAuth2Client implements BuiltInExtension {
  private readonly config: OAuth2ClientConfig;
  private readonly context: ExtensionContext;
  private tokens: RenewedCredentials<TokenHeaders> | undefined;

  constructor(config: OAuth2ClientConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
  }

  readonly clientAuthenticator: ClientAuthenticator = {
    isConfidential: true,
    authorize: () => this.tokens!.get(),
    refused: (headers: AuthHeaders) => this.tokens!.forget(headers as TokenHeaders),
  };

  /** Fetches the first token at once, but nothing waits for it until the first request. */
  async start(): Promise<void> {
    const { clock, random, logger } = this.context;
    const tls = this.config.tls && (await loadClientTls(this.config.tls, ["tls"]));
    const { protocol, hostname, origin } = this.config.token_url;
    if (protocol === "http:" && !isLocalHost(hostname))
      logger.warn({ url: origin }, "the client's secret is sent without TLS: anyone on the network can read it");
    const request = new TokenRequest(this.config, clock, tls);
    const bufferMs = this.config.expiry_buffer;
    this.tokens = new RenewedCredentials({ fetch: () => request.send(), bufferMs, clock, random, logger });
    Promise.resolve(this.tokens.get()).catch(() => {}); // The failure was logged, and the next request tries again.
  }

  async stop(): Promise<void> {}
}

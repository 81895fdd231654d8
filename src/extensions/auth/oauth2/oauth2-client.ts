import { z } from "zod";
import type { AuthHeaders, ClientAuthenticator } from "#contract";
import { httpUrl, loadClientTls, tlsClient } from "#net";
import { isNearby } from "#net/auth";
import { defineExtension, duration, type Extension, type ExtensionContext, secret, section } from "../../../plugin.js";
import { RenewedCredentials } from "../renewed-credentials.js";
import { type TokenHeaders, TokenRequest } from "./token-request.js";

const schema = z
  .strictObject({
    client_id: z.string().optional().meta({ description: "The id of this client at the token endpoint." }),
    client_id_file: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "A file with the id, which wins over client_id." }),
    client_secret: secret().optional().meta({ description: "The secret of this client." }),
    client_secret_file: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "A file with the secret, which wins over client_secret; read again for each token." }),
    token_url: httpUrl().meta({ description: "The URL of the token endpoint." }),
    scopes: z
      .array(z.string())
      .nullish()
      .transform((scopes) => scopes ?? [])
      .meta({ description: "The scopes to ask for." }),
    endpoint_params: z
      .record(z.string(), z.union([z.string().transform((value) => [value]), z.array(z.string())]))
      .nullish()
      .transform((params) => params ?? {})
      .meta({ description: "Further parameters for the token endpoint, such as audience." }),
    timeout: duration().default(10_000).meta({ description: "How long the token endpoint may take to answer." }),
    expiry_buffer: duration()
      .default(300_000)
      .meta({ description: "So long before its end a token is renewed, at the latest halfway through its life." }),
    tls: section(tlsClient())
      .optional()
      .meta({ description: "Certificates and versions of TLS, for the token endpoint." }),
  })
  .superRefine((config, context) => {
    const require = (key: "client_id" | "client_secret") => {
      if (config[key] || config[`${key}_file`]) return;
      context.addIssue({ code: "custom", path: [key], message: `expected ${key} or ${key}_file` });
    };
    require("client_id");
    require("client_secret");
  });

/** What is written of an OAuth 2.0 client. */
export type OAuth2ClientConfig = z.infer<typeof schema>;

/** Tokens of an OAuth 2.0 authorization server, by the client credentials grant. */
export const oauth2Client = defineExtension<OAuth2ClientConfig>({
  type: "oauth2client",
  aliases: ["oauth2_client"],
  summary: "Gives exporters tokens of an OAuth 2.0 server (client credentials), renewed ahead of their end.",
  schema,
  authenticates: () => ["client"],
  create: (config, context) => new OAuth2Client(config, context),
});

class OAuth2Client implements Extension {
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

  /** The first token is fetched at once, but nothing waits for it: the queue does without until the first request. */
  async start(): Promise<void> {
    const { clock, random, logger } = this.context;
    const tls = this.config.tls && (await loadClientTls(this.config.tls, ["tls"]));
    const { protocol, hostname, origin } = this.config.token_url;
    if (protocol === "http:" && !isNearby(hostname))
      logger.warn({ url: origin }, "the client's secret is sent without TLS: whoever is on the way can read it");
    const request = new TokenRequest(this.config, clock, tls);
    const bufferMs = this.config.expiry_buffer;
    this.tokens = new RenewedCredentials({ fetch: () => request.send(), bufferMs, clock, random, logger });
    Promise.resolve(this.tokens.get()).catch(() => {}); // It was logged, and whoever sends asks again.
  }

  async stop(): Promise<void> {}
}

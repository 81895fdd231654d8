import { readFile } from "node:fs/promises";
import type { ServerAuthenticator, ServerAuthRequest } from "#contract";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import { CredentialGate, type VerifiedCredentials } from "#net/auth";
import { type ExtensionContext, StartError } from "../../../plugin.js";
import { clientOfClaims } from "./claims.js";
import { type OidcConfig, oidcSchema, type ProviderConfig } from "./config.js";
import { IssuerKeys } from "./issuer-keys.js";
import { invalidToken, parseToken } from "./token.js";

/** Authenticates by tokens that an issuer has signed (OpenID Connect, JWT). */
export const oidc = defineBuiltInExtension<OidcConfig>({
  type: "oidc",
  summary: "Authenticates clients by tokens of an OpenID Connect issuer (JWT).",
  runsIn: "both",
  schema: oidcSchema,
  authenticates: () => ["server"],
  create: (config, context) => new Oidc(config, context),
});

interface Provider {
  readonly config: ProviderConfig;
  readonly keys: IssuerKeys;
}

class Oidc implements BuiltInExtension, ServerAuthenticator {
  readonly challenge = 'Bearer realm="sluice"';
  readonly serverAuthenticator = this;
  private readonly config: OidcConfig;
  private readonly context: ExtensionContext;
  private readonly header: string;
  private readonly gate: CredentialGate;
  private providers: ReadonlyMap<string, Provider> = new Map();

  constructor(config: OidcConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
    this.header = config.attribute.toLowerCase();
    this.gate = new CredentialGate(context);
  }

  /** An unreachable issuer does not prevent the start: its keys are fetched when they are needed. */
  async start(): Promise<void> {
    const configs = providersOf(this.config);
    const providers = await Promise.all(configs.map((config) => this.createProvider(config)));
    this.providers = new Map(providers.map((each) => [each.config.issuer_url, each]));
    for (const { keys } of providers) void keys.fetch();
  }

  async stop(): Promise<void> {}

  authenticate(request: ServerAuthRequest) {
    const shown = request.header(this.header);
    if (shown === undefined) throw this.gate.missing(request, "a token is required");
    return this.gate.authenticate(request, shown, (credentials) => this.verify(credentials));
  }

  private async verify(shown: string): Promise<VerifiedCredentials> {
    const token = parseToken(/^bearer +(\S+)$/i.exec(shown)?.[1] ?? "");
    const found = this.providers.get(String(token.claims["iss"]));
    if (found === undefined) throw invalidToken();
    // Everything that needs no key is checked first, so that an expired token never causes keys to be fetched.
    const { client, forMs } = clientOfClaims(token, found.config, this.context.id, this.context.clock.now());
    const keysForMs = await found.keys.verify(token.text, token.keyId);
    return { client, forMs: Math.min(forMs, keysForMs) };
  }

  private async createProvider(config: ProviderConfig): Promise<Provider> {
    const { issuer_url: issuer, issuer_ca_path: file } = config;
    const ca =
      file === undefined
        ? undefined
        : await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
            throw new StartError(`cannot read ${file}: ${error.code}`, ["issuer_ca_path"], { cause: error });
          });
    const { clock, logger } = this.context;
    const { refresh: refreshMs, max_stale: maxStaleMs } = config.jwks;
    const onWithdrawn = () => this.gate.forget();
    return { config, keys: new IssuerKeys({ issuer, ca, refreshMs, maxStaleMs, clock, logger, onWithdrawn }) };
  }
}

function providersOf({ attribute: _, providers = [], issuer_url, ...rest }: OidcConfig): ProviderConfig[] {
  return issuer_url === undefined ? providers : [{ issuer_url, ...rest }, ...providers];
}

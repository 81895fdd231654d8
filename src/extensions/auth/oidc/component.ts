import { readFile } from "node:fs/promises";
import type { ServerAuthenticator, ServerAuthRequest } from "#contract";
import { CredentialGate, type VerifiedCredentials } from "#net/auth";
import { defineExtension, type Extension, type ExtensionContext, StartError } from "../../../plugin.js";
import { clientOfClaims } from "./claims.js";
import { type OidcConfig, oidcSchema, type ProviderConfig } from "./config.js";
import { IssuerKeys } from "./issuer-keys.js";
import { invalidToken, isSignedBy, parseJwt } from "./jwt.js";

/** Authenticates by tokens that an issuer has signed (OpenID Connect, JWT). */
export const oidc = defineExtension<OidcConfig>({
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

class Oidc implements Extension, ServerAuthenticator {
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

  private verify(shown: string): VerifiedCredentials | Promise<VerifiedCredentials> {
    const token = /^bearer +(\S+)$/i.exec(shown)?.[1];
    const jwt = parseJwt(token ?? "");
    const found = this.providers.get(String(jwt.claims["iss"]));
    if (found === undefined) throw invalidToken();
    // Everything that needs no key is checked first, so that an expired token never causes keys to be fetched.
    const verified = clientOfClaims(jwt, found.config, this.context.id, this.context.clock.now());
    const keys = found.keys.find(jwt);
    const check = (candidates: Awaited<typeof keys>) => {
      if (candidates.some((key) => isSignedBy(jwt, key))) return verified;
      throw invalidToken();
    };
    return keys instanceof Promise ? keys.then(check) : check(keys);
  }

  private async createProvider(config: ProviderConfig): Promise<Provider> {
    const { issuer_url: issuer, issuer_ca_path: file } = config;
    const ca =
      file === undefined
        ? undefined
        : await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
            throw new StartError(`cannot read ${file}: ${error.code}`, ["issuer_ca_path"], { cause: error });
          });
    return { config, keys: new IssuerKeys(issuer, ca, this.context) };
  }
}

function providersOf({ attribute: _, providers = [], issuer_url, ...rest }: OidcConfig): ProviderConfig[] {
  return issuer_url === undefined ? providers : [{ issuer_url, ...rest }, ...providers];
}

import type { AuthHeaders, ClientAuthenticator, ClientAuthRequest } from "#contract";
import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import { type AwsCredentials, renewedAwsKeys, signRequest } from "#net/aws";
import { type ExtensionContext, Refusal } from "../../../plugin.js";
import { type SigV4Config, sigV4Schema } from "./config.js";

/** Signs requests for AWS. */
export const sigV4Auth = defineBuiltInExtension<SigV4Config>({
  type: "sigv4auth",
  aliases: ["sigv4_auth"],
  summary: "Signs the requests of otlp_http for AWS (Signature Version 4).",
  runsIn: "both",
  schema: sigV4Schema,
  authenticates: () => ["client"],
  create: (config, context) => new SigV4Auth(config, context),
});

class SigV4Auth implements BuiltInExtension {
  private readonly config: SigV4Config;
  private readonly context: ExtensionContext;
  private readonly keys: ReturnType<typeof renewedAwsKeys>;

  constructor(config: SigV4Config, context: ExtensionContext) {
    this.config = config;
    this.context = context;
    this.keys = renewedAwsKeys(config, context);
  }

  readonly clientAuthenticator: ClientAuthenticator = {
    isConfidential: true,
    isHttpOnly: true,
    authorize: (request) => {
      const keys = this.keys.get();
      return keys instanceof Promise ? keys.then((found) => this.sign(request, found)) : this.sign(request, keys);
    },
  };

  async start(): Promise<void> {
    Promise.resolve(this.keys.get()).catch(() => {}); // The failure was logged, and the next request tries again.
  }

  async stop(): Promise<void> {}

  private sign({ method, url, headers, body }: ClientAuthRequest, keys: AwsCredentials): AuthHeaders {
    const { service, region } = serviceAndRegion(url.hostname, this.config);
    if (service === "" || region === "") throw unknownServiceOrRegion(url.hostname);
    return signRequest({ method, url, headers, body, region, service, at: this.context.clock.now() }, keys);
  }
}

/**
 * `xray.eu-west-1.amazonaws.com` is the service xray in the region eu-west-1. For other hosts, service and region must
 * be configured.
 */
function serviceAndRegion(host: string, { service, region }: SigV4Config): { service: string; region: string } {
  const [, name = "", between = ""] = /^([a-z]+)(?:-[^.]*)?\.([a-z0-9-]+)\./.exec(host) ?? [];
  const known = SERVICES_BY_HOST[name];
  return { service: service || (known ?? ""), region: region || (known === undefined ? "" : between) };
}

const SERVICES_BY_HOST: Readonly<Record<string, string>> = { xray: "xray", logs: "logs", aps: "aps", search: "es" };

function unknownServiceOrRegion(host: string): Refusal {
  const message = `${host} does not reveal the AWS service and region: set them in the authenticator`;
  return new Refusal("permanent", message, { status: "HTTP 401", category: "integration" });
}

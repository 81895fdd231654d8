import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import type { ExtensionContext } from "../../../plugin.js";
import { BasicClient } from "./basic-client.js";
import { BasicServer } from "./basic-server.js";
import { type BasicAuthConfig, basicAuthSchema } from "./config.js";

/** Authenticates by user and password (HTTP Basic). */
export const basicAuth = defineBuiltInExtension<BasicAuthConfig>({
  type: "basicauth",
  aliases: ["basic_auth"],
  summary: "Authenticates clients by user and password (htpasswd), and exporters to their servers.",
  runsIn: "both",
  schema: basicAuthSchema,
  authenticates: (config) => [
    ...(config.htpasswd ? (["server"] as const) : []),
    ...(config.client_auth ? (["client"] as const) : []),
  ],
  create: (config, context) => new BasicAuth(config, context),
});

class BasicAuth implements BuiltInExtension {
  readonly serverAuthenticator?: BasicServer;
  readonly clientAuthenticator?: BasicClient;

  constructor({ htpasswd: users, client_auth }: BasicAuthConfig, context: ExtensionContext) {
    if (users) this.serverAuthenticator = new BasicServer(users, context);
    if (client_auth) this.clientAuthenticator = new BasicClient(client_auth, context);
  }

  async start(): Promise<void> {
    await this.serverAuthenticator?.start();
    await this.clientAuthenticator?.start();
  }

  async stop(): Promise<void> {
    this.serverAuthenticator?.stop();
    this.clientAuthenticator?.stop();
  }
}

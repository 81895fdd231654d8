import { z } from "zod";
import { defineExtension, type Extension, type ExtensionContext, secret, section } from "../../../plugin.js";
import { BasicClient, clientAuth } from "./basic-client.js";
import { BasicServer } from "./basic-server.js";
import { parseHtpasswd } from "./htpasswd.js";

const htpasswd = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .optional()
      .meta({ description: "A file of users and hashes (htpasswd -B); read again when it changes." }),
    inline: secret()
      .superRefine((text, context) => {
        try {
          parseHtpasswd(text, true);
        } catch (error) {
          context.addIssue({ code: "custom", message: (error as Error).message });
        }
      })
      .optional()
      .meta({ description: "The same here; these users win over those of the file. Passwords may be plain." }),
  })
  .refine(({ file, inline }) => file !== undefined || inline !== undefined, "expected file or inline");

const schema = z
  .strictObject({
    htpasswd: section(htpasswd).optional().meta({ description: "Who may come in: users and their passwords, hashed." }),
    client_auth: section(clientAuth).optional().meta({ description: "Who we are to the servers of exporters." }),
  })
  .refine((config) => config.htpasswd ?? config.client_auth, "expected htpasswd, client_auth or both");

type BasicAuthConfig = z.infer<typeof schema>;

/** Users and passwords (HTTP Basic). */
export const basicAuth = defineExtension<BasicAuthConfig>({
  type: "basicauth",
  aliases: ["basic_auth"],
  summary: "Authenticates clients by user and password (htpasswd), and exporters to their servers.",
  schema,
  authenticates: (config) => [
    ...(config.htpasswd ? (["server"] as const) : []),
    ...(config.client_auth ? (["client"] as const) : []),
  ],
  create: (config, context) => new BasicAuth(config, context),
});

class BasicAuth implements Extension {
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

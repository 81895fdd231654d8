import { z } from "zod";
import { defineExtension, type Extension, type ExtensionContext, secret, section } from "../../../plugin.js";
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

const schema = z.strictObject({
  htpasswd: section(htpasswd).meta({ description: "Who may come in: users and their passwords, hashed." }),
});

type BasicAuthConfig = z.infer<typeof schema>;

/** Users and passwords (HTTP Basic). */
export const basicAuth = defineExtension<BasicAuthConfig>({
  type: "basicauth",
  aliases: ["basic_auth"],
  summary: "Authenticates clients by user and password (htpasswd).",
  schema,
  authenticates: () => ["server"],
  create: (config, context) => new BasicAuth(config, context),
});

class BasicAuth implements Extension {
  readonly serverAuthenticator: BasicServer;

  constructor(config: BasicAuthConfig, context: ExtensionContext) {
    this.serverAuthenticator = new BasicServer(config.htpasswd, context);
  }

  async start(): Promise<void> {
    await this.serverAuthenticator.start();
  }

  async stop(): Promise<void> {
    this.serverAuthenticator.stop();
  }
}

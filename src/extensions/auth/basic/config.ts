import { z } from "zod";
import { secret, section } from "../../../plugin.js";
import { clientAuth } from "./basic-client.js";
import { parseHtpasswd } from "./htpasswd.js";

const htpasswd = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .optional()
      .meta({ privileged: true, description: "A file of users and hashes (htpasswd -B); reloaded when it changes." }),
    inline: secret()
      .superRefine((text, context) => {
        try {
          parseHtpasswd(text, true);
        } catch (error) {
          context.addIssue({ code: "custom", message: (error as Error).message });
        }
      })
      .optional()
      .meta({
        privileged: true,
        description: "Users and hashes. They override those of the file. Passwords may be plain text.",
      }),
  })
  .refine(({ file, inline }) => file !== undefined || inline !== undefined, "expected file or inline");

export const basicAuthSchema = z
  .strictObject({
    htpasswd: section(htpasswd).optional().meta({ description: "Users that are accepted, with hashed passwords." }),
    client_auth: section(clientAuth)
      .optional()
      .meta({ description: "The user and password that exporters send to their servers." }),
  })
  .refine((config) => config.htpasswd ?? config.client_auth, "expected htpasswd, client_auth or both");

export type BasicAuthConfig = z.infer<typeof basicAuthSchema>;

import { z } from "zod";
import { httpUrl, tlsClient } from "#net";
import { duration, secret, section } from "../../../plugin.js";

export const oauth2ClientSchema = z
  .strictObject({
    client_id: z.string().optional().meta({ description: "The id of this client at the token endpoint." }),
    client_id_file: z
      .string()
      .min(1)
      .optional()
      .meta({ harmless: true, description: "A file with the id, which overrides client_id." }),
    client_secret: secret().optional().meta({ description: "The secret of this client." }),
    client_secret_file: z.string().min(1).optional().meta({
      harmless: true,
      description: "A file with the secret, which overrides client_secret; read for each token.",
    }),
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
    expiry_buffer: duration().default(300_000).meta({
      description: "How long before it expires a token is renewed, but never before half of its lifetime has passed.",
    }),
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

export type OAuth2ClientConfig = z.infer<typeof oauth2ClientSchema>;

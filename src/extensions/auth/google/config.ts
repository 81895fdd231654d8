import { z } from "zod";
import { GOOGLE_SCOPES } from "#net/google";
import { unsupported } from "../../../plugin.js";

const ID_TOKEN = "tokens of identity are not supported here; only access tokens";

export const googleClientAuthSchema = z.strictObject({
  project: z
    .string()
    .default("")
    .meta({ description: "The project that gets telemetry without the resource attribute gcp.project_id." }),
  quota_project: z
    .string()
    .default("")
    .meta({ description: "The project that pays for requests. Default: that of the credentials, if they name one." }),
  scopes: z
    .array(z.string())
    .min(1)
    .optional()
    .transform((scopes) => scopes ?? GOOGLE_SCOPES)
    .meta({ description: "What tokens are for. Default: https://www.googleapis.com/auth/cloud-platform." }),
  token_type: z.literal("access_token", ID_TOKEN).default("access_token").meta({ description: "Only access_token." }),
  audience: unsupported(ID_TOKEN),
  token_header: z
    .enum(["authorization", "proxy-authorization"])
    .default("authorization")
    .meta({ description: "The header with the token; proxy-authorization is for services behind Google's IAP." }),
});

export type GoogleClientAuthConfig = z.infer<typeof googleClientAuthSchema>;

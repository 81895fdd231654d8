import { z } from "zod";
import { secret } from "../../../plugin.js";

export const bearerTokenAuthSchema = z
  .strictObject({
    scheme: z.string().default("Bearer").meta({ description: 'The word before the token in the header; "" for none.' }),
    header: z.string().min(1).default("Authorization").meta({ description: "The header that holds the token." }),
    token: secret().min(1).optional().meta({ privileged: true, description: "The token." }),
    tokens: z.array(secret().min(1)).optional().meta({
      privileged: true,
      description: "Several tokens: clients may use any of them, and exporters send the first one.",
    }),
    filename: z.string().min(1).optional().meta({
      privileged: true,
      description:
        "A file with a token in each line, in place of token and tokens; lines with # are comments. Reloaded when it changes; an emptied file revokes all tokens.",
    }),
  })
  .refine(({ token, tokens, filename }) => token ?? tokens?.length ?? filename, "expected token, tokens or filename");

export type BearerTokenAuthConfig = z.infer<typeof bearerTokenAuthSchema>;

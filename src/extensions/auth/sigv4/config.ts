import { z } from "zod";
import { section } from "../../../plugin.js";

const role = {
  arn: z.string().default("").meta({ description: "The role to assume; left out, none is." }),
  sts_region: z
    .string()
    .default("")
    .meta({ description: "The region to ask for its keys in; default: region, or AWS_REGION." }),
};

export const sigV4Schema = z.strictObject({
  region: z.string().default("").meta({ description: "The region to sign for; default: that in the host's name." }),
  service: z.string().default("").meta({ description: "The service to sign for; default: that in the host's name." }),
  assume_role: section(
    z.strictObject({
      ...role,
      session_name: z.string().optional().meta({ description: "What the session is called in the logs of AWS." }),
    }),
  )
    .optional()
    .meta({ description: "A role that the agent's own keys may assume, with which it signs." }),
  assume_role_with_web_identity: section(
    z.strictObject({ ...role, token_file: z.string().min(1).meta({ description: "Where the token is." }) }),
  )
    .optional()
    .meta({ description: "A role for whoever has the token of an identity provider, without keys of its own." }),
});

export type SigV4Config = z.infer<typeof sigV4Schema>;

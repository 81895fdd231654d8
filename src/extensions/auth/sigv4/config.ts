import { z } from "zod";
import { section } from "../../../plugin.js";

const role = {
  arn: z.string().default("").meta({ description: "The role to assume. Default: none." }),
  sts_region: z
    .string()
    .default("")
    .meta({ description: "The region of the STS request for the role's keys. Default: region, or AWS_REGION." }),
};

export const sigV4Schema = z.strictObject({
  region: z.string().default("").meta({ description: "The region to sign for. Default: taken from the host name." }),
  service: z.string().default("").meta({ description: "The service to sign for. Default: taken from the host name." }),
  assume_role: section(
    z.strictObject({
      ...role,
      session_name: z.string().optional().meta({ description: "The session name in the logs of AWS." }),
    }),
  )
    .optional()
    .meta({ description: "A role that the agent's own keys may assume, with which it signs." }),
  assume_role_with_web_identity: section(
    z.strictObject({ ...role, token_file: z.string().min(1).meta({ description: "The file with the token." }) }),
  )
    .optional()
    .meta({ description: "A role to assume with the token of an identity provider, without AWS keys." }),
});

export type SigV4Config = z.infer<typeof sigV4Schema>;

import { z } from "zod";
import { assumeRoleSection, awsRoleKeys } from "#net/aws";
import { section } from "../../../plugin.js";

export const sigV4Schema = z.strictObject({
  region: z.string().default("").meta({ description: "The region to sign for. Default: taken from the host name." }),
  service: z.string().default("").meta({ description: "The service to sign for. Default: taken from the host name." }),
  assume_role: assumeRoleSection(),
  assume_role_with_web_identity: section(
    z.strictObject({
      ...awsRoleKeys,
      token_file: z.string().min(1).meta({ harmless: true, description: "The file with the token." }),
    }),
  )
    .optional()
    .meta({ description: "A role to assume with the token of an identity provider, without AWS keys." }),
});

export type SigV4Config = z.infer<typeof sigV4Schema>;

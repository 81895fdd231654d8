import { z } from "zod";
import { section } from "#contract/schema";

/** The keys of a role to assume. */
export const awsRoleKeys = {
  arn: z.string().default("").meta({ description: "The role to assume. Default: none." }),
  sts_region: z
    .string()
    .default("")
    .meta({ description: "The region of the STS request for the role's keys. Default: region, or AWS_REGION." }),
};

/** The key `assume_role` of components that sign requests for AWS. */
export function assumeRoleSection() {
  return section(
    z.strictObject({
      ...awsRoleKeys,
      session_name: z.string().optional().meta({ description: "The session name in the logs of AWS." }),
    }),
  )
    .optional()
    .meta({ description: "A role that the agent's own keys may assume, with which it signs." });
}

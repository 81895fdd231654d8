import { z } from "zod";
import { ignored } from "../../../plugin.js";
import { awsSessionKeys } from "../aws-keys.js";

export const awsXraySchema = z.strictObject({
  indexed_attributes: z
    .array(z.string())
    .nullish()
    .meta({ description: "Attributes that become annotations, by which X-Ray searches. Others are metadata." }),
  index_all_attributes: z.boolean().default(false).meta({ description: "Make all attributes annotations." }),
  aws_log_groups: z
    .array(z.string())
    .nullish()
    .meta({ description: "Log groups that segments refer to, if their resource names none." }),
  telemetry: ignored("reports about the sender are those of the X-Ray daemon"),
  transit_spans_in_otlp_format: ignored("segments are sent"),
  skip_timestamp_validation: ignored("the time in a trace id is not checked"),
  ...awsSessionKeys(),
});

export type AwsXrayConfig = z.infer<typeof awsXraySchema>;

import { z } from "zod";
import { awsSessionKeys, logGroupKeys } from "../aws-keys.js";

const name = (what: string) =>
  z
    .string()
    .min(1, `expected the name of a ${what}`)
    .meta({ description: `The ${what}; {ClusterName}, {ServiceName} and others stand for resource attributes.` });

export const awsCloudWatchLogsSchema = z.strictObject({
  log_group_name: name("log group"),
  log_stream_name: name("log stream"),
  raw_log: z.boolean().default(false).meta({ description: "Send the body alone." }),
  ...logGroupKeys(),
  ...awsSessionKeys(),
});

export type AwsCloudWatchLogsConfig = z.infer<typeof awsCloudWatchLogsSchema>;

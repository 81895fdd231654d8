import { z } from "zod";
import { ignored } from "../../../plugin.js";
import { awsSessionKeys, logGroupKeys } from "../aws-keys.js";
import { unknownPlaceholder } from "../cloudwatch-logs.js";

const name = (what: string, allowed: RegExp, characters: string) =>
  z
    .string()
    .min(1, `expected the name of a ${what}`)
    .superRefine((text, context) => {
      const unknown = unknownPlaceholder(text);
      if (unknown !== undefined) context.addIssue({ code: "custom", message: `{${unknown}} stands for nothing` });
      else if (!allowed.test(text.replace(/\{\w+\}/g, "")))
        context.addIssue({ code: "custom", message: `the name of a ${what} has ${characters}` });
    })
    .meta({ description: `The ${what}; {ClusterName}, {ServiceName} and others stand for resource attributes.` });

export const awsCloudWatchLogsSchema = z.strictObject({
  log_group_name: name("log group", /^[\w./#-]{0,512}$/, "up to 512 letters, digits, and _ - / . #"),
  log_stream_name: name("log stream", /^[^:*]{0,512}$/, "up to 512 characters, without : and *"),
  raw_log: z.boolean().default(false).meta({ description: "Send the body alone." }),
  max_event_payload_bytes: ignored("events are never cut: CloudWatch accepts up to 1 MiB"),
  ...logGroupKeys(),
  ...awsSessionKeys(),
});

export type AwsCloudWatchLogsConfig = z.infer<typeof awsCloudWatchLogsSchema>;

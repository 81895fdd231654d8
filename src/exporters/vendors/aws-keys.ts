import { z } from "zod";
import { httpUrl } from "#net";
import { ignored, section } from "../../plugin.js";

const QUEUE = "retries are those of retry_on_failure";

/** The keys of the Collector's AWS exporters that say how AWS is reached. */
export function awsSessionKeys() {
  return {
    region: z.string().default("").meta({ description: "The region. Default: AWS_REGION." }),
    endpoint: z
      .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
      .meta({ description: "The URL of the service. Default: that of the region." }),
    role_arn: z.string().default("").meta({ description: "A role to assume." }),
    proxy_address: z
      .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
      .meta({ description: "An HTTP proxy to use instead of HTTPS_PROXY." }),
    no_verify_ssl: z.boolean().default(false).meta({ description: "Do not check the server's certificate." }),
    external_id: ignored("roles are assumed without an external id"),
    request_timeout_seconds: ignored("use the exporter's timeout"),
    num_workers: ignored("use sending_queue.num_consumers"),
    max_retries: ignored(QUEUE),
    local_mode: ignored("the region is configured, or that of the environment"),
    resource_arn: ignored("it is only for the reports of the X-Ray daemon"),
    certificate_file_path: ignored("the certificates of the system are trusted; NODE_EXTRA_CA_CERTS names others"),
    profile: ignored("AWS_PROFILE names the profile of the credentials file"),
    shared_credentials_file: ignored("AWS_SHARED_CREDENTIALS_FILE names the file"),
    imds_retries: ignored(QUEUE),
    middleware: ignored("middlewares are extensions of the Collector that do not exist here"),
  };
}

export type AwsSessionConfig = z.infer<z.ZodObject<ReturnType<typeof awsSessionKeys>>>;

/** The keys of log groups and streams in CloudWatch. */
export function logGroupKeys() {
  return {
    log_retention: z
      .number()
      .int()
      .default(0)
      .refine(
        (days) => RETENTION_DAYS.includes(days),
        `expected a number of days that CloudWatch supports: ${RETENTION_DAYS.join(", ")}`,
      )
      .meta({ description: "The days that a log group made by the exporter keeps events; 0: forever." }),
    tags: section(
      z
        .record(z.string().min(1).max(128).regex(TAG_CHARACTERS), z.string().max(256).regex(TAG_CHARACTERS))
        .refine((tags) => Object.keys(tags).length <= MAX_TAGS, `expected up to ${MAX_TAGS} tags`),
    )
      .optional()
      .meta({ description: "Tags of log groups made by the exporter." }),
  };
}

const RETENTION_DAYS: readonly number[] = [
  0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
];
const MAX_TAGS = 50;
const TAG_CHARACTERS = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;

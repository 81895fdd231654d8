import { z } from "zod";
import { httpUrl } from "#net";
import { availableCompression } from "#net/otlp";
import { ignored, section, unsupported } from "../../../plugin.js";
import { MARSHALERS } from "../object-body.js";
import { partitionKeys } from "../partition-keys.js";

const RETRIES = "retries are those of retry_on_failure";

const ACLS = [
  "",
  "private",
  "public-read",
  "public-read-write",
  "authenticated-read",
  "aws-exec-read",
  "bucket-owner-read",
  "bucket-owner-full-control",
];
const STORAGE_CLASSES =
  `STANDARD REDUCED_REDUNDANCY STANDARD_IA ONEZONE_IA INTELLIGENT_TIERING GLACIER GLACIER_IR DEEP_ARCHIVE OUTPOSTS SNOW
  EXPRESS_ONEZONE`.split(/\s+/);

const uploader = z.strictObject({
  region: z.string().min(1).default("us-east-1").meta({ description: "The region of the bucket." }),
  s3_bucket: z.string().min(1, "expected the name of a bucket").meta({ description: "The bucket, which must exist." }),
  s3_base_prefix: z.string().default("").meta({ description: "Folders in front of s3_prefix." }),
  s3_prefix: z.string().default("").meta({ description: "Folders in front of those by time." }),
  s3_partition_format: partitionKeys.format,
  s3_partition_timezone: partitionKeys.timezone,
  s3_partition: unsupported("write s3_partition_format, such as year=%Y/month=%m/day=%d/hour=%H"),
  file_prefix: partitionKeys.filePrefix,
  endpoint: z
    .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
    .meta({ description: "The URL of another server than AWS. Default: AWS_ENDPOINT_URL_S3, or AWS in the region." }),
  role_arn: z.string().default("").meta({ description: "A role to assume." }),
  s3_force_path_style: z
    .boolean()
    .default(false)
    .meta({ description: "Name the bucket in the path of URLs instead of in the host. MinIO needs this." }),
  disable_ssl: z.boolean().default(false).meta({ description: "Use http for AWS. An endpoint has its own scheme." }),
  acl: z.enum(ACLS).default("").meta({ description: "The canned ACL of objects. Default: none is sent." }),
  storage_class: z.enum(STORAGE_CLASSES).default("STANDARD").meta({ description: "The storage class of objects." }),
  compression: availableCompression(z.enum(["", "none", "gzip", "zstd"]))
    .default("")
    .meta({ description: "Compress objects: gzip (.gz) or zstd (.zst)." }),
  unique_key_func_name: z
    .enum(["", "uuidv7"])
    .default("")
    .meta({ description: "The form of the unique part of names: a hash, or a UUID of version 7." }),
  retry_mode: ignored(RETRIES),
  retry_max_attempts: ignored(RETRIES),
  retry_max_backoff: ignored(RETRIES),
});

export const awsS3Schema = z.strictObject({
  s3uploader: section(uploader).meta({ description: "Where objects are stored, and how they are named." }),
  marshaler: z
    .enum(MARSHALERS)
    .default("otlp_json")
    .meta({ description: "The format of objects. body and sumo_ic take only logs." }),
  encoding: unsupported("choose a marshaler: otlp_json, otlp_proto, body or sumo_ic"),
  encoding_file_extension: ignored("only encoding uses it, which is not supported"),
  resource_attrs_to_s3: section(
    z.strictObject({
      s3_bucket: z.string().default("").meta({ description: "The resource attribute that names the bucket." }),
      s3_prefix: z.string().default("").meta({ description: "The resource attribute to use instead of s3_prefix." }),
    }),
  )
    .prefault({})
    .meta({ description: "Resource attributes that say where records are stored." }),
});

export type AwsS3Config = z.infer<typeof awsS3Schema>;

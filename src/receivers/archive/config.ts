import { z } from "zod";
import { HOUR_PARTITIONS, MINUTE_PARTITIONS, partitionFormatProblem } from "#archive";
import { isPlace } from "#text";
import { ignored, section, unsupported } from "../../plugin.js";

/** RFC 3339, `YYYY-MM-DD HH:MM` or `YYYY-MM-DD`, the latter two in UTC, as the Collector reads them. */
function archiveTime(description: string) {
  return z
    .string()
    .transform((text, context) => {
      const isShort = /^\d{4}-\d\d-\d\d( \d\d:\d\d)?$/.test(text);
      const isLong = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.test(text);
      const time =
        isShort || isLong
          ? Date.parse(isShort ? `${text.replace(" ", "T")}${text.length > 10 ? "Z" : ""}` : text)
          : Number.NaN;
      if (Number.isFinite(time)) return time;
      context.addIssue({ code: "custom", message: "expected 2026-01-31, 2026-01-31 08:00 or 2026-01-31T08:00:00Z" });
      return z.NEVER;
    })
    .meta({ description });
}

const timeKeys = {
  starttime: archiveTime("Objects of this time and later are read. Without a zone: UTC."),
  endtime: archiveTime("Objects before this time are read."),
};

const partitionFormat = (description: string) =>
  z
    .string()
    .superRefine((format, context) => {
      const problem = partitionFormatProblem(format);
      if (problem !== undefined) context.addIssue({ code: "custom", message: `it cannot be used: ${problem}` });
    })
    .meta({ description });

const partitionTimezone = z
  .string()
  .default("")
  .refine((zone) => zone === "" || isPlace(zone), "expected a zone such as Europe/Berlin")
  .meta({ description: "The time zone of the partitions. Default: that of the machine." });

const ownKeys = {
  mark_rehydrated: z.boolean().default(false).meta({
    description: "Adds the resource attributes `sluice.rehydrated` and `sluice.rehydrated_from`.",
  }),
  offsets_directory: z
    .string()
    .min(1)
    .default("./data/offsets")
    .meta({ privileged: true, description: "The directory for the position; each receiver has its own file there." }),
};

const filePrefix = z.string().default("").meta({ description: "What the names of objects begin with." });

const isInOrder = ({ starttime, endtime }: { starttime: number; endtime: number }) => starttime < endtime;
const ORDER = { path: ["endtime"], message: "expected a time after starttime" };

export const awsS3ReceiverSchema = z
  .strictObject({
    ...timeKeys,
    s3downloader: section(
      z.strictObject({
        region: z.string().min(1).default("us-east-1").meta({ description: "The region of the bucket." }),
        s3_bucket: z.string().min(1).meta({ description: "The bucket." }),
        s3_prefix: z.string().default("").meta({ description: "The folder inside the bucket." }),
        s3_partition: z
          .enum(["minute", "hour"])
          .default("minute")
          .meta({ description: "The shortest time in the path of an object." }),
        s3_partition_format: partitionFormat(
          `The path of partitions, with %Y, %m, %d, %H and %M, instead of \`s3_partition\`.`,
        ).optional(),
        s3_partition_timezone: partitionTimezone,
        file_prefix: filePrefix,
        file_prefix_include_telemetry_type: z
          .literal(true, { error: "without the signal in its name, nobody knows what an object contains" })
          .default(true)
          .meta({ description: "The signal follows in the name of an object." }),
        endpoint: z
          .url({ protocol: /^https?$/ })
          .optional()
          .meta({ description: "The URL of another server than that of AWS, such as MinIO." }),
        endpoint_partition_id: ignored("requests are signed for the region; a partition is not needed"),
        s3_force_path_style: z
          .boolean()
          .default(false)
          .meta({ description: "Names the bucket in the path of URLs, as MinIO needs it." }),
        tag_object_after_ingestion: unsupported("objects are never changed; the position is kept in offsets_directory"),
        skip_ingesting_tagged_objects: unsupported(
          "each object is read once; the position is kept in offsets_directory",
        ),
      }),
    ).meta({ description: "Where the objects are." }),
    ...ownKeys,
    encodings: unsupported("encoding extensions do not exist here; objects of otlp_proto, otlp_json and body are read"),
    notifications: unsupported("progress is not sent to an OpAMP server; the agent's log tells it"),
    sqs: unsupported("objects are found by time; give starttime and endtime"),
  })
  .refine(isInOrder, ORDER);

export const fileReceiverSchema = z
  .strictObject({
    ...timeKeys,
    path: z.string().min(1).meta({ harmless: true, description: "The folder with the archive." }),
    partition_format: partitionFormat("The path of partitions in the folder, with %Y, %m, %d, %H and %M.").default(
      MINUTE_PARTITIONS,
    ),
    partition_timezone: partitionTimezone,
    file_prefix: filePrefix,
    ...ownKeys,
  })
  .refine(isInOrder, ORDER);

export type AwsS3ReceiverConfig = z.infer<typeof awsS3ReceiverSchema>;
export type FileReceiverConfig = z.infer<typeof fileReceiverSchema>;

/** The format of the partitions that a config of aws_s3 means. */
export function partitionsOf({ s3_partition, s3_partition_format }: AwsS3ReceiverConfig["s3downloader"]): string {
  return s3_partition_format ?? (s3_partition === "hour" ? HOUR_PARTITIONS : MINUTE_PARTITIONS);
}

import { z } from "zod";
import { availableCompression } from "#net/otlp";
import { caseInsensitiveEnum, ignored, section } from "../../../plugin.js";
import { OBJECT_COMPRESSIONS } from "../object-body.js";
import { partitionKeys } from "../partition-keys.js";

const MEBIBYTE = 1024 * 1024;
const DEFAULT_MEGABYTES = 100;

const rotation = z.strictObject({
  max_megabytes: z
    .number()
    .nonnegative()
    .default(DEFAULT_MEGABYTES)
    .meta({ description: "Maximum file size in MiB before rotation; 0 means the default." }),
  max_days: z.number().nonnegative().default(0).meta({ description: "Older backups are deleted; 0 keeps them." }),
  max_backups: z.number().int().nonnegative().default(100).meta({ description: "How many to keep; 0 means all." }),
  localtime: z.boolean().default(false).meta({ description: "Backups are named in local time instead of UTC." }),
});

const partition = z.strictObject({
  format: partitionKeys.format,
  timezone: partitionKeys.timezone,
  file_prefix: partitionKeys.filePrefix,
  compression: availableCompression(z.enum(OBJECT_COMPRESSIONS))
    .default("none")
    .meta({ description: "Compress files: gzip (.gz) or zstd (.zst)." }),
});

const settings = z.strictObject({
  path: z.string().min(1, { error: "expected the path of a file" }).meta({
    privileged: true,
    description: "The file, or with partition the folder; a relative path begins where the agent was started.",
  }),
  partition: section(partition).optional().meta({
    description: "Write one file per batch into folders by time, laid out as by aws_s3, instead of one file.",
  }),
  format: caseInsensitiveEnum(["json", "proto"])
    .default("json")
    .meta({ description: "One line of OTLP/JSON per batch, or protobuf messages with length prefixes." }),
  rotation: section(rotation)
    .optional()
    .meta({ description: "When to start a new file; without it there is a single file." }),
  append: z.boolean().default(true).meta({
    description: "False starts a new file at every start; the existing one is kept as a backup.",
  }),
  fsync: z.boolean().default(true).meta({
    description:
      "Wait for the disk before a batch counts as delivered. With false, data survives a crash of the agent, but not a power loss.",
  }),
  create_directory: z.boolean().default(false).meta({
    description:
      "Create the folder of the file, or with partition the folder, if it is missing; with rotation it is always created.",
  }),
  directory_permissions: z
    .string()
    .regex(/^0?[0-7]{3}$/, { error: 'expected octal permissions such as "0755"' })
    .default("0755")
    .meta({ description: "Permissions of created folders, in octal." }),
  file_permissions: z
    .string()
    .regex(/^0?[0-7]{3}$/, { error: 'expected octal permissions such as "0640"' })
    .default("0600")
    .meta({ description: "Permissions of the file and its backups, in octal; an existing file gets them too." }),
  compression: z
    .enum(["", "none"], { error: "use partition.compression, or compress the backups with another tool" })
    .optional()
    .meta({ description: "Only none is supported: a file that grows is not compressed." }),
  group_by: section(
    z.looseObject({
      enabled: z
        .literal(false, { error: "group_by is not supported; use one file exporter for each file" })
        .default(false)
        .meta({ description: "Only false is supported." }),
    }),
  )
    .optional()
    .meta({ description: "Not supported unless it is switched off: use one file exporter for each file." }),
  flush_interval: ignored("every batch is in the file before it is acknowledged"),
});

export const fileSchema = settings.superRefine(({ partition, rotation, append }, context) => {
  if (partition === undefined) return;
  const refuse = (key: string) =>
    context.addIssue({ code: "custom", path: [key], message: "with partition, each batch has a file of its own" });
  if (rotation !== undefined) refuse("rotation");
  if (!append) refuse("append");
});

export type FileConfig = z.infer<typeof fileSchema>;

/** Returns the maximum size of a file in bytes before it is rotated; Infinity without rotation. */
export function maxBytesOf(config: FileConfig): number {
  if (config.rotation === undefined) return Number.POSITIVE_INFINITY;
  return (config.rotation.max_megabytes || DEFAULT_MEGABYTES) * MEBIBYTE;
}

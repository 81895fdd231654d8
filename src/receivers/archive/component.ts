import { baseOf, folderSource, s3Source } from "#archive";
import { defineReceiver, SIGNALS } from "../../plugin.js";
import { ArchiveReceiver } from "./archive-receiver.js";
import {
  type AwsS3ReceiverConfig,
  awsS3ReceiverSchema,
  type FileReceiverConfig,
  fileReceiverSchema,
  partitionsOf,
} from "./config.js";

/** Reads what the exporter aws_s3 has written, also that of the Collector. */
export const awsS3Receiver = defineReceiver<AwsS3ReceiverConfig>({
  type: "aws_s3",
  aliases: ["awss3"],
  summary: "Reads archived telemetry from a bucket of S3, by time.",
  signals: SIGNALS,
  workers: "one",
  schema: awsS3ReceiverSchema,
  create(config, context) {
    const { s3downloader: place, ...own } = config;
    const { s3_bucket: bucket, region, endpoint, s3_prefix, s3_force_path_style: isPathStyle } = place;
    const address = { bucket, region, isPathStyle, ...(endpoint !== undefined && { endpoint: new URL(endpoint) }) };
    const settings = {
      ...own,
      base: baseOf(s3_prefix),
      partitions: partitionsOf(place),
      timezone: place.s3_partition_timezone,
      file_prefix: place.file_prefix,
    };
    return new ArchiveReceiver(() => s3Source(address, context), settings, context);
  },
});

/** Reads what the exporter file has written with partitions. */
export const fileReceiver = defineReceiver<FileReceiverConfig>({
  type: "file",
  summary: "Reads archived telemetry from a folder, by time.",
  signals: SIGNALS,
  workers: "one",
  schema: fileReceiverSchema,
  create({ path, partition_format: partitions, partition_timezone: timezone, ...own }, context) {
    return new ArchiveReceiver(() => folderSource(path), { ...own, base: "", partitions, timezone }, context);
  },
});

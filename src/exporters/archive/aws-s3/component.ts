import { defineBuiltInExporter } from "#contract/built-in";
import { S3Client } from "#net/aws";
import {
  type Batch,
  type Exporter,
  type ExporterContext,
  isRefusal,
  type SendOptions,
  SIGNALS,
} from "../../../plugin.js";
import { ObjectBody } from "../object-body.js";
import { ObjectNames } from "../object-names.js";
import { byDestination } from "./by-destination.js";
import { type AwsS3Config, awsS3Schema } from "./config.js";

/** Stores batches as objects in S3 or a server like it. */
export const awsS3Exporter = defineBuiltInExporter<AwsS3Config>({
  type: "aws_s3",
  aliases: ["awss3"],
  summary: "Archives batches as objects in S3, MinIO, R2 or Google Cloud Storage; a retry stores nothing twice.",
  signals: SIGNALS,
  defaults: {
    timeout: "60s",
    sending_queue: {
      num_consumers: 4,
      // An object per minute, or sooner if it is large. Small objects cost more than they hold.
      batch: { flush_timeout: "60s", min_size: 8 * 1024 * 1024, max_size: 0, sizer: "bytes" },
    },
    // A bucket that does not exist yet is no fault of the data.
    retry_on_failure: {
      hold_on: ["3xx", "401", "402", "403", "404", "407"],
    },
  },
  schema: awsS3Schema,
  refusesSignal: ({ marshaler }, signal) =>
    signal === "logs" || marshaler.startsWith("otlp_") ? undefined : `marshaler ${marshaler} takes only logs`,
  create: (config, context) => new AwsS3Exporter(config, context),
});

class AwsS3Exporter implements Exporter {
  /** The name of an object depends on the id of its entry, so the entry must stay what it is. */
  readonly sealsEntries = true;
  private readonly config: AwsS3Config;
  private readonly context: ExporterContext;
  private readonly client: S3Client;
  private readonly body: ObjectBody;
  private readonly names: ObjectNames;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(config: AwsS3Config, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const { s3uploader: uploader, marshaler } = config;
    const address = {
      region: uploader.region,
      bucket: uploader.s3_bucket,
      endpoint: uploader.endpoint,
      isPathStyle: uploader.s3_force_path_style,
      isInsecure: uploader.disable_ssl,
    };
    this.client = new S3Client(address, uploader.role_arn, context);
    this.body = new ObjectBody(marshaler, uploader.compression || "none");
    this.names = new ObjectNames({
      basePrefix: uploader.s3_base_prefix,
      prefix: uploader.s3_prefix,
      partitionFormat: uploader.s3_partition_format,
      timezone: uploader.s3_partition_timezone,
      filePrefix: uploader.file_prefix,
      extension: this.body.extension,
      uniqueKey: uploader.unique_key_func_name || "hash",
    });
    const { contentType, contentEncoding } = this.body;
    this.headers = {
      "content-type": contentType,
      ...(contentEncoding && { "content-encoding": contentEncoding }),
      ...(uploader.acl && { "x-amz-acl": uploader.acl }),
      ...(uploader.storage_class !== "STANDARD" && { "x-amz-storage-class": uploader.storage_class }),
    };
  }

  /** Records for several places become several objects. If one fails, all are stored again under the same names. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { clock, random } = this.context;
    const key = options?.idempotencyKey ?? `${clock.now()} ${random()}`;
    const at = options?.delivery?.firstSeenAt ?? clock.now();
    const { resource_attrs_to_s3: attributes, s3uploader } = this.config;
    const placeOf = (bucket: string, prefix: string) => ({
      bucket: bucket || s3uploader.s3_bucket,
      name: this.names.nameOf({ signal: batch.signal, key, at, prefix }),
    });
    for (const { bucket, name, batch: part } of byDestination(batch, attributes, placeOf)) {
      const body = await this.body.encode(part);
      await this.client.putObject(name, body, abort, { headers: this.headers, bucket });
    }
  }

  /** A server that refuses to answer about the bucket is up: it may still take objects. */
  async check(abort: AbortSignal): Promise<void> {
    await this.client.checkBucket(abort).catch((error: unknown) => {
      if (!isRefusal(error) || error.kind !== "permanent") throw error;
    });
  }

  async stop(): Promise<void> {
    this.client.close();
  }
}

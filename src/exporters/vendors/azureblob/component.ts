import { createHash } from "node:crypto";
import { compress } from "#codecs/compression";
import { type Http1Answer, httpClientDefaults } from "#net";
import type { RenewedCredentials } from "#net/auth";
import { answerReader, HttpPoster } from "#net/sending";
import { batchToJsonBytesInSteps } from "#otlp/json";
import { formatTime, type LayoutPart, parseGoLayout, zoneAtInstant } from "#text";
import { inTurns } from "#work";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../../plugin.js";
import { type AzureToken, azureTokens } from "./azure-tokens.js";
import { type AzureBlobConfig, azureBlobSchema } from "./config.js";
import { parseStorageConnection, type StorageConnection, sharedKeyOf } from "./storage-key.js";

/** Writes each batch as a blob of Azure Storage. */
export const azureBlobExporter = defineExporter<AzureBlobConfig>({
  type: "azureblob",
  aliases: ["azure_blob"],
  summary: "Writes batches as blobs of Azure Storage, as OTLP/JSON or protobuf.",
  signals: SIGNALS,
  // A container that does not exist yet is no fault of the data.
  defaults: { retry_on_failure: { hold_on: ["3xx", "401", "402", "403", "404", "407"] } },
  schema: azureBlobSchema,
  create: (config, context) => new AzureBlobExporter(config, context),
});

const VERSION = "2021-08-06";
const EXTENSIONS = { none: "", gzip: ".gz", zstd: ".zst" };
/** How many names are tried before the attempt fails. */
const MAX_NAMES = 20;

class AzureBlobExporter implements Exporter {
  private readonly config: AzureBlobConfig;
  private readonly context: ExporterContext;
  private readonly connection: StorageConnection;
  private readonly tokens: RenewedCredentials<AzureToken> | undefined;
  private readonly poster: HttpPoster;
  private readonly compression: keyof typeof EXTENSIONS;
  private readonly layouts: Readonly<Record<Signal, readonly LayoutPart[]>>;
  private readonly read: (answer: Http1Answer) => void;

  constructor(config: AzureBlobConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const { auth, url, compression, blob_name_format: format } = config;
    this.connection =
      auth.type === "connection_string" ? parseStorageConnection(auth.connection_string!)! : { url: url!.href };
    this.tokens = auth.type === "connection_string" ? undefined : azureTokens(auth, context);
    this.poster = new HttpPoster(new URL(this.connection.url), httpClientDefaults(), {}, context);
    this.compression = compression || "none";
    const layout = (text: string): readonly LayoutPart[] =>
      format.time_parser_enabled ? parseGoLayout(text) : [{ kind: "text", text }];
    this.layouts = {
      logs: layout(format.logs_format),
      metrics: layout(format.metrics_format),
      traces: layout(format.traces_format),
    };
    this.read = answerReader(context.clock);
  }

  start(): Promise<void> {
    return this.poster.start();
  }

  async stop(): Promise<void> {
    this.poster.stop();
  }

  /** A name that is taken is never written to: the next number is tried. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const isJson = this.config.format === "json";
    const plain = isJson ? await inTurns(batchToJsonBytesInSteps(batch)) : batch.bytes;
    const body = this.compression === "none" ? plain : await compress(this.compression, plain);
    const type = isJson ? "application/json" : "application/x-protobuf";
    const key = options?.idempotencyKey ?? `${this.context.clock.now()} ${this.context.random()}`;
    const at = options?.delivery?.firstSeenAt ?? this.context.clock.now();
    for (let attempt = 0; attempt < MAX_NAMES; attempt++) {
      const name = this.blobName(batch.signal, at, key, attempt);
      if (await this.put(batch.signal, name, body, type, abort, options)) return;
    }
    throw new Refusal("transient", `${MAX_NAMES} names of blobs exist already: choose a larger serial_num_range`);
  }

  /** Returns false if there is a blob of this name. */
  private async put(
    signal: Signal,
    name: string,
    body: Uint8Array,
    type: string,
    abort: AbortSignal,
    options: SendOptions | undefined,
  ): Promise<boolean> {
    const { connection, tokens } = this;
    const url = new URL(connection.url);
    const path = `${this.config.container[signal]}/${name}`.split("/").map(encodeURIComponent).join("/");
    url.pathname = `${url.pathname.replace(/\/$/, "")}/${path}`;
    if (connection.signature !== undefined) url.search = connection.signature;
    const headers: Record<string, string> = {
      "content-type": type,
      "if-none-match": "*",
      "x-ms-blob-type": "BlockBlob",
      "x-ms-date": new Date(this.context.clock.now()).toUTCString(),
      "x-ms-version": VERSION,
    };
    const token = await tokens?.get();
    if (token !== undefined) headers["authorization"] = `Bearer ${token.token}`;
    if (connection.key !== undefined) headers["authorization"] = sharedKeyOf(connection.key, url, headers, body.length);
    return this.poster.put(
      url,
      [body],
      abort,
      options,
      (answer) => {
        if (answer.status === 409 && answer.headers.get("x-ms-error-code") === "BlobAlreadyExists") return false;
        if (answer.status === 401 && token !== undefined) tokens!.forget(token);
        if (answer.status === 404) throw noContainer(this.config.container[signal]);
        this.read(answer);
        return true;
      },
      headers,
    );
  }

  /** The same for every attempt to send a batch, as far as its names are free. */
  private blobName(signal: Signal, at: number, key: string, attempt: number): string {
    const {
      serial_num_enabled: isNumbered,
      serial_num_range: range,
      timezone,
      ...format
    } = this.config.blob_name_format;
    const time = { nanos: BigInt(Math.floor(at)) * 1_000_000n, zone: zoneAtInstant(timezone.trim(), at) };
    const name = formatTime(this.layouts[signal], time);
    const ending = EXTENSIONS[this.compression];
    if (!isNumbered && attempt === 0) return name + ending;
    const number = `_${createHash("sha256").update(`${key} ${attempt}`).digest().readUInt32BE(0) % range}`;
    const dot = name.lastIndexOf(".");
    const hasExtension = format.serial_num_before_extension && dot > name.lastIndexOf("/") + 1;
    return (hasExtension ? name.slice(0, dot) + number + name.slice(dot) : name + number) + ending;
  }
}

/** The user must create the container. Until then the queue holds all data. */
function noContainer(name: string): Refusal {
  return new Refusal("permanent", `there is no container "${name}" in the storage account`, {
    status: "HTTP 404",
    category: "integration",
  });
}

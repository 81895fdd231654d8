import { z } from "zod";
import { httpUrl } from "#net";
import { availableCompression } from "#net/otlp";
import { isPlace } from "#text";
import { ignored, secret, section, unsupported } from "../../../plugin.js";
import { parseStorageConnection } from "./storage-key.js";

const AUTH_TYPES = [
  "connection_string",
  "service_principal",
  "system_managed_identity",
  "user_managed_identity",
  "workload_identity",
] as const;

/** The keys that each kind of credentials needs. */
const NEEDED: Readonly<Record<(typeof AUTH_TYPES)[number], readonly ("connection_string" | keyof AzureIdentity)[]>> = {
  connection_string: ["connection_string"],
  service_principal: ["tenant_id", "client_id", "client_secret"],
  system_managed_identity: [],
  user_managed_identity: ["client_id"],
  workload_identity: ["tenant_id", "client_id", "federated_token_file"],
};

export interface AzureIdentity {
  readonly tenant_id?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly federated_token_file?: string | undefined;
}

const auth = z
  .strictObject({
    type: z.enum(AUTH_TYPES).meta({ description: "The kind of credentials." }),
    connection_string: secret()
      .optional()
      .refine((text) => !text || parseStorageConnection(text) !== undefined, "expected the text that Azure shows")
      .meta({ description: "The connection string of the storage account, with a key or a shared access signature." }),
    tenant_id: z.string().optional().meta({ description: "The tenant of the application." }),
    client_id: z.string().optional().meta({ description: "The id of the application or of the managed identity." }),
    client_secret: secret().optional().meta({ description: "The secret of the application." }),
    federated_token_file: z
      .string()
      .optional()
      .meta({ harmless: true, description: "The file with the token of the workload." }),
  })
  .superRefine((written, context) => {
    for (const key of NEEDED[written.type])
      if (!written[key])
        context.addIssue({ code: "custom", path: [key], message: `expected ${key} for type ${written.type}` });
  });

const names = (what: string, defaults: (signal: string) => string) => ({
  logs: z
    .string()
    .min(1)
    .default(defaults("logs"))
    .meta({ description: `${what} of logs.` }),
  metrics: z
    .string()
    .min(1)
    .default(defaults("metrics"))
    .meta({ description: `${what} of metrics.` }),
  traces: z
    .string()
    .min(1)
    .default(defaults("traces"))
    .meta({ description: `${what} of traces.` }),
});

const layout = (signal: string) =>
  z
    .string()
    .min(1)
    .default(`2006/01/02/${signal}_15_04_05.json`)
    .meta({ description: `The name of blobs of ${signal}, with Go's example time 2006-01-02 15:04:05 for the time.` });

const blobNames = z.strictObject({
  logs_format: layout("logs"),
  metrics_format: layout("metrics"),
  traces_format: layout("traces"),
  timezone: z
    .string()
    .default("")
    .refine((zone) => zone.trim() === "" || isPlace(zone.trim()), "expected a zone such as Europe/Berlin")
    .meta({ description: "The time zone of names. Default: that of the machine." }),
  serial_num_enabled: z.boolean().default(true).meta({ description: "Add a number to names." }),
  serial_num_range: z.number().int().positive().default(10_000).meta({ description: "Numbers are less than this." }),
  serial_num_before_extension: z.boolean().default(false).meta({ description: "Put the number before the extension." }),
  time_parser_enabled: z.boolean().default(true).meta({ description: "Whether names contain times." }),
  time_parser_ranges: unsupported("write names whose other parts are no times, such as 2006"),
  template_enabled: z
    .literal(false, "templates are not supported: write plain names, or choose containers by pipelines")
    .default(false)
    .meta({ description: "Only false." }),
  params: ignored("templates are not supported"),
});

export const azureBlobSchema = z
  .strictObject({
    url: z
      .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
      .meta({ description: "The URL of the storage account. A connection string names its own." }),
    auth: section(auth).meta({ description: "The credentials." }),
    container: section(z.strictObject(names("The container", (signal) => signal)))
      .prefault({})
      .meta({ description: "The containers, which must exist." }),
    blob_name_format: section(blobNames).prefault({}).meta({ description: "The names of blobs." }),
    format: z.enum(["json", "proto"]).default("json").meta({ description: "OTLP/JSON or protobuf." }),
    compression: availableCompression(z.enum(["", "none", "gzip", "zstd"]))
      .default("")
      .meta({ description: "Compress blobs: gzip (.gz) or zstd (.zst)." }),
    encodings: unsupported("blobs are OTLP; see format"),
    append_blob: section(
      z.strictObject({
        enabled: z
          .literal(false, "each batch is a blob of its own; set sending_queue.batch to make larger ones")
          .default(false)
          .meta({ description: "Only false." }),
        separator: ignored("each batch is a blob of its own"),
      }),
    )
      .optional()
      .meta({ description: "Blobs are never appended to." }),
  })
  .superRefine(({ url, auth: { type } }, context) => {
    if (url === undefined && type !== "connection_string")
      context.addIssue({ code: "custom", path: ["url"], message: "expected the URL of the storage account" });
  });

export type AzureBlobConfig = z.infer<typeof azureBlobSchema>;

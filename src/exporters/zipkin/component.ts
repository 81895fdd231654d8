import { SpanPoster } from "#net/sending";
import { type Batch, defineExporter } from "../../plugin.js";
import { type ZipkinExporterConfig, zipkinExporterSchema } from "./config.js";
import { jsonListsOf, protoListsOf } from "./span-lists.js";

/** Sends spans to Zipkin, or to another server that accepts its format. */
export const zipkinExporter = defineExporter<ZipkinExporterConfig>({
  type: "zipkin",
  summary: "Sends spans to Zipkin, as JSON or protobuf of its API's version 2.",
  signals: ["traces"],
  schema: zipkinExporterSchema,
  create: (config, context) => {
    const { endpoint: url, compression, format, default_service_name: defaultService } = config;
    const listsOf = format === "json" ? jsonListsOf : protoListsOf;
    const headers = { "Content-Type": format === "json" ? "application/json" : "application/x-protobuf" };
    const posting = {
      protocol: "Zipkin",
      url,
      headers,
      compression,
      read: (batch: Batch) => listsOf(batch, defaultService),
    };
    return new SpanPoster(posting, config, context);
  },
});

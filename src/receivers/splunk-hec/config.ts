import { z } from "zod";
import { httpServerKeys } from "#receiving/requests";
import { ignored, section, unsupported } from "../../plugin.js";

const urlPath = (path: string) => z.string().startsWith("/", "expected a path such as /raw").default(path);
const attribute = (name: string, description: string) => z.string().min(1).default(name).meta({ description });

const attributeNames = z.strictObject({
  source: attribute("com.splunk.source", "The attribute for the source."),
  sourcetype: attribute("com.splunk.sourcetype", "The attribute for the source type."),
  index: attribute("com.splunk.index", "The attribute for the index."),
  host: attribute("host.name", "The attribute for the host."),
});

const ack = z.strictObject({
  extension: unsupported("there is no extension ack: if the answer is 200, the events are already safe"),
  path: ignored("acknowledgements are not needed: if the answer is 200, the events are safe"),
});

export const splunkHecReceiverSchema = z.strictObject({
  ...httpServerKeys("127.0.0.1:8088"),
  raw_path: urlPath("/services/collector/raw").meta({
    harmless: true,
    description: "The path for raw text; all other paths accept events.",
  }),
  health_path: urlPath("/services/collector/health").meta({
    harmless: true,
    description: "The path of a page for health checks.",
  }),
  splitting: z
    .enum(["line", "none"])
    .default("line")
    .meta({ description: "Make a record of each line of raw text, or one of all of it." }),
  access_token_passthrough: z
    .boolean()
    .default(false)
    .meta({ description: "Keep the client's token as the resource attribute com.splunk.hec.access_token." }),
  hec_metadata_to_otel_attrs: section(attributeNames)
    .prefault({})
    .meta({ description: "Resource attributes for the metadata of events." }),
  ack: section(ack).optional().meta({ description: "Acknowledgements." }),
});

export type SplunkHecReceiverConfig = z.infer<typeof splunkHecReceiverSchema>;
export type HecAttributeNames = SplunkHecReceiverConfig["hec_metadata_to_otel_attrs"];

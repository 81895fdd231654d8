import { z } from "zod";
import { httpUrl } from "#net";
import { deprecated, ignored, secret } from "../../../plugin.js";

const QUEUE = "the sending queue has batch";

export const azureMonitorSchema = z.strictObject({
  connection_string: secret().default("").meta({
    description: "The connection string of Application Insights. APPLICATIONINSIGHTS_CONNECTION_STRING replaces it.",
  }),
  endpoint: z
    .preprocess((url) => (url === "" ? undefined : url), httpUrl().optional())
    .meta({ description: "The URL for telemetry. Default: that of the connection string." }),
  instrumentation_key: deprecated(secret().optional(), "write connection_string"),
  spaneventsenabled: z
    .boolean()
    .default(false)
    .meta({ description: "Send events of spans as messages and exceptions." }),
  maxbatchsize: ignored(QUEUE),
  maxbatchinterval: ignored(QUEUE),
  shutdown_timeout: ignored("use service.shutdown_timeout"),
  custom_events_enabled: z
    .boolean()
    .default(false)
    .meta({ description: "Send log records with microsoft.custom_event.name as custom events." }),
  exception_events_enabled: z
    .boolean()
    .default(false)
    .meta({ description: "Send log records with exception.type or exception.message as exceptions." }),
});

export type AzureMonitorConfig = z.infer<typeof azureMonitorSchema>;

/** The parts of a connection string. */
interface AzureConnection {
  readonly key: string;
  readonly endpoint: string;
}

/** Returns undefined if the text has no key, or if its endpoint is no URL. */
export function parseConnection(text: string): AzureConnection | undefined {
  const parts = new Map(text.split(";").map((part) => part.trim().split(/=(.*)/s).slice(0, 2) as [string, string]));
  const key = parts.get("InstrumentationKey");
  const endpoint = parts.get("IngestionEndpoint") || "https://dc.services.visualstudio.com";
  return key && URL.canParse(endpoint) ? { key, endpoint } : undefined;
}

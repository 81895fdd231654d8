import { answerReader, HttpPoster } from "#net/sending";
import { type Batch, defineExporter, type ExporterContext } from "../../../plugin.js";
import { type Destination, VendorExporter } from "../vendor-exporter.js";
import { type SignalFxConfig, signalFxSchema } from "./config.js";
import { SignalFxDataPoints } from "./data-points.js";

/** Sends data points to Splunk Observability Cloud. */
export const signalFxExporter = defineExporter<SignalFxConfig>({
  type: "signalfx",
  summary: "Sends metrics to Splunk Observability Cloud (SignalFx) as data points.",
  signals: ["metrics"],
  schema: signalFxSchema,
  create: (config, context) => createExporter(config, context),
});

function createExporter(config: SignalFxConfig, context: ExporterContext): VendorExporter {
  const url = new URL(config.ingest_url ?? `https://ingest.${config.realm}.observability.splunkcloud.com`);
  url.pathname = `${url.pathname.replace(/\/(v2\/datapoint)?\/?$/, "")}/v2/datapoint`;
  const headers = {
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
    "X-SF-Token": config.access_token.trim(),
  };
  const read = answerReader(context.clock);
  const to: Destination = {
    poster: new HttpPoster(url, config, headers, context),
    compression: "gzip",
    read: (answer) => void read(answer),
  };
  const points = new SignalFxDataPoints(config);
  const requestsOf = (batch: Batch) => points.requests(batch, context.clock.now(), to);
  return new VendorExporter([to], requestsOf, context);
}

import { defineConnector, eachBatch } from "../../plugin.js";
import { type DatadogConnectorConfig, datadogConnectorSchema } from "./config.js";

/**
 * Passes traces on unchanged, so that configs of the Collector's connector keep their shape. The statistics that the
 * Collector computes here have no published intake: Datadog computes them of the spans that the exporter `datadog`
 * sends, so pipelines of metrics get nothing.
 */
export const datadogConnector = defineConnector<DatadogConnectorConfig>({
  type: "datadog",
  summary: "Passes traces on to other pipelines; Datadog computes trace metrics from the spans it gets.",
  routes: [
    { from: "traces", to: "traces" },
    { from: "traces", to: "metrics" },
  ],
  schema: datadogConnectorSchema,
  create(_config, { to, logger }) {
    if (to === "traces") return (source) => source;
    logger.warn(
      {},
      "this connector makes no metrics: Datadog computes trace metrics from the spans that the exporter datadog sends; before a sampler, use the connector span_metrics",
    );
    // A batch that was taken out of its pipeline passes unchanged and becomes a dead letter.
    return eachBatch((batch, { setback }) => (setback === undefined ? null : batch));
  },
});

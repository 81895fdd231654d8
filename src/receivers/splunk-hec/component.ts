import { defineBuiltInReceiver } from "#contract/built-in";
import { HttpReceiver, listensAtEndpoint } from "#receiving/requests";
import { type SplunkHecReceiverConfig, splunkHecReceiverSchema } from "./config.js";
import { hecFormat } from "./format.js";

/** Events are taken at every path. */
const PATH = "/services/collector";

/** Events from clients of Splunk's HTTP Event Collector, as log records and metrics. */
export const splunkHecReceiver = defineBuiltInReceiver<SplunkHecReceiverConfig>({
  type: "splunk_hec",
  summary: "Receives events and metrics as Splunk's HTTP Event Collector does.",
  signals: ["logs", "metrics"],
  schema: splunkHecReceiverSchema,
  listensAt: listensAtEndpoint,
  handsOver: () => true,
  create(config, context) {
    const settings = { of: "Splunk's clients", config, format: hecFormat(config, context) };
    const anyPath = context.intakes.logs === undefined ? "metrics" : "logs";
    return new HttpReceiver({ ...settings, paths: { [anyPath]: PATH }, anyPath }, context);
  },
});

import { defineBuiltInReceiver } from "#contract/built-in";
import { HttpReceiver, listensAtEndpoint } from "#receiving/requests";
import { type FaroConfig, faroSchema } from "./config.js";
import { faroFormat } from "./format.js";

/** Data is taken at every path, as in the Collector. */
const PATH = "/";

/** Logs, exceptions, measurements, events and spans that Grafana's Faro SDK sends from browsers. */
export const faroReceiver = defineBuiltInReceiver<FaroConfig>({
  type: "faro",
  summary: "Receives logs, exceptions, measurements, events and spans of Grafana's Faro SDK from browsers.",
  signals: ["logs", "traces"],
  schema: faroSchema,
  listensAt: listensAtEndpoint,
  handsOver: () => true,
  create(config, context) {
    const settings = { of: "Faro's clients", config, format: faroFormat(context) };
    const anyPath = context.intakes.logs === undefined ? "traces" : "logs";
    return new HttpReceiver({ ...settings, paths: { [anyPath]: PATH }, anyPath }, context);
  },
});

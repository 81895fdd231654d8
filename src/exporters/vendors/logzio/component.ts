import { defineExporter, type Signal } from "../../../plugin.js";
import { otlpSender, SignalsExporter } from "../otlp-sender.js";
import { type LogzioConfig, logzioSchema } from "./config.js";

const LOGZIO_SIGNALS = ["logs", "traces"] as const satisfies readonly Signal[];
/** All other regions have the listener without a suffix. */
const REGIONS_BY_NAME = /^(?:ca|eu|uk|au)$/;

/** Sends OTLP to Logz.io. */
export const logzioExporter = defineExporter<LogzioConfig>({
  type: "logzio",
  summary: "Sends logs and traces to Logz.io, as OTLP over HTTP.",
  signals: LOGZIO_SIGNALS,
  defaults: { timeout: "30s" },
  schema: logzioSchema,
  create(config, context) {
    const own = { Authorization: `Bearer ${config.account_token.trim()}` };
    const senderOf = (signal: Signal) => otlpSender(signal, listenerUrl(config, signal), config, own, context);
    return new SignalsExporter(new Map(LOGZIO_SIGNALS.map((signal) => [signal, senderOf(signal)])));
  },
});

/** The URL that the signal is sent to. An endpoint in the config is the whole URL, as in the Collector. */
export function listenerUrl({ custom_endpoint, endpoint, region }: LogzioConfig, signal: Signal): URL {
  const written = custom_endpoint ?? endpoint;
  if (written !== undefined) return new URL(written);
  const name = region.toLowerCase();
  return new URL(`https://otlp-listener${REGIONS_BY_NAME.test(name) ? `-${name}` : ""}.logz.io/v1/${signal}`);
}

import { withoutEnd } from "#text";
import { defineExporter, limitedLog, SIGNALS, type Signal } from "../../../plugin.js";
import { otlpSender, SignalsExporter } from "../otlp-sender.js";
import { type SumologicConfig, sumologicSchema } from "./config.js";

/** Sends OTLP to a source of Sumo Logic. */
export const sumologicExporter = defineExporter<SumologicConfig>({
  type: "sumologic",
  summary: "Sends OTLP to Sumo Logic.",
  signals: SIGNALS,
  defaults: { timeout: "30s" },
  schema: sumologicSchema,
  create(config, context) {
    const { clock, logger } = context;
    const logErrors = limitedLog<string>(clock, (answer, suppressed) =>
      logger.warn({ answer, suppressed }, "Sumo Logic accepted a request and reported errors"),
    );
    const own = { "X-Sumo-Client": config.client };
    const senderOf = (signal: Signal) =>
      otlpSender(signal, signalUrl(config.endpoint, signal), config, own, context, logErrors);
    return new SignalsExporter(new Map(SIGNALS.map((signal) => [signal, senderOf(signal)])));
  },
});

function signalUrl(endpoint: URL, signal: Signal): URL {
  const url = new URL(endpoint);
  const suffix = `/v1/${signal}`;
  if (!url.pathname.endsWith(suffix)) url.pathname = withoutEnd(url.pathname, "/") + suffix;
  return url;
}

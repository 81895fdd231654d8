import { z } from "zod";
import { COMPRESSIONS } from "#codecs/compression";
import { httpClientKeys, httpUrl } from "#net";
import { availableCompression, wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, ignored } from "../../../plugin.js";

const format = (signal: string) =>
  z
    .string()
    .default("otlp")
    .refine((word) => word === "otlp", "only otlp is supported: create an OTLP source in Sumo Logic")
    .meta({ description: `The format of ${signal}: otlp.` });

export const sumologicSchema = z.strictObject({
  endpoint: httpUrl().meta({ description: "The URL of an OTLP source. /v1/logs and so on are added to it." }),
  log_format: format("logs"),
  metric_format: format("metrics"),
  trace_format: format("traces"),
  client: z.string().default("otelcol").meta({ description: "The client's name, in X-Sumo-Client." }),
  compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", ...COMPRESSIONS])))
    .default("gzip")
    .meta({ description: "The compression of bodies." }),
  max_request_body_size: ignored("it applies to other formats than otlp only, as in the Collector"),
  sticky_session_enabled: z
    .literal(false, "sticky sessions are not supported: leave it false")
    .optional()
    .meta({ description: "Not supported." }),
  decompose_otlp_histograms: z
    .literal(false, "decomposing histograms is not supported: leave it false")
    .optional()
    .meta({ description: "Not supported." }),
  ...httpClientKeys(),
});

export type SumologicConfig = z.infer<typeof sumologicSchema>;

import { z } from "zod";
import { COMPRESSIONS } from "#codecs/compression";
import { httpClientKeys, httpUrl } from "#net";
import { availableCompression, wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, ignored } from "../../plugin.js";

export const zipkinExporterSchema = z.strictObject({
  endpoint: httpUrl().meta({ description: "The URL of the spans API, such as http://zipkin:9411/api/v2/spans." }),
  ...httpClientKeys(),
  compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", ...COMPRESSIONS])))
    .default("none")
    .meta({ description: "The compression of bodies; Zipkin's own server accepts gzip." }),
  compression_params: ignored("the fastest compression level is used"),
  format: caseInsensitiveEnum(["json", "proto"]).default("json").meta({ description: "JSON or protobuf." }),
  default_service_name: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "The service name for spans whose resource has none." }),
});

export type ZipkinExporterConfig = z.infer<typeof zipkinExporterSchema>;

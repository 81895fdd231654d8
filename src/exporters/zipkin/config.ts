import { z } from "zod";
import { COMPRESSIONS } from "#codecs/compression";
import { httpClientKeys, httpUrl } from "#net";
import { wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, ignored } from "../../plugin.js";

export const zipkinExporterSchema = z.strictObject({
  endpoint: httpUrl().meta({ description: "The URL that takes spans, such as http://zipkin:9411/api/v2/spans." }),
  ...httpClientKeys(),
  compression: wordOrNone(caseInsensitiveEnum(["none", ...COMPRESSIONS]))
    .default("none")
    .meta({ description: "How bodies are sent; Zipkin's own server takes gzip." }),
  compression_params: ignored("bodies are compressed as fast as can be"),
  format: caseInsensitiveEnum(["json", "proto"]).default("json").meta({ description: "JSON or protobuf." }),
  default_service_name: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "The service of spans whose resource names none." }),
});

export type ZipkinExporterConfig = z.infer<typeof zipkinExporterSchema>;

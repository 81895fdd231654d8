import { z } from "zod";
import { COMPRESSIONS } from "#codecs/compression";
import { httpClientKeys, httpUrl } from "#net";
import { availableCompression, wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, ignored, section } from "../../plugin.js";

export const otlpHttpSchema = z
  .strictObject({
    endpoint: httpUrl()
      .optional()
      .meta({ description: "Base URL; /v1/logs, /v1/traces or /v1/metrics is added to it." }),
    logs_endpoint: httpUrl().optional().meta({ description: "Whole URL for logs; nothing is added to it." }),
    traces_endpoint: httpUrl().optional().meta({ description: "Whole URL for traces; nothing is added to it." }),
    metrics_endpoint: httpUrl().optional().meta({ description: "Whole URL for metrics; nothing is added to it." }),
    profiles_endpoint: ignored("there are no profiles pipelines"),
    compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", ...COMPRESSIONS])))
      .default("gzip")
      .meta({ description: "The compression of bodies." }),
    compression_params: section(
      z.strictObject({
        level: z
          .number()
          .int()
          .default(1)
          .meta({ description: "-1 to 9 for gzip, zlib and deflate; 1 to 22 for zstd; the others have no levels." }),
      }),
    )
      .optional()
      .meta({ description: "The compression level." }),
    encoding: caseInsensitiveEnum(["proto", "json"]).default("proto").meta({ description: "Protobuf or JSON." }),
    ...httpClientKeys(),
  })
  .refine(
    (config) => config.endpoint ?? config.logs_endpoint ?? config.traces_endpoint ?? config.metrics_endpoint,
    "expected an endpoint such as `endpoint: http://localhost:4318`",
  )
  .superRefine(({ compression, compression_params: params }, context) => {
    const problem = params && problemOfLevel(compression, params.level);
    if (problem) context.addIssue({ code: "custom", path: ["compression_params", "level"], message: problem });
  });

export type OtlpHttpConfig = z.infer<typeof otlpHttpSchema>;

function problemOfLevel(compression: string, level: number): string | undefined {
  if (/^(gzip|zlib|deflate)$/.test(compression)) return level >= -1 && level <= 9 ? undefined : "expected -1 to 9";
  if (compression === "zstd") return level >= 1 && level <= 22 ? undefined : "expected 1 to 22";
  return level === 0 || level === 1 ? undefined : `expected no level: ${compression} has none`;
}

import { z } from "zod";
import { COMPRESSIONS } from "#codecs/compression";
import { httpClientKeys, httpUrl } from "#net";
import { availableCompression, wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, deprecated, ignored, secret } from "../../../plugin.js";

const BY_QUEUE = "use sending_queue";
const url = () => z.preprocess((text) => (text === "" ? undefined : text), httpUrl().optional());

export const logzioSchema = z
  .strictObject({
    account_token: secret()
      .refine((token) => token.trim() !== "", "expected a token")
      .meta({ harmless: true, description: "The token of the Logz.io account." }),
    region: z.string().default("").meta({ description: "us, eu, uk, ca or au; other regions mean us." }),
    endpoint: url().meta({ description: "The whole URL, instead of the region's." }),
    custom_endpoint: deprecated(url(), "use endpoint"),
    compression: availableCompression(wordOrNone(caseInsensitiveEnum(["none", ...COMPRESSIONS])))
      .default("gzip")
      .meta({ description: "The compression of bodies." }),
    drain_interval: ignored("use the processor batch"),
    queue_capacity: ignored(BY_QUEUE),
    queue_max_length: ignored(BY_QUEUE),
    ...httpClientKeys(),
  })
  .superRefine(({ region, endpoint, custom_endpoint }, context) => {
    if (region === "" && endpoint === undefined && custom_endpoint === undefined)
      context.addIssue({ code: "custom", path: ["region"], message: "expected a region such as eu, or an endpoint" });
  });

export type LogzioConfig = z.infer<typeof logzioSchema>;

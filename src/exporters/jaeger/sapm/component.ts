import { type SpanBodies, SpanPoster } from "#net/sending";
import { encodedKey } from "#otlp/bytes";
import { type Batch, defineExporter } from "../../../plugin.js";
import { type PostSpans, postSpansOf } from "../post-spans.js";
import { type SapmExporterConfig, sapmExporterSchema } from "./config.js";

/** Sends spans to Splunk in its old protocol: a POST of Jaeger's batches. */
export const sapmExporter = defineExporter<SapmExporterConfig>({
  type: "sapm",
  summary: "Sends spans to Splunk over SAPM, its protocol before it supported OTLP.",
  signals: ["traces"],
  schema: sapmExporterSchema,
  create: (config, context) => {
    const { compression: wanted, disable_compression: isPlain, access_token: token, endpoint: url } = config;
    const compression = isPlain || wanted === "" ? "none" : wanted;
    const headers = {
      "Content-Type": "application/x-protobuf",
      ...(token.trim() !== "" && { "X-SF-Token": token.trim() }),
    };
    return new SpanPoster({ protocol: "SAPM", url, headers, compression, read: bodiesOf }, config, context);
  },
});

/** The attribute in which programs pass their tokens on. */
const TOKEN_KEY = encodedKey("com.splunk.signalfx.access_token");

/** Batches of several resources are one message when they follow each other. */
function bodiesOf({ bytes }: Batch): SpanBodies {
  const { requests, withoutIds } = postSpansOf(bytes, TOKEN_KEY);
  const bodies = together(requests).map((group) => ({
    records: group.flatMap(({ records }) => records),
    encode: () => Buffer.concat(group.map((request) => request.message())),
  }));
  return { bodies, withoutIds };
}

/** Many resources with few spans each become one request. */
function together(requests: readonly PostSpans[]): PostSpans[][] {
  const groups: PostSpans[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const request of requests) {
    if (length + request.length > MAX_BODY_LENGTH) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)!.push(request);
    length += request.length;
  }
  return groups;
}

/** Approximate maximum size of a body. */
const MAX_BODY_LENGTH = 2 * 1024 * 1024;

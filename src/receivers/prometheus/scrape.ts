import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ExpositionReader } from "./exposition/exposition-reader.js";
import { ProtobufReader, type ProtobufSink } from "./exposition/protobuf-reader.js";
import type { ScrapeHttpClient } from "./http-client.js";
import type { ScrapeProtocol } from "./job-config.js";
import type { Target } from "./target.js";

/** How a job scrapes its targets. */
export interface ScrapeSettings {
  readonly client: ScrapeHttpClient;
  readonly protocols: readonly ScrapeProtocol[];
  readonly fallback: ScrapeProtocol;
  readonly withCompression: boolean;
  /** How the target should write names that older scrapers do not understand. */
  readonly escaping: string;
  /** 0 means no limit. */
  readonly bodySizeLimit: number;
}

const MEDIA_TYPES: Readonly<Record<ScrapeProtocol, string>> = {
  PrometheusProto: "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
  "OpenMetricsText1.0.0": "application/openmetrics-text;version=1.0.0",
  "OpenMetricsText0.0.1": "application/openmetrics-text;version=0.0.1",
  "PrometheusText1.0.0": "text/plain;version=1.0.0",
  "PrometheusText0.0.4": "text/plain;version=0.0.4",
};

/**
 * Reads a target's response into the sink as it arrives, and resolves with its length when it is complete. Rejects with
 * a readable reason if there is no valid response.
 */
export async function scrapeTarget(
  target: Target,
  settings: ScrapeSettings,
  sink: ProtobufSink,
  abort: AbortSignal,
): Promise<number> {
  const response = await settings.client.get(target.url, requestHeaders(target, settings), abort);
  try {
    return await readAnswer(response, settings, sink);
  } finally {
    if (!response.complete) response.destroy();
  }
}

async function readAnswer(response: IncomingMessage, settings: ScrapeSettings, sink: ProtobufSink): Promise<number> {
  const { statusCode, statusMessage, headers } = response;
  if (statusCode !== 200) throw new Error(`the target answered HTTP ${statusCode} ${statusMessage ?? ""}`.trim());
  const reader = createReader(headers["content-type"], settings.fallback, sink);
  const { bodySizeLimit: limit } = settings;
  let size = 0;
  for await (const chunk of unpacked(response)) {
    size += (chunk as Buffer).length;
    if (limit > 0 && size > limit)
      throw new Error(`the answer is longer than body_size_limit, which is ${limit} bytes`);
    reader.push(chunk as Buffer);
  }
  if (!response.complete) throw new Error("the answer broke off");
  reader.end();
  return size;
}

function unpacked(response: IncomingMessage): Readable {
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (encoding === "identity" || encoding === "") return response;
  if (encoding !== "gzip") throw new Error(`the answer has the encoding ${encoding}, which was not asked for`);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  response.on("error", (error) => gunzip.destroy(error));
  return response.pipe(gunzip);
}

/** The reader for this content type; without a content type the job's fallback counts. */
function createReader(contentType: string | undefined, fallback: ScrapeProtocol, sink: ProtobufSink) {
  const type = contentType?.replace(/;.*/s, "").trim().toLowerCase();
  switch (type) {
    case "application/openmetrics-text":
      return new ExpositionReader("openmetrics", sink);
    case "text/plain":
      return new ExpositionReader("prometheus", sink);
    case "application/vnd.google.protobuf":
      if (!/;\s*encoding="?delimited"?/i.test(contentType!))
        throw new Error("the answer is protobuf without length delimiters");
      return new ProtobufReader(sink);
  }
  if (fallback === "PrometheusProto") return new ProtobufReader(sink);
  return new ExpositionReader(fallback.startsWith("OpenMetrics") ? "openmetrics" : "prometheus", sink);
}

/** Formats that can hold names with any characters, or escape them. */
const ESCAPING: ReadonlySet<ScrapeProtocol> = new Set(["OpenMetricsText1.0.0", "PrometheusText1.0.0"]);
/** The weight of the format that is preferred, in tenths, as Prometheus gives it. */
const FIRST_WEIGHT = 6;

function requestHeaders(target: Target, settings: ScrapeSettings): Record<string, string> {
  const { protocols, escaping, withCompression } = settings;
  const accepted = protocols.map((protocol, index) => {
    const escaped = ESCAPING.has(protocol) ? `;escaping=${escaping}` : "";
    return `${MEDIA_TYPES[protocol]}${escaped};q=0.${FIRST_WEIGHT - index}`;
  });
  return {
    Accept: [...accepted, `*/*;q=0.${FIRST_WEIGHT - protocols.length}`].join(","),
    "Accept-Encoding": withCompression ? "gzip" : "identity",
    "User-Agent": "sluice",
    "X-Prometheus-Scrape-Timeout-Seconds": String(target.timeoutMs / 1000),
  };
}

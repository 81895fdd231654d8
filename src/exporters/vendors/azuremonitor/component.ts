import { type Http1Answer, httpClientDefaults } from "#net";
import { parseRetryAfter, refusalOfHttp, refusalOfUnreadable } from "#net/otlp";
import { HttpPoster, plainText } from "#net/sending";
import { environmentVariable } from "#system";
import { type Batch, defineExporter, type Exporter, type ExporterContext, Refusal, SIGNALS } from "../../../plugin.js";
import { recordPages, writtenText } from "../record-pages.js";
import {
  type Destination,
  type RefusedItems,
  VendorExporter,
  type VendorPart,
  type VendorRequest,
} from "../vendor-exporter.js";
import { type AzureMonitorConfig, azureMonitorSchema, parseConnection } from "./config.js";
import { EnvelopeWriter } from "./envelopes.js";
import { MessageWriter } from "./messages.js";

/** Sends to Application Insights of Azure Monitor. */
export const azureMonitorExporter = defineExporter<AzureMonitorConfig>({
  type: "azuremonitor",
  summary: "Sends logs, metrics and spans to Application Insights of Azure Monitor.",
  signals: SIGNALS,
  schema: azureMonitorSchema,
  create: (config, context) => createExporter(config, context),
});

const LIMITS = { maxRecords: 1000, maxBytes: 512 * 1024 };
const MAX_ENVELOPES = 5000;

function createExporter(config: AzureMonitorConfig, context: ExporterContext): Exporter {
  const text = environmentVariable("APPLICATIONINSIGHTS_CONNECTION_STRING") || config.connection_string;
  const connection = parseConnection(text) ?? { key: config.instrumentation_key ?? "", endpoint: DEFAULT_ENDPOINT };
  if (connection.key === "") context.logger.error({ reason: noConnection().message }, "nothing can be sent");
  const url = new URL(config.endpoint ?? connection.endpoint);
  url.pathname = `${url.pathname.replace(/\/(v2(\.1)?\/track)?\/?$/, "")}/v2.1/track`;
  const headers = { "Content-Type": "application/x-json-stream", "Content-Encoding": "gzip" };
  const to: Destination = {
    poster: new HttpPoster(url, httpClientDefaults(), headers, context),
    compression: "gzip",
    read: (answer) => readAnswer(answer, context.clock.now()),
  };
  const writer = new EnvelopeWriter(connection.key, config);
  const requestsOf = (batch: Batch): VendorPart[] => {
    if (connection.key === "") throw noConnection();
    if (batch.signal === "metrics") {
      const { envelopes, skipped } = writer.metrics(batch, context.clock.now());
      return [...pagesOf(envelopes, to), ...skipped];
    }
    const { bytes } = batch;
    if (batch.signal === "logs")
      return recordPages(bytes, LIMITS).map(({ page }) => ({
        records: page.records,
        to,
        encode: () =>
          writtenText((out) => new MessageWriter(bytes, out, writer, config).write(page, context.clock.now())),
      }));
    return recordPages(bytes, LIMITS).flatMap(({ page }) => {
      const envelopes: { text: string; record: number }[] = [];
      let at = 0;
      page.each((start, end, owner) => {
        const record = page.records[at++]!;
        for (const text of writer.span(bytes, start, end, owner.resource)) envelopes.push({ text, record });
      });
      return pagesOf(envelopes, to);
    });
  };
  return new VendorExporter([to], requestsOf, context);
}

/** Holds the queue until the user has written the connection string. */
function noConnection(): Refusal {
  return new Refusal(
    "permanent",
    "there is no valid connection string (InstrumentationKey=...;IngestionEndpoint=https://...): write connection_string, or set APPLICATIONINSIGHTS_CONNECTION_STRING",
    { status: "HTTP 401", category: "integration" },
  );
}

const DEFAULT_ENDPOINT = "https://dc.services.visualstudio.com";

function pagesOf(envelopes: readonly { text: string; record: number }[], to: Destination): VendorRequest[] {
  const requests: VendorRequest[] = [];
  for (let from = 0; from < envelopes.length; from += MAX_ENVELOPES) {
    const page = envelopes.slice(from, from + MAX_ENVELOPES);
    const itemRecords = page.map(({ record }) => record);
    const encode = () => Buffer.from(page.map(({ text }) => text).join("\n"));
    requests.push({ records: [...new Set(itemRecords)], itemRecords, to, encode });
  }
  return requests;
}

/** 206 means that some envelopes were refused, each with a status of its own. */
function readAnswer({ status, body, headers }: Http1Answer, now: number): readonly RefusedItems[] | undefined {
  if (status >= 200 && status < 300) return refusedEnvelopes(status, body.toString("utf8"));
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), now);
  if (QUOTA.has(status)) throw refusalOfHttp(429, `HTTP ${status}: ${plainText(body)}`, retryAfterMs);
  throw refusalOfHttp(status, plainText(body), retryAfterMs);
}

/** The daily or monthly quota is used up. It is given again, so the data waits. */
const QUOTA: ReadonlySet<number> = new Set([402, 439]);
const RETRYABLE: ReadonlySet<number> = new Set([401, 402, 403, 408, 429, 439, 500, 502, 503, 504]);

/** The answer to a request that was accepted as a whole or in part. */
interface TrackAnswer {
  readonly itemsReceived?: number;
  readonly itemsAccepted?: number;
  readonly errors?: readonly { readonly index: number; readonly statusCode: number; readonly message?: string }[];
}

function refusedEnvelopes(status: number, text: string): readonly RefusedItems[] | undefined {
  const { itemsReceived = 0, itemsAccepted = 0, errors = [] } = parsedAnswer(status, text);
  if (itemsReceived - itemsAccepted !== errors.length)
    throw refusalOfUnreadable("/v2.1/track", `${itemsAccepted} of ${itemsReceived}, with ${errors.length} errors`);
  const groups = new Map<string, { items: number[]; refusal: Refusal }>();
  for (const { index, statusCode, message = "" } of errors) {
    const key = `${statusCode} ${message}`;
    const kind = RETRYABLE.has(statusCode) ? "transient" : "permanent";
    const options = { status: `HTTP ${statusCode}`, ...(kind === "permanent" && { category: "schema" as const }) };
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { items: [], refusal: new Refusal(kind, key, options) }));
    group.items.push(index);
  }
  return [...groups.values()];
}

/** An answer with 200 may be empty. One with 206 names what was refused. */
function parsedAnswer(status: number, text: string): TrackAnswer {
  try {
    return JSON.parse(text) as TrackAnswer;
  } catch {
    if (status !== 206) return {};
    throw refusalOfUnreadable("/v2.1/track", "it does not name the refused items");
  }
}

import type { Http1Answer } from "#net";
import { type Batch, defineExporter, type ExporterContext, Refusal } from "../../../plugin.js";
import { AwsRequests } from "../aws-requests.js";
import { recordPages } from "../record-pages.js";
import { type Destination, type RefusedItems, VendorExporter } from "../vendor-exporter.js";
import { type AwsXrayConfig, awsXraySchema } from "./config.js";
import { SegmentWriter } from "./segment.js";

/** Sends spans to X-Ray as segments. */
export const awsXrayExporter = defineExporter<AwsXrayConfig>({
  type: "awsxray",
  summary: "Sends spans to AWS X-Ray, as segments and subsegments.",
  signals: ["traces"],
  schema: awsXraySchema,
  create: (config, context) => createExporter(config, context),
});

/** PutTraceSegments takes 50 documents in a request, of 64 kB each. */
const LIMITS = { maxRecords: 50, maxBytes: 256 * 1024 };

function createExporter(config: AwsXrayConfig, context: ExporterContext): VendorExporter {
  const requests = new AwsRequests("xray", "/TraceSegments", "application/json", config, context);
  const to = (ids: readonly string[]): Destination => ({
    poster: requests.poster,
    compression: "none",
    headersOf: (body) => requests.sign(body),
    read(answer) {
      requests.readError(answer);
      return unprocessedIn(answer, ids);
    },
  });
  const requestsOf = (batch: Batch) =>
    recordPages(batch.bytes, LIMITS).map(({ page }) => {
      const ids: string[] = [];
      return {
        records: page.records,
        to: to(ids),
        encode() {
          const writer = new SegmentWriter(batch.bytes, config);
          const documents: string[] = [];
          ids.length = 0;
          page.each((start, end, owner) => {
            const { id, text } = writer.documentOf(start, end, owner.resource);
            ids.push(id);
            documents.push(text);
          });
          return Buffer.from(JSON.stringify({ TraceSegmentDocuments: documents }));
        },
      };
    });
  return new VendorExporter([to([])], requestsOf, context);
}

interface UnprocessedSegment {
  readonly Id?: string;
  readonly ErrorCode?: string;
  readonly Message?: string;
}

/**
 * Returns the segments that X-Ray could not process, by their ids. It stored the others. An answer may name no id, for
 * example for a segment that it could not read: then the whole request is refused, and the queue finds the segment by
 * sending parts of the batch. That does no harm, because a segment that is sent again replaces itself.
 */
function unprocessedIn({ body }: Http1Answer, ids: readonly string[]): readonly RefusedItems[] {
  const text = body.toString("utf8");
  if (!text.includes('"UnprocessedTraceSegments"')) return [];
  const { UnprocessedTraceSegments: list } = JSON.parse(text) as {
    UnprocessedTraceSegments?: readonly UnprocessedSegment[] | null;
  };
  return (list ?? []).map((segment) => {
    const refusal = refusalOf(segment);
    const items = ids.flatMap((id, item) => (id === segment.Id ? [item] : []));
    if (items.length === 0) throw refusal;
    return { items, refusal };
  });
}

function refusalOf({ Id: id = "", ErrorCode: code = "", Message: message = "" }: UnprocessedSegment): Refusal {
  const text = `X-Ray did not process segment ${id || "without an id"}: ${code} ${message}`.trim();
  if (PASSING.test(code)) return new Refusal("transient", text, { status: code, blame: "backend" });
  return new Refusal("permanent", text, { status: code, category: "schema" });
}

/** Codes that are not about the segment. X-Ray publishes no list. */
const PASSING = /throttl|limit|timeout|internal|unavailable/i;

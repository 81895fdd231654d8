import type { Http1Answer } from "#net";
import { type Batch, defineExporter, type ExporterContext, Refusal } from "../../../plugin.js";
import { AwsRequests } from "../aws-requests.js";
import { recordPages } from "../record-pages.js";
import { type Destination, VendorExporter } from "../vendor-exporter.js";
import { type AwsXrayConfig, awsXraySchema } from "./config.js";
import { segmentOf } from "./segment.js";

/** Sends spans to X-Ray as segments. */
export const awsXrayExporter = defineExporter<AwsXrayConfig>({
  type: "awsxray",
  summary: "Sends spans to AWS X-Ray, as segments and subsegments.",
  signals: ["traces"],
  schema: awsXraySchema,
  create: (config, context) => createExporter(config, context),
});

/** X-Ray takes 50 documents in a request, of 64 KiB each. */
const LIMITS = { maxRecords: 50, maxBytes: 256 * 1024 };

function createExporter(config: AwsXrayConfig, context: ExporterContext): VendorExporter {
  const requests = new AwsRequests("xray", "/TraceSegments", "application/json", config, context);
  const to: Destination = {
    poster: requests.poster,
    compression: "none",
    headersOf: (body) => requests.sign(body),
    read(answer) {
      requests.readError(answer);
      return checkProcessed(answer);
    },
  };
  const requestsOf = (batch: Batch) =>
    recordPages(batch.bytes, LIMITS).map(({ page }) => ({
      records: page.records,
      to,
      encode() {
        const documents: string[] = [];
        page.each((start, end, owner) => {
          documents.push(JSON.stringify(segmentOf(batch.bytes, start, end, owner.resource, config)));
        });
        return Buffer.from(JSON.stringify({ TraceSegmentDocuments: documents }));
      },
    }));
  return new VendorExporter([to], requestsOf, context);
}

/**
 * Throws if X-Ray could not process some segments. The queue then finds them by sending halves: a segment that is sent
 * again replaces itself.
 */
function checkProcessed({ body }: Http1Answer): undefined {
  const text = body.toString("utf8");
  if (!text.includes("ErrorCode")) return undefined;
  const { UnprocessedTraceSegments: list = [] } = JSON.parse(text) as {
    UnprocessedTraceSegments?: { Id?: string; ErrorCode?: string; Message?: string }[];
  };
  if (list.length === 0) return undefined;
  const [{ ErrorCode: code = "", Message: message = "" } = {}] = list;
  throw new Refusal("permanent", `${list.length} segments were not processed: ${code} ${message}`, {
    category: "schema",
  });
}

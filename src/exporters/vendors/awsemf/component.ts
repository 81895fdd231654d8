import { type Batch, defineExporter, type ExporterContext } from "../../../plugin.js";
import { CloudWatchLogs } from "../cloudwatch-logs.js";
import { VendorExporter, type VendorPart } from "../vendor-exporter.js";
import { type AwsEmfConfig, awsEmfSchema } from "./config.js";
import { EmfDocuments } from "./emf-documents.js";

/** Puts metrics into CloudWatch, as log events in the embedded metric format. */
export const awsEmfExporter = defineExporter<AwsEmfConfig>({
  type: "awsemf",
  summary: "Sends metrics to Amazon CloudWatch, as log events in the embedded metric format.",
  signals: ["metrics"],
  schema: awsEmfSchema,
  create: (config, context) => createExporter(config, context),
});

function createExporter(config: AwsEmfConfig, context: ExporterContext): VendorExporter {
  const client = new CloudWatchLogs(config, context);
  const documents = new EmfDocuments(config);
  const requestsOf = (batch: Batch): readonly VendorPart[] => {
    const { streams, skipped } = documents.of(batch.bytes, context.clock.now());
    return [...streams.flatMap(({ group, stream, events }) => client.requestsOf(group, stream, events)), ...skipped];
  };
  return new VendorExporter([client.destination], requestsOf, context);
}

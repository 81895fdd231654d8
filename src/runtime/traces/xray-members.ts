/**
 * Members of `aws` in a segment of X-Ray, and the attributes of a span that they stand for. The receiver writes the first
 * attribute. The exporter reads all of them, because instrumentations use different names.
 */
export const AWS_MEMBERS: readonly (readonly [member: string, keys: readonly [string, ...string[]]])[] = [
  ["operation", ["aws.operation"]],
  ["region", ["aws.region"]],
  ["request_id", ["aws.request_id", "aws.requestId"]],
  ["queue_url", ["aws.queue_url", "aws.queue.url"]],
  ["table_name", ["aws.table_name", "aws.table.name"]],
];

export const AWS_ACCOUNT = "aws.account_id";
/** The names of the attributes that are annotations. */
export const XRAY_ANNOTATIONS = "aws.xray.annotations";
/** Attributes with this prefix have a namespace of the metadata, as JSON. */
export const XRAY_METADATA_PREFIX = "aws.xray.metadata.";

/** Field numbers of the messages in io.prometheus.client, the protobuf form of the exposition. */

export const FAMILY_NAME = 1;
export const FAMILY_HELP = 2;
export const FAMILY_TYPE = 3;
export const FAMILY_METRIC = 4;
export const FAMILY_UNIT = 5;

export const METRIC_LABEL = 1;
export const METRIC_GAUGE = 2;
export const METRIC_COUNTER = 3;
export const METRIC_SUMMARY = 4;
export const METRIC_UNTYPED = 5;
export const METRIC_TIMESTAMP_MS = 6;
export const METRIC_HISTOGRAM = 7;

export const LABEL_NAME = 1;
export const LABEL_VALUE = 2;

/** Fields of a Gauge, Counter or Untyped; only a counter has the other two. */
export const VALUE = 1;
export const COUNTER_EXEMPLAR = 2;
export const COUNTER_CREATED = 3;

export const SUMMARY_COUNT = 1;
export const SUMMARY_SUM = 2;
export const SUMMARY_QUANTILE = 3;
export const SUMMARY_CREATED = 4;
export const QUANTILE = 1;
export const QUANTILE_VALUE = 2;

export const HISTOGRAM_COUNT = 1;
export const HISTOGRAM_SUM = 2;
export const HISTOGRAM_BUCKET = 3;
export const HISTOGRAM_COUNT_FLOAT = 4;
export const HISTOGRAM_SCHEMA = 5;
export const HISTOGRAM_ZERO_THRESHOLD = 6;
export const HISTOGRAM_ZERO_COUNT = 7;
export const HISTOGRAM_ZERO_COUNT_FLOAT = 8;
export const HISTOGRAM_NEGATIVE_SPAN = 9;
export const HISTOGRAM_NEGATIVE_DELTA = 10;
export const HISTOGRAM_NEGATIVE_COUNT = 11;
export const HISTOGRAM_POSITIVE_SPAN = 12;
export const HISTOGRAM_POSITIVE_DELTA = 13;
export const HISTOGRAM_POSITIVE_COUNT = 14;
export const HISTOGRAM_CREATED = 15;
export const HISTOGRAM_EXEMPLAR = 16;

export const BUCKET_COUNT = 1;
export const BUCKET_UPPER_BOUND = 2;
export const BUCKET_EXEMPLAR = 3;
export const BUCKET_COUNT_FLOAT = 4;

export const BUCKET_SPAN_OFFSET = 1;
export const BUCKET_SPAN_LENGTH = 2;

export const EXEMPLAR_LABEL = 1;
export const EXEMPLAR_VALUE = 2;
export const EXEMPLAR_TIMESTAMP = 3;

/** Fields of google.protobuf.Timestamp. */
export const TIMESTAMP_SECONDS = 1;
export const TIMESTAMP_NANOS = 2;

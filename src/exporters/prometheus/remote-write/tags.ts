/** Tags (field number << 3 | wire type) of remote write's messages. */

// Fields of both versions.
export const LABEL_NAME_TAG = 10;
export const LABEL_VALUE_TAG = 18;
export const SAMPLE_VALUE_TAG = 9;
export const SAMPLE_TIMESTAMP_TAG = 16;
export const EXEMPLAR_VALUE_TAG = 17;
export const EXEMPLAR_TIMESTAMP_TAG = 24;
export const HISTOGRAM_COUNT_TAG = 8;
export const HISTOGRAM_SUM_TAG = 25;
export const HISTOGRAM_SCHEMA_TAG = 32;
export const HISTOGRAM_ZERO_THRESHOLD_TAG = 41;
export const HISTOGRAM_ZERO_COUNT_TAG = 48;
export const HISTOGRAM_NEGATIVE_SPANS_TAG = 66;
export const HISTOGRAM_NEGATIVE_DELTAS_TAG = 74;
export const HISTOGRAM_POSITIVE_SPANS_TAG = 90;
export const HISTOGRAM_POSITIVE_DELTAS_TAG = 98;
export const HISTOGRAM_TIMESTAMP_TAG = 120;
export const BUCKET_SPAN_OFFSET_TAG = 8;
export const BUCKET_SPAN_LENGTH_TAG = 16;

// Fields of version 1.0: prometheus.WriteRequest.
export const V1_TIMESERIES_TAG = 10;
export const V1_METADATA_TAG = 26;
/** Fields of a TimeSeries and of an Exemplar. */
export const V1_LABELS_TAG = 10;
export const V1_SAMPLES_TAG = 18;
export const V1_EXEMPLARS_TAG = 26;
export const V1_HISTOGRAMS_TAG = 34;
export const V1_METADATA_TYPE_TAG = 8;
export const V1_METADATA_NAME_TAG = 18;
export const V1_METADATA_HELP_TAG = 34;
export const V1_METADATA_UNIT_TAG = 42;

// Fields of version 2.0: io.prometheus.write.v2.Request.
export const V2_SYMBOLS_TAG = 34;
export const V2_TIMESERIES_TAG = 42;
/** Fields of a TimeSeries and of an Exemplar. */
export const V2_LABELS_REFS_TAG = 10;
export const V2_SAMPLES_TAG = 18;
export const V2_HISTOGRAMS_TAG = 26;
export const V2_EXEMPLARS_TAG = 34;
export const V2_METADATA_TAG = 42;
export const V2_METADATA_TYPE_TAG = 8;
export const V2_METADATA_HELP_REF_TAG = 24;
export const V2_METADATA_UNIT_REF_TAG = 32;

/**
 * Tags (field number << 3 | wire type) of OTLP fields that hot code looks for itself.
 *
 * They follow from the table in messages.ts, and a test keeps them equal. They are literals because the compiler
 * inlines a literal into the comparison, while a value computed at start-up would be loaded for every field of every
 * record.
 */

/** All known fields have tags below this; a larger tag belongs to an unknown field. */
export const TAG_LIMIT = 160;

export const KEY_TAG = 10;
export const VALUE_TAG = 18;

export const STRING_VALUE_TAG = 10;
export const BOOL_VALUE_TAG = 16;
export const INT_VALUE_TAG = 24;
export const DOUBLE_VALUE_TAG = 33;
export const ARRAY_VALUE_TAG = 42;
export const KVLIST_VALUE_TAG = 50;
export const BYTES_VALUE_TAG = 58;
/** An item of an ArrayValue or a KeyValueList. */
export const ELEMENT_TAG = 10;

/** The records of one resource, in the request of any signal. */
export const RESOURCE_CONTAINER_TAG = 10;
/** The records of one scope, in a resource's container. */
export const SCOPE_CONTAINER_TAG = 18;
/** A log record, span or metric in a scope's container. */
export const SCOPE_ITEM_TAG = 18;
/** The Resource or Scope of a container. */
export const OWNER_TAG = 10;
export const SCHEMA_URL_TAG = 26;
export const RESOURCE_ATTRIBUTES_TAG = 10;
export const SCOPE_NAME_TAG = 10;
export const SCOPE_VERSION_TAG = 18;
export const SCOPE_ATTRIBUTES_TAG = 26;

export const LOG_TIME_TAG = 9;
export const LOG_SEVERITY_NUMBER_TAG = 16;
export const LOG_SEVERITY_TEXT_TAG = 26;
export const LOG_BODY_TAG = 42;
export const LOG_ATTRIBUTES_TAG = 50;
export const LOG_FLAGS_TAG = 69;
export const LOG_TRACE_ID_TAG = 74;
export const LOG_SPAN_ID_TAG = 82;
export const LOG_OBSERVED_TIME_TAG = 89;
export const LOG_EVENT_NAME_TAG = 98;

export const SPAN_TRACE_ID_TAG = 10;
export const SPAN_ID_TAG = 18;
export const SPAN_TRACE_STATE_TAG = 26;
export const SPAN_PARENT_ID_TAG = 34;
export const SPAN_NAME_TAG = 42;
export const SPAN_KIND_TAG = 48;
export const SPAN_START_TIME_TAG = 57;
export const SPAN_END_TIME_TAG = 65;
export const SPAN_ATTRIBUTES_TAG = 74;
export const SPAN_EVENTS_TAG = 90;
export const SPAN_LINKS_TAG = 106;
export const SPAN_STATUS_TAG = 122;
export const SPAN_FLAGS_TAG = 133;
export const SPAN_EVENT_TIME_TAG = 9;
export const SPAN_EVENT_NAME_TAG = 18;
export const SPAN_EVENT_ATTRIBUTES_TAG = 26;
export const SPAN_EVENT_DROPPED_TAG = 32;
export const SPAN_LINK_TRACE_ID_TAG = 10;
export const SPAN_LINK_SPAN_ID_TAG = 18;
export const SPAN_LINK_ATTRIBUTES_TAG = 34;
export const STATUS_MESSAGE_TAG = 18;
export const STATUS_CODE_TAG = 24;

export const METRIC_NAME_TAG = 10;
export const METRIC_DESCRIPTION_TAG = 18;
export const METRIC_UNIT_TAG = 26;
export const GAUGE_TAG = 42;
export const SUM_TAG = 58;
export const HISTOGRAM_TAG = 74;
export const EXPONENTIAL_HISTOGRAM_TAG = 82;
export const SUMMARY_TAG = 90;
/** A data point in the data of any type of metric. */
export const DATA_POINT_TAG = 10;
/** Whether the data of a sum or a histogram is cumulative or delta. */
export const TEMPORALITY_TAG = 16;
/** Whether a sum only grows. */
export const MONOTONIC_TAG = 24;
export const DATA_POINT_START_TIME_TAG = 17;
export const DATA_POINT_TIME_TAG = 25;
export const NUMBER_DOUBLE_TAG = 33;
export const NUMBER_INT_TAG = 49;
export const NUMBER_ATTRIBUTES_TAG = 58;

/** Tags of a Metric's data containers. */
export const METRIC_DATA_TAGS: readonly number[] = [
  GAUGE_TAG,
  SUM_TAG,
  HISTOGRAM_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  SUMMARY_TAG,
];

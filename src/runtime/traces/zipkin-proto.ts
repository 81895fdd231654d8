/** Tags (field number << 3 | wire type) of zipkin.proto3: of ListOfSpans, Span, Annotation, the map of tags, and Endpoint. */
export const ZIPKIN_LIST_SPAN_TAG = 10;
export const ZIPKIN_SPAN_TRACE_ID_TAG = 10;
export const ZIPKIN_SPAN_PARENT_ID_TAG = 18;
export const ZIPKIN_SPAN_ID_TAG = 26;
export const ZIPKIN_SPAN_KIND_TAG = 32;
export const ZIPKIN_SPAN_NAME_TAG = 42;
export const ZIPKIN_SPAN_TIMESTAMP_TAG = 49;
export const ZIPKIN_SPAN_DURATION_TAG = 56;
export const ZIPKIN_SPAN_LOCAL_ENDPOINT_TAG = 66;
export const ZIPKIN_SPAN_REMOTE_ENDPOINT_TAG = 74;
export const ZIPKIN_SPAN_ANNOTATION_TAG = 82;
export const ZIPKIN_SPAN_TAGS_TAG = 90;
export const ZIPKIN_ANNOTATION_TIMESTAMP_TAG = 9;
export const ZIPKIN_ANNOTATION_VALUE_TAG = 18;
export const ZIPKIN_TAGS_KEY_TAG = 10;
export const ZIPKIN_TAGS_VALUE_TAG = 18;
export const ZIPKIN_ENDPOINT_SERVICE_NAME_TAG = 10;
export const ZIPKIN_ENDPOINT_IPV4_TAG = 18;
export const ZIPKIN_ENDPOINT_IPV6_TAG = 26;
export const ZIPKIN_ENDPOINT_PORT_TAG = 32;

/** By number. */
export const ZIPKIN_PROTO_KINDS: readonly string[] = ["", "CLIENT", "SERVER", "PRODUCER", "CONSUMER"];

/** Zipkin's and Jaeger's names for the parts of a span. */

export {
  JAEGER_GRPC_PATH,
  JAEGER_KINDS,
  JAEGER_REF_TYPES,
  JAEGER_TAG_TYPES,
  JAEGER_TAGS,
  NO_JAEGER_SERVICE,
} from "./jaeger-tags.js";
export { isResourceKey } from "./resource-keys.js";
export {
  ENDPOINT_KEYS,
  NO_SERVICE_NAME,
  SERVICE_NAME_KEYS,
  ZIPKIN_KINDS,
  ZIPKIN_TAGS,
  type ZipkinEndpoint,
  type ZipkinSpan,
  type ZipkinTags,
} from "./zipkin-span.js";

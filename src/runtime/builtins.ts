import { count } from "../connectors/count/index.js";
import { failover } from "../connectors/failover/index.js";
import { forward } from "../connectors/forward.js";
import { routing } from "../connectors/routing/index.js";
import { debugExporter } from "../exporters/debug/index.js";
import { fileExporter } from "../exporters/file/index.js";
import { nopExporter } from "../exporters/nop.js";
import { otlpGrpcExporter } from "../exporters/otlp-grpc/otlp-grpc-exporter.js";
import { otlpHttpExporter } from "../exporters/otlp-http/otlp-http-exporter.js";
import { adminApi } from "../extensions/admin-api/index.js";
import { healthCheck } from "../extensions/health-check.js";
import { reliability } from "../extensions/reliability/index.js";
import { adaptiveSampling } from "../processors/adaptive-sampling/index.js";
import { attributesProcessor, resourceProcessor } from "../processors/attributes/index.js";
import { batch } from "../processors/batch.js";
import { filter } from "../processors/filter/index.js";
import { groupByAttrs } from "../processors/groupbyattrs.js";
import { memoryLimiter } from "../processors/memory-limiter.js";
import { pii } from "../processors/pii/index.js";
import { probabilisticSampler } from "../processors/probabilistic-sampler.js";
import { rateLimit } from "../processors/rate-limit/index.js";
import { redaction } from "../processors/redaction/index.js";
import { tailSampling } from "../processors/tail-sampling/index.js";
import { transform } from "../processors/transform/index.js";
import { versioning } from "../processors/versioning.js";
import { appReceiver } from "../receivers/app.js";
import { otlpReceiver } from "../receivers/otlp/otlp-receiver.js";
import type { ComponentFactory } from "./contract/component.js";

/** The components that come with Sluice. */
export const builtins: readonly ComponentFactory[] = [
  appReceiver,
  otlpReceiver,
  batch,
  memoryLimiter,
  rateLimit,
  probabilisticSampler,
  adaptiveSampling,
  tailSampling,
  filter,
  transform,
  versioning,
  attributesProcessor,
  resourceProcessor,
  pii,
  redaction,
  groupByAttrs,
  otlpHttpExporter,
  otlpGrpcExporter,
  debugExporter,
  fileExporter,
  nopExporter,
  count,
  failover,
  forward,
  routing,
  healthCheck,
  reliability,
  adminApi,
];

import { count } from "../../connectors/count/count.js";
import { failover } from "../../connectors/failover/failover.js";
import { forward } from "../../connectors/forward.js";
import { routing } from "../../connectors/routing/routing.js";
import { debugExporter } from "../../exporters/debug/debug.js";
import { fileExporter } from "../../exporters/file/file.js";
import { nopExporter } from "../../exporters/nop.js";
import { otlpGrpcExporter } from "../../exporters/otlp-grpc/otlp-grpc.js";
import { otlpHttpExporter } from "../../exporters/otlp-http/otlp-http.js";
import { adminApi } from "../../extensions/admin-api/admin-api.js";
import { healthCheck } from "../../extensions/health-check.js";
import { reliability } from "../../extensions/reliability/reliability.js";
import { attributesProcessor, resourceProcessor } from "../../processors/attributes/attributes.js";
import { batch } from "../../processors/batch.js";
import { filter } from "../../processors/filter/filter.js";
import { groupByAttrs } from "../../processors/groupbyattrs/groupbyattrs.js";
import { memoryLimiter } from "../../processors/memory-limiter.js";
import { pii } from "../../processors/pii/pii.js";
import { redaction } from "../../processors/pii/redaction/redaction.js";
import { rateLimit } from "../../processors/rate-limit/rate-limit.js";
import { adaptiveSampling } from "../../processors/sampling/adaptive/adaptive-sampling.js";
import { probabilisticSampler } from "../../processors/sampling/probabilistic/probabilistic-sampler.js";
import { tailSampling } from "../../processors/sampling/tail/tail-sampling.js";
import { transform } from "../../processors/transform/transform.js";
import { versioning } from "../../processors/versioning/versioning.js";
import { appReceiver } from "../../receivers/app.js";
import { otlpReceiver } from "../../receivers/otlp/otlp.js";
import type { ComponentFactory } from "../contract/component.js";

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

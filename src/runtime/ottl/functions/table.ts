import { COLLECTION_CONVERTERS } from "./converters-collection.js";
import { HASH_CONVERTERS } from "./converters-hash.js";
import { LAMBDA_CONVERTERS } from "./converters-lambda.js";
import { NETWORK_CONVERTERS } from "./converters-network.js";
import { NUMBER_CONVERTERS } from "./converters-number.js";
import { PARSE_CONVERTERS } from "./converters-parse.js";
import { TEXT_CONVERTERS } from "./converters-text.js";
import { TIME_CONVERTERS } from "./converters-time.js";
import { TYPE_CONVERTERS } from "./converters-type.js";
import { EDITORS } from "./editors.js";
import { TEXT_EDITORS } from "./editors-text.js";
import { FLATTEN } from "./flatten.js";
import type { FunctionSpec } from "./function-spec.js";
import { HISTOGRAM_EDITORS } from "./metric/editors-histogram.js";
import { METRIC_EDITORS } from "./metric/editors-metric.js";
import { SEMCONV_SPAN_NAME } from "./semconv-span-name.js";

import { XML_CONVERTERS } from "./xml/converters-xml.js";

const ALL: readonly FunctionSpec[] = [
  ...EDITORS,
  ...TEXT_EDITORS,
  FLATTEN,
  ...METRIC_EDITORS,
  ...HISTOGRAM_EDITORS,
  SEMCONV_SPAN_NAME,
  ...TYPE_CONVERTERS,
  ...TEXT_CONVERTERS,
  ...COLLECTION_CONVERTERS,
  ...LAMBDA_CONVERTERS,
  ...PARSE_CONVERTERS,
  ...XML_CONVERTERS,
  ...NUMBER_CONVERTERS,
  ...NETWORK_CONVERTERS,
  ...TIME_CONVERTERS,
  ...HASH_CONVERTERS,
];

/** All functions of the language by name. */
export const FUNCTIONS: ReadonlyMap<string, FunctionSpec> = new Map(ALL.map((spec) => [spec.name, spec]));

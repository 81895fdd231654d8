import { COLLECTION_CONVERTERS } from "./converters-collection.js";
import { HASH_CONVERTERS } from "./converters-hash.js";
import { PARSE_CONVERTERS } from "./converters-parse.js";
import { TEXT_CONVERTERS } from "./converters-text.js";
import { TIME_CONVERTERS } from "./converters-time.js";
import { TYPE_CONVERTERS } from "./converters-type.js";
import { EDITORS } from "./editors.js";
import { METRIC_EDITORS } from "./editors-metric.js";
import { TEXT_EDITORS } from "./editors-text.js";
import { FLATTEN } from "./flatten.js";
import type { FunctionSpec } from "./function-spec.js";

const ALL: readonly FunctionSpec[] = [
  ...EDITORS,
  ...TEXT_EDITORS,
  FLATTEN,
  ...METRIC_EDITORS,
  ...TYPE_CONVERTERS,
  ...TEXT_CONVERTERS,
  ...COLLECTION_CONVERTERS,
  ...PARSE_CONVERTERS,
  ...TIME_CONVERTERS,
  ...HASH_CONVERTERS,
];

/** All functions of the language by name. */
export const FUNCTIONS: ReadonlyMap<string, FunctionSpec> = new Map(ALL.map((spec) => [spec.name, spec]));

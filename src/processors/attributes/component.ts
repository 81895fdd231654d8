import { defineBuiltInProcessor } from "#contract/built-in";
import { editRecordAttributes } from "#otlp/views";
import {
  type AnyRecordView,
  type Attributes,
  eachBatch,
  editRecords,
  type Logger,
  type Origin,
  SIGNALS,
} from "../../plugin.js";
import { type ActionConfig, createAction } from "./actions.js";
import {
  type AttributesConfig,
  attributesSchema,
  type ResourceConfig,
  resourceSchema,
  type SpanConfig,
  spanSchema,
} from "./config.js";
import { createMatcher, type MatchConfig, refusesMatches } from "./match.js";
import { createSpanChange } from "./span-change.js";

/** Changes the attributes of log records, spans and data points. */
export const attributesProcessor = defineBuiltInProcessor<AttributesConfig>({
  type: "attributes",
  summary: "Inserts, updates, deletes, hashes, extracts or converts attributes of records.",
  signals: SIGNALS,
  takesSinglePoints: true,
  schema: attributesSchema,
  refusesSignal: refusesMatches,
  create({ actions, include, exclude }, { logger }) {
    const changes = actions.map(createAction);
    const isForAll = include === undefined && exclude === undefined;
    const isMeant = isForAll ? undefined : createRecordSelector(include, exclude);
    const warnOfUnknown = unknownClientWarning(actions, logger);
    return eachBatch((batch, { origin }) => {
      warnOfUnknown(origin);
      const edit = (attributes: Attributes) => {
        for (const change of changes) change(attributes, origin);
      };
      return editRecordAttributes(batch, edit, isMeant);
    });
  },
});

/** Changes the attributes of each resource once, however many records the resource has. */
export const resourceProcessor = defineBuiltInProcessor<ResourceConfig>({
  type: "resource",
  summary: "Inserts, updates, deletes, hashes, extracts or converts attributes of resources.",
  signals: SIGNALS,
  takesSinglePoints: true,
  schema: resourceSchema,
  create({ attributes }, { logger }) {
    const changes = attributes.map(createAction);
    const warnOfUnknown = unknownClientWarning(attributes, logger);
    return eachBatch((batch, { origin }) => {
      warnOfUnknown(origin);
      let done: AnyRecordView["resource"] | undefined;
      return editRecords(batch, ({ resource }) => {
        if (resource === done) return;
        done = resource;
        for (const change of changes) change(resource.attributes, origin);
      });
    });
  },
});

/** Changes the names and the status of spans. */
export const spanProcessor = defineBuiltInProcessor<SpanConfig>({
  type: "span",
  summary: "Makes names of spans from attributes, attributes from names, and sets their status.",
  signals: ["traces"],
  schema: spanSchema,
  refusesSignal: refusesMatches,
  create(config) {
    const change = createSpanChange(config);
    const isMeant = createRecordSelector(config.include, config.exclude);
    return eachBatch((batch) =>
      editRecords(batch, (record) => {
        if (record.signal === "traces" && isMeant(record)) change(record);
      }),
    );
  },
});

/**
 * Logs one warning when an action takes its value from the client (`from_context`) but the receiver knows nothing about
 * the client. Without the warning the values would be missing silently.
 */
function unknownClientWarning(actions: readonly ActionConfig[], logger: Logger): (origin: Origin) => void {
  const from_context = actions.find((action) => action.from_context !== undefined)?.from_context;
  let isDone = from_context === undefined;
  return ({ metadata }) => {
    if (isDone || metadata !== undefined) return;
    isDone = true;
    logger.warn(
      { from_context },
      "from_context finds nothing: to know the client, the receiver needs include_metadata: true, or an authenticator for auth.*",
    );
  };
}

function createRecordSelector(include: MatchConfig | undefined, exclude: MatchConfig | undefined) {
  const isIncluded = include === undefined ? () => true : createMatcher(include);
  const isExcluded = exclude === undefined ? () => false : createMatcher(exclude);
  return (record: AnyRecordView) => isIncluded(record) && !isExcluded(record);
}

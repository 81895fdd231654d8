import { z } from "zod";
import { type AnyRecordView, defineProcessor, eachBatch, editRecords, SIGNALS } from "../../plugin.js";
import { actionSchema, createAction } from "./actions.js";
import { createMatcher, type MatchConfig, matchSchema } from "./match.js";

const attributesSchema = z.strictObject({
  actions: z.array(actionSchema).min(1).meta({ description: "What is done to each record, in this order." }),
  include: matchSchema.optional().meta({ description: "Only records like this are changed." }),
  exclude: matchSchema.optional().meta({ description: "Records like this are left alone." }),
});

/** Changes the attributes of log records, spans and data points. */
export const attributesProcessor = defineProcessor<z.infer<typeof attributesSchema>>({
  type: "attributes",
  summary: "Inserts, updates, deletes, hashes, extracts or converts attributes of records.",
  signals: SIGNALS,
  schema: attributesSchema,
  create({ actions, include, exclude }) {
    const changes = actions.map(createAction);
    const isMeant = createRecordSelector(include, exclude);
    return eachBatch((batch, { origin }) =>
      editRecords(batch, (record) => {
        if (isMeant(record)) for (const change of changes) change(record.attributes, origin);
      }),
    );
  },
});

const resourceSchema = z.strictObject({
  attributes: z.array(actionSchema).min(1).meta({ description: "What is done to each resource, in this order." }),
});

/** Changes the attributes of resources: once for each, whatever the number of its records. */
export const resourceProcessor = defineProcessor<z.infer<typeof resourceSchema>>({
  type: "resource",
  summary: "Inserts, updates, deletes, hashes, extracts or converts attributes of resources.",
  signals: SIGNALS,
  schema: resourceSchema,
  create({ attributes }) {
    const changes = attributes.map(createAction);
    return eachBatch((batch, { origin }) => {
      let done: AnyRecordView["resource"] | undefined;
      return editRecords(batch, ({ resource }) => {
        if (resource === done) return;
        done = resource;
        for (const change of changes) change(resource.attributes, origin);
      });
    });
  },
});

function createRecordSelector(include: MatchConfig | undefined, exclude: MatchConfig | undefined) {
  const isIncluded = include === undefined ? () => true : createMatcher(include);
  const isExcluded = exclude === undefined ? () => false : createMatcher(exclude);
  return (record: AnyRecordView) => isIncluded(record) && !isExcluded(record);
}

import { defineProcessor, eachBatch, Refusal, rewriteFields, SIGNALS } from "../../plugin.js";
import { type RedactionConfig, redactionSchema } from "./config.js";
import { RedactionVisitor } from "./redaction-visitor.js";

/**
 * Takes out attributes that are not on a list, and masks values by patterns, with the Collector's keys and outputs.
 * Like `pii` it fails closed: a batch that it cannot treat is refused for good.
 */
export const redaction = defineProcessor<RedactionConfig>({
  type: "redaction",
  summary: "Removes attributes that are not allowed, and masks blocked values.",
  signals: SIGNALS,
  zone: "pii",
  schema: redactionSchema,
  create(config, { logger }) {
    const visitor = new RedactionVisitor(config);
    return eachBatch((batch) => {
      try {
        visitor.begin();
        return rewriteFields(batch, visitor);
      } catch (error) {
        logger.error({ error: error instanceof Error ? error.name : typeof error }, "a batch could not be redacted");
        throw new Refusal("permanent", "the batch could not be redacted and was not passed on", {
          code: "SLUICE_REDACTION_FAILED",
        });
      }
    });
  },
});

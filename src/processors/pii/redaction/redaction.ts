import {
  type Batch,
  defineProcessor,
  eachBatch,
  limitedLog,
  type ProcessorContext,
  Refusal,
  SIGNALS,
} from "../../../plugin.js";
import { ERROR_CODES } from "../../../runtime/kit.js";
import { rewriteFields } from "../rewrite-fields.js";
import { type RedactionConfig, redactionSchema } from "./config.js";
import { RedactionVisitor } from "./redaction-visitor.js";

/**
 * Takes out attributes that are not on a list, and masks values by patterns, with the Collector's keys and outputs.
 * Like `pii` it fails closed: a batch that it cannot treat is refused for good. A dead letter that is replayed is treated
 * too, since it may have been taken out before it came here; what was redacted before stays as it is.
 */
export const redaction = defineProcessor<RedactionConfig>({
  type: "redaction",
  summary: "Removes attributes that are not allowed, and masks blocked values.",
  signals: SIGNALS,
  zone: "pii",
  schema: redactionSchema,
  create: (config, context) => eachBatch(createBatchRedaction(new RedactionVisitor(config), context)),
  replay: (config, context) =>
    createBatchRedaction(new RedactionVisitor({ ...config, summary: "silent" }, true), context),
});

function createBatchRedaction(visitor: RedactionVisitor, { logger, clock }: ProcessorContext): (batch: Batch) => Batch {
  const say = limitedLog<unknown>(clock, (error, suppressed) =>
    logger.error({ error: errorName(error), suppressed }, "a batch could not be redacted and was refused"),
  );
  return (batch) => {
    try {
      visitor.begin();
      return rewriteFields(batch, visitor);
    } catch (error) {
      say(error);
      throw new Refusal("permanent", "the batch could not be redacted and was not passed on", {
        code: ERROR_CODES.SLUICE_REDACTION_FAILED,
      });
    }
  };
}

/** What kind of error it was: its message could quote the data. */
function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

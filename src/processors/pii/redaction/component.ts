import { defineBuiltInProcessor } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import { type Batch, eachBatch, type ProcessorContext, SIGNALS } from "../../../plugin.js";
import { failClosed } from "../fail-closed.js";
import { rewriteFields, rewriteFieldsInTurns, type WalkSettings } from "../fields/rewrite-fields.js";
import { plansFor } from "../fields/rewrite-plans.js";
import { UnseenFields } from "../fields/unseen-fields.js";
import { type RedactionConfig, redactionSchema } from "./config.js";
import { RedactionVisitor } from "./redaction-visitor.js";
import { sanitizeSpanNames } from "./span-names.js";

/**
 * Removes attributes that are not on a list, and masks values by patterns, with the Collector's keys and outputs. Like
 * `pii`, it fails closed: a batch that it cannot treat is refused permanently. Replayed dead letters are treated too,
 * because they may have left the pipeline before this processor. Values that were redacted before stay unchanged.
 */
export const redaction = defineBuiltInProcessor<RedactionConfig>({
  type: "redaction",
  summary: "Removes attributes that are not allowed, and masks blocked values.",
  signals: SIGNALS,
  takesSinglePoints: true,
  zone: "pii",
  schema: redactionSchema,
  create: (config, context) =>
    eachBatch(
      createBatchRedaction(new RedactionVisitor(config), context, (batch, visitor, settings) => {
        const redacted = rewriteFieldsInTurns(batch, visitor, settings);
        if (!config.sanitizesSpanNames) return redacted;
        return redacted instanceof Promise ? redacted.then(namesIn(config)) : namesIn(config)(redacted);
      }),
    ),
  replay: (config, context) =>
    createBatchRedaction(
      new RedactionVisitor({ ...config, summary: "silent" }, true),
      context,
      (batch, visitor, settings) => {
        const redacted = rewriteFields(batch, visitor, settings);
        return config.sanitizesSpanNames ? namesIn(config)(redacted) : redacted;
      },
    ),
});

function namesIn({ allowedValues }: RedactionConfig): (batch: Batch) => Batch {
  const isAllowed = (name: string) => allowedValues.some((pattern) => pattern.test(name));
  return (batch) => (batch.signal === "traces" ? sanitizeSpanNames(batch, isAllowed) : batch);
}

function createBatchRedaction<Result extends Batch | Promise<Batch>>(
  visitor: RedactionVisitor,
  context: ProcessorContext,
  rewrite: (batch: Batch, visitor: RedactionVisitor, settings: WalkSettings) => Result,
): (batch: Batch) => Result {
  const settings = { unseen: new UnseenFields(plansFor([])) };
  const redact = (batch: Batch) => {
    visitor.begin();
    return rewrite(batch, visitor, settings);
  };
  return failClosed(redact, context, FAILURE);
}

const FAILURE = {
  code: ERROR_CODES.SLUICE_REDACTION_FAILED,
  refusal: "the batch could not be redacted and was not passed on",
  log: "a batch could not be redacted and was refused",
};

import {
  type Batch,
  defineProcessor,
  eachBatch,
  limitedLog,
  type ProcessorContext,
  Refusal,
  SIGNALS,
} from "../../plugin.js";
import { ERROR_CODES } from "../../runtime/kit.js";
import { type PiiConfig, piiSchema } from "./config.js";
import { PiiTreatment } from "./pii-treatment.js";

/**
 * Treats personal data and secrets in every field that holds users' data. A batch without any passes as the same bytes.
 *
 * It fails closed: a batch that it cannot treat is refused for good, as a whole. It is never passed on, and never kept as a
 * dead letter either, since dead letters are on disk. A dead letter that is replayed is treated like a new batch, which
 * changes nothing if it was treated before.
 */
export const pii = defineProcessor<PiiConfig>({
  type: "pii",
  summary: "Masks, hashes or removes personal data and secrets.",
  signals: SIGNALS,
  zone: "pii",
  schema: piiSchema,
  create: (config, context) => eachBatch(createBatchTreatment(config, context)),
  replay: (config, context) => createBatchTreatment(config, context),
});

function createBatchTreatment(
  config: PiiConfig,
  { metrics, logger, clock }: ProcessorContext,
): (batch: Batch) => Batch {
  const treatment = new PiiTreatment(config);
  const [name, description] = config.isEnforced
    ? ["sluice_pii_treated", "Values that were treated, by what found them."]
    : ["sluice_pii_reported", "Values that would have been treated, by what found them."];
  const counters = treatment.names.map((detector) => metrics.counter(name, { description }, { detector }));
  const failed = metrics.counter("sluice_pii_failed_batches", {
    description: "Refused because they could not be treated.",
  });
  const say = limitedLog<unknown>(clock, (error, suppressed) =>
    logger.error({ error: errorName(error), suppressed }, "a batch could not be treated and was refused"),
  );
  return (batch) => {
    try {
      const treated = treatment.treat(batch);
      treatment.takeCounts((i, count) => counters[i]!.add(count));
      return treated;
    } catch (error) {
      treatment.takeCounts(() => {});
      failed.add(1);
      say(error);
      throw new Refusal("permanent", "personal data could not be treated; the batch was not passed on", {
        code: ERROR_CODES.SLUICE_PII_FAILED,
      });
    }
  };
}

/** What kind of error it was: its message could quote the data. */
function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

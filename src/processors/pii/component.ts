import { defineBuiltInProcessor } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import { type Batch, eachBatch, type ProcessorContext, SIGNALS } from "../../plugin.js";
import { type PiiConfig, piiSchema } from "./config.js";
import { failClosed } from "./fail-closed.js";
import { PiiTreatment } from "./pii-treatment.js";

/**
 * Treats personal data and secrets in every field that holds users' data. A batch without any passes as the same bytes.
 *
 * The processor fails closed (see `failClosed`). A replayed dead letter is treated like a new batch, which changes
 * nothing if it was treated before.
 */
export const pii = defineBuiltInProcessor<PiiConfig>({
  type: "pii",
  summary: "Masks, hashes or removes personal data and secrets.",
  signals: SIGNALS,
  takesSinglePoints: true,
  zone: "pii",
  schema: piiSchema,
  create: (config, context) =>
    eachBatch(createBatchTreatment(config, context, (one, batch) => one.treatInTurns(batch))),
  replay: (config, context) => createBatchTreatment(config, context, (one, batch) => one.treat(batch)),
});

function createBatchTreatment<Result extends Batch | Promise<Batch>>(
  config: PiiConfig,
  context: ProcessorContext,
  run: (treatment: PiiTreatment, batch: Batch) => Result,
): (batch: Batch) => Result {
  const { metrics } = context;
  const treatment = new PiiTreatment(config);
  const [name, description] = config.isEnforced
    ? ["sluice_pii_treated", "Values that were treated, by what found them."]
    : ["sluice_pii_reported", "Values that would have been treated, by what found them."];
  const counters = treatment.names.map((detector) => metrics.counter(name, { description }, { detector }));
  const failed = metrics.counter("sluice_pii_failed_batches", {
    description: "Refused because they could not be treated.",
  });
  const count = () => treatment.takeCounts((i, added) => counters[i]!.add(added));
  const treat = (batch: Batch): Result => {
    const treated = run(treatment, batch);
    if (treated instanceof Promise) return treated.finally(count) as Result;
    count();
    return treated;
  };
  return failClosed(treat, context, FAILURE, () => {
    treatment.takeCounts(() => {});
    failed.add(1);
  });
}

const FAILURE = {
  code: ERROR_CODES.SLUICE_PII_FAILED,
  refusal: "personal data could not be treated; the batch was not passed on",
  log: "a batch could not be treated and was refused",
};

import { type Batch, limitedLog, type ProcessorContext, Refusal } from "../../plugin.js";

/** Texts about a batch that could not be treated, for the sender and for the log. */
interface FailClosedTexts {
  readonly code: string;
  readonly refusal: string;
  readonly log: string;
}

/**
 * Refuses a batch that cannot be treated, permanently and as a whole. Such a batch is never passed on, and never kept
 * as a dead letter either, because dead letters are on disk. Only the name of the error is reported, because its
 * message could quote the data. `onFailure` is called before the refusal.
 */
export function failClosed<Result extends Batch | Promise<Batch>>(
  treat: (batch: Batch) => Result,
  { logger, clock }: Pick<ProcessorContext, "logger" | "clock">,
  { code, refusal, log }: FailClosedTexts,
  onFailure: () => void = () => {},
): (batch: Batch) => Result {
  const logFailure = limitedLog<unknown>(clock, (error, suppressed) =>
    logger.error({ error: errorName(error), suppressed }, log),
  );
  const fail = (error: unknown): never => {
    onFailure();
    logFailure(error);
    throw new Refusal("permanent", refusal, { code });
  };
  return (batch) => {
    try {
      const result = treat(batch);
      return result instanceof Promise ? (result.catch(fail) as Result) : result;
    } catch (error) {
      return fail(error);
    }
  };
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

import { Observable } from "rxjs";
import { type Delivery, defineProcessor, type Processor, type ProcessorContext } from "../../../plugin.js";
import { type TailSamplingConfig, tailSamplingSchema } from "./config.js";
import { type SortedSpans, TailSampler } from "./tail-sampler.js";

/** What most clients wait for an answer. */
const TYPICAL_CLIENT_TIMEOUT_MS = 10_000;

/** Decides on traces as a whole, when their spans have come; see `TailSampler`. */
export const tailSampling = defineProcessor<TailSamplingConfig>({
  type: "tail_sampling",
  summary: "Keeps or drops whole traces by policies, once their spans have come.",
  signals: ["traces"],
  zone: "sampling",
  schema: tailSamplingSchema,
  maxHeldBytes: ({ maxBytes }) => ({ bytes: maxBytes, path: ["max_bytes"] }),
  create(config, context) {
    if (config.decisionWaitMs >= TYPICAL_CLIENT_TIMEOUT_MS)
      context.logger.warn(
        { decisionWaitMs: config.decisionWaitMs },
        "clients are answered after decision_wait: theirs must be a longer timeout than the usual 10 s",
      );
    return tailSamplingProcessor(config, context);
  },
});

function tailSamplingProcessor(config: TailSamplingConfig, context: ProcessorContext): Processor {
  return (source) =>
    new Observable<Delivery>((out) => {
      const sampler = new TailSampler(
        config,
        context,
        (delivery) => out.next(delivery),
        (error) => out.error(error),
      );
      const upstream = source.subscribe({
        next(delivery) {
          let arrivals: SortedSpans;
          try {
            arrivals = sampler.sort(delivery);
          } catch (error) {
            return delivery.refuse(error);
          }
          try {
            sampler.take(delivery, arrivals);
          } catch (error) {
            out.error(error); // its debt is divided: only the runtime can refuse it
          }
        },
        error: (error) => out.error(error),
        complete() {
          sampler.drain();
          out.complete();
        },
      });
      return () => {
        upstream.unsubscribe();
        sampler.discard();
      };
    });
}

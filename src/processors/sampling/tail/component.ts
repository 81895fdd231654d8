import { type BuiltInProcessorContext, defineBuiltInProcessor } from "#contract/built-in";
import { type Processor, statefulProcessor } from "../../../plugin.js";
import { groupByTraceSchema, type TailSamplingConfig, tailSamplingSchema } from "./config.js";
import { createDecisionNotes, TailSampler } from "./tail-sampler.js";
import { takeOverNotes } from "./take-over-notes.js";

/** Most clients wait this long for an answer. */
const TYPICAL_CLIENT_TIMEOUT_MS = 10_000;

/** Decides about whole traces once their spans have arrived; see `TailSampler`. */
export const tailSampling = defineBuiltInProcessor<TailSamplingConfig>({
  type: "tail_sampling",
  summary: "Keeps or drops whole traces by policies, once their spans have arrived.",
  signals: ["traces"],
  zone: "sampling",
  workers: "trace",
  schema: tailSamplingSchema,
  maxHeldBytes: ({ maxBytes, decisionWaitMs }) => ({ bytes: maxBytes, path: ["max_bytes"], waitMs: decisionWaitMs }),
  create(config, context) {
    if (context.journal === undefined && config.decisionWaitMs >= TYPICAL_CLIENT_TIMEOUT_MS)
      context.logger.warn(
        { decisionWaitMs: config.decisionWaitMs },
        "clients are answered only after decision_wait: their timeout must be longer than the usual 10 s",
      );
    return tailSamplingProcessor(config, context);
  },
});

/** Passes the spans of a trace on together, in one batch. It is sampling that keeps every trace. */
export const groupByTrace = defineBuiltInProcessor<TailSamplingConfig>({
  type: "groupbytrace",
  aliases: ["group_by_trace"],
  summary: "Waits for the spans of a trace, and passes them on together.",
  signals: ["traces"],
  zone: "sampling",
  workers: "trace",
  schema: groupByTraceSchema,
  maxHeldBytes: ({ maxBytes, decisionWaitMs }) => ({ bytes: maxBytes, path: ["max_bytes"], waitMs: decisionWaitMs }),
  create: (config, context) => tailSamplingProcessor(config, context),
});

/** The processor behind both components. */
function tailSamplingProcessor(config: TailSamplingConfig, context: BuiltInProcessorContext): Processor {
  const takenOver = new Set<string>();
  const { journal } = context;
  // The sampler is created with the first delivery, and notes may be taken over before.
  const notes = journal && createDecisionNotes(journal, config);
  journal?.setSettlement({
    remaining: (_position, spans) => spans,
    ended() {},
    takeOver: (other, firstPosition) => takeOverNotes(notes!, other, firstPosition, takenOver, () => {}),
  });
  return statefulProcessor((out) => {
    const sampler = new TailSampler(
      config,
      context,
      (delivery) => out.next(delivery),
      (error) => out.error(error),
      takenOver,
    );
    return {
      next(delivery) {
        const sorted = sampler.sort(delivery);
        try {
          sampler.take(delivery, sorted);
        } catch (error) {
          out.error(error); // parts of it may wait, and other traces may be gone already: only the whole delivery can be refused
        }
      },
      drain: () => sampler.drain(),
      abort: () => sampler.discard(),
    };
  });
}

import { defineBuiltInProcessor } from "#contract/built-in";
import { decodeText, message } from "#otlp/bytes";
import { METRIC_NAME_TAG } from "#otlp/metric-tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import { CONTEXT_SHAPES } from "#ottl";
import { eachBatch, limitedLog } from "../../plugin.js";
import { type DeltaToRateConfig, deltaToRateSchema } from "./config.js";
import { isDeltaSum, writeAsRate } from "./rate-gauge.js";

/** Turns delta sums into gauges of their rate per second. Other metrics keep their bytes. */
export const deltaToRate = defineBuiltInProcessor<DeltaToRateConfig>({
  type: "delta_to_rate",
  aliases: ["deltatorate"],
  summary: "Turns delta sums into gauges of their rate per second.",
  signals: ["metrics"],
  takesSinglePoints: true,
  schema: deltaToRateSchema,
  create({ metrics }, { clock, logger }) {
    const onSkipped = limitedLog<string>(clock, (metric, suppressed) =>
      logger.info({ metric, suppressed }, "a metric that delta_to_rate should convert is no delta sum"),
    );
    const visitor = new RateVisitor(metrics, onSkipped);
    return eachBatch((batch) => new RecordWalk(batch, CONTEXT_SHAPES.metric).run(visitor));
  },
});

/** Sees metrics, not points. */
class RateVisitor implements RecordVisitor {
  private readonly names: ReadonlySet<string>;
  private readonly onSkipped: (metric: string) => void;

  constructor(names: ReadonlySet<string>, onSkipped: (metric: string) => void) {
    this.names = names;
    this.onSkipped = onSkipped;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const { bytes } = walk;
    const name = decodeText(bytes, ...message(bytes, start, end, METRIC_NAME_TAG));
    if (!this.names.has(name)) return KEEP;
    if (!isDeltaSum(bytes, start, end)) {
      this.onSkipped(name);
      return KEEP;
    }
    writeAsRate(walk.beginRecord(), bytes, start, end);
    walk.endRecord();
    return KEEP;
  }
}

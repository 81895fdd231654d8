import { defineBuiltInProcessor } from "#contract/built-in";
import { pointNumber } from "#metrics";
import { bodyEnd, decodeText, message, nextBody } from "#otlp/bytes";
import { DATA_POINT_TAG, GAUGE_TAG, METRIC_NAME_TAG, SUM_TAG } from "#otlp/metric-tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import { CONTEXT_SHAPES } from "#ottl";
import { type Batch, type Delivery, limitedLog, statefulProcessor } from "../../../plugin.js";
import { droppedPoints } from "../dropped-points.js";
import { type MetricStartTimeConfig, metricStartTimeSchema } from "./config.js";
import { StartTimeWalk } from "./start-time-walk.js";

/** Gives start times to cumulative points that came without one, for example from Prometheus. */
export const metricStartTime = defineBuiltInProcessor<MetricStartTimeConfig>({
  type: "metric_start_time",
  aliases: ["metricstarttime"],
  summary: "Gives start times to cumulative points that have none.",
  signals: ["metrics"],
  takesSinglePoints: true,
  needsWholeBatches: ({ strategy }) => strategy === "start_time_metric",
  workers: ({ strategy }) => (strategy === "start_time_metric" ? "one" : "series"),
  schema: metricStartTimeSchema,
  create(config, { clock, metrics, logger, id }) {
    const { strategy, gcIntervalMs: expireAfterMs, isStartTimeMetric, maxSeries } = config;
    const logFull = limitedLog<undefined>(clock, (_, suppressed) =>
      logger.warn(
        { suppressed },
        "the limit of series is reached (max_series): points of further series keep their start time",
      ),
    );
    const onDropped = droppedPoints("metricstarttime", { clock, metrics, logger, id });
    const onFull = () => logFull(undefined);
    return statefulProcessor((out) => {
      const walk = new StartTimeWalk({ strategy, maxSeries, expireAfterMs, onDropped, onFull });
      return {
        next(delivery: Delivery) {
          const batchStart = strategy === "start_time_metric" ? startTimeIn(delivery.batch, isStartTimeMetric) : 0n;
          const { batch, undo } = walk.adjust(delivery.batch, clock.now(), batchStart);
          if (batch === delivery.batch) return out.next(delivery);
          if (batch.count === 0) return delivery.accept();
          out.next(delivery.with(batch).observe((outcome) => outcome.ok || undo()));
        },
      };
    });
  },
});

const NANOSECONDS = 1_000_000_000n;

/** Returns nanoseconds: the value of the first metric with such a name, or else the start of this process. */
function startTimeIn(batch: Batch, isStartTimeMetric: (name: string) => boolean): bigint {
  const visitor = new StartTimeVisitor(isStartTimeMetric);
  new RecordWalk(batch, CONTEXT_SHAPES.metric).run(visitor);
  const { seconds } = visitor;
  const isTime = seconds !== undefined && seconds >= 0 && seconds < MAX_SECONDS;
  if (!isTime) return BigInt(Math.floor(performance.timeOrigin / 1000)) * NANOSECONDS;
  const whole = Math.trunc(seconds);
  return BigInt(whole) * NANOSECONDS + BigInt(Math.trunc((seconds - whole) * 1e9));
}

/** The largest time of OTLP. */
const MAX_SECONDS = 2 ** 64 / 1e9;

/** Sees metrics, not points. */
class StartTimeVisitor implements RecordVisitor {
  seconds: number | undefined;
  private isFound = false;
  private readonly isStartTimeMetric: (name: string) => boolean;

  constructor(isStartTimeMetric: (name: string) => boolean) {
    this.isStartTimeMetric = isStartTimeMetric;
  }

  visit({ bytes: b }: RecordWalk, start: number, end: number): Verdict {
    if (this.isFound || !this.isStartTimeMetric(decodeText(b, ...message(b, start, end, METRIC_NAME_TAG)))) return KEEP;
    this.isFound = true;
    for (const tag of [GAUGE_TAG, SUM_TAG]) {
      const [dataStart, dataEnd] = message(b, start, end, tag);
      const point = nextBody(b, dataStart, dataEnd, DATA_POINT_TAG);
      if (point >= 0) this.seconds = pointNumber(b, point, bodyEnd);
    }
    return KEEP;
  }
}

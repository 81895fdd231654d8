import { chooseRefusal } from "#contract/errors";
import {
  type ConnectorContext,
  type Counter,
  type Delivery,
  defineConnector,
  type Processor,
  type Refusal,
  SIGNALS,
  StartError,
  statefulProcessor,
} from "../../plugin.js";
import { type FailoverConfig, failoverSchema } from "./config.js";
import { LevelOrder } from "./level-order.js";

/**
 * Sends everything to the first healthy level.
 *
 * A level is healthy while all of its pipelines are available: none of their exporters is paused or has its circuit
 * breaker open. If no level is healthy, the first one gets the data, and its queues hold it. If a level refuses a
 * delivery, the next one gets it. The sender is refused only when every level has refused.
 */
export const failover = defineConnector<FailoverConfig>({
  type: "failover",
  summary: "Sends telemetry to the first healthy one of several levels of pipelines.",
  routes: SIGNALS.map((signal) => ({ from: signal, to: signal })),
  zone: "routing",
  schema: failoverSchema,
  namedPipelines: ({ priority_levels: levels }) =>
    levels.flatMap((names, i) => names.map((pipeline, at) => ({ pipeline, path: ["priority_levels", i, at] }))),
  create: (config, context) => failoverProcessor(levelsFor(config, context), config.retry_interval, context),
});

/** Returns the levels that apply to this signal. */
function levelsFor({ priority_levels: all }: FailoverConfig, { targets, from }: ConnectorContext): string[][] {
  const levels = all.map((names) => names.filter((name) => targets.includes(name))).filter((names) => names.length > 0);
  if (levels.length === 0) throw new StartError(`no level has a pipeline for ${from}`, ["priority_levels"]);
  return levels;
}

function failoverProcessor(names: readonly string[][], retryIntervalMs: number, context: ConnectorContext): Processor {
  const { isAvailable, clock } = context;
  return statefulProcessor((out) => {
    const levelOrder = new LevelOrder({ levels: names, retryIntervalMs, isAvailable, clock });
    const activeLevel = new ActiveLevel(names, context);

    const offer = (delivery: Delivery, order: readonly number[], earlierRefusal?: Refusal): void => {
      const [level, ...others] = order as [number, ...number[]];
      const attempt = delivery.catchRefusal((returned, refusal) => {
        if (refusal.kind !== "permanent") levelOrder.markRefused(level);
        const worst = earlierRefusal === undefined ? refusal : chooseRefusal(earlierRefusal, refusal);
        if (others.length === 0 || out.closed) return returned.refuse(worst);
        if (refusal.kind !== "permanent") activeLevel.switchTo(others[0]!, refusal.message);
        offer(returned, others, worst);
      });
      out.next(attempt.to(names[level]));
    };

    return {
      next(delivery) {
        const order = levelOrder.current();
        activeLevel.switchTo(order[0]!);
        offer(delivery, order);
      },
      drain: () => activeLevel.close(),
      abort: () => activeLevel.close(),
    };
  });
}

/** Remembers the level in use, and reports changes in the log and as metrics. */
class ActiveLevel {
  /** Stops reporting. */
  readonly close: () => void;
  private readonly levels: readonly (readonly string[])[];
  private readonly logger: ConnectorContext["logger"];
  private readonly switches: Counter;
  private current = 0;

  constructor(names: readonly (readonly string[])[], { id, from, logger, metrics }: ConnectorContext) {
    this.levels = names;
    this.logger = logger;
    const attributes = { connector: id, otel_signal: from };
    this.switches = metrics.counter(
      "sluice_failover_switches",
      { description: "Times the connector switched to another level." },
      attributes,
    );
    this.close = metrics.gauge(
      "sluice_failover_level",
      { description: "The level in use; 1 has the highest priority." },
      () => this.current + 1,
      attributes,
    );
  }

  switchTo(level: number, reason = ""): void {
    if (level === this.current) return;
    const fields = { from: this.current + 1, to: level + 1, pipelines: this.levels[level], ...(reason && { reason }) };
    if (level > this.current)
      this.logger.warn(fields, "switched to another level, because the previous one is unhealthy");
    else this.logger.info(fields, "switched back to a level with a higher priority");
    this.switches.add(1);
    this.current = level;
  }
}

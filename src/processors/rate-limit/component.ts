import { SharedRedis } from "#brokers";
import { defineBuiltInProcessor } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import { shareOfAmount, shareOfLimit, withResource } from "#contract/operators";
import { partitionByMarks } from "#otlp/edit";
import { errorHandler } from "#ottl";
import {
  type Batch,
  type BatchResult,
  deadLetter,
  eachBatch,
  limitedLog,
  type Origin,
  type ProcessorContext,
  Refusal,
  type Setback,
  SIGNALS,
} from "../../plugin.js";
import type { Limit } from "./allowance.js";
import { type RateLimitConfig, rateLimitSchema } from "./config.js";
import type { Judgement } from "./judge.js";
import { Limiter, type SharedLimits } from "./limiter.js";
import { limiterMetrics } from "./metrics.js";
import { SharedPermits } from "./shared-permits.js";

/**
 * Limits how many records of a key, and of all keys together, pass in any window. Records over the limit are dropped
 * (exporters with a matching dead_letter.filter rule still keep them), kept as dead letters, or the whole request is
 * refused, which then does not count. A batch within the limits passes as the same object.
 */
export const rateLimit = defineBuiltInProcessor<RateLimitConfig>({
  type: "rate_limit",
  summary: "Limits how many records per key pass in a time window.",
  signals: SIGNALS,
  takesSinglePoints: true,
  zone: "rate_limit",
  schema: rateLimitSchema,
  // Limits that are shared with other agents are shared with other workers too.
  shareOf(config, worker) {
    const share = ({ limit, burst, windowMs }: Limit) => ({
      limit: shareOfLimit(limit, worker),
      burst: shareOfAmount(burst, worker),
      windowMs,
    });
    if (config.shared !== undefined) return config;
    return { ...config, perKey: share(config.perKey), global: config.global && share(config.global) };
  },
  create(config, context) {
    const { id, pipeline, clock } = context;
    const redis = config.shared && new SharedRedis(config.shared, context, { processor: id, pipeline });
    const limiter = new Limiter(
      config,
      clock,
      errorHandler("ignore", context)!,
      redis && sharedLimits(redis, config, context),
    );
    const metrics = limiterMetrics(config.onExcess, context, () => limiter.size);
    const logExcess = limitExceededLog(config, context);
    const excess = EXCESS_HANDLERS[config.onExcess];
    const finish = (batch: Batch, judgement: Judgement): BatchResult => {
      metrics.count(judgement);
      if (judgement.marks === undefined) {
        limiter.commit();
        return batch;
      }
      logExcess(judgement);
      return excess(batch, judgement, limiter, config);
    };
    // Other batches may take the permits that came, so the batch is judged until asking for more is pointless.
    const limitBatch = (batch: Batch, origin: Origin): BatchResult | Promise<BatchResult> => {
      const judgement = limiter.judge(batch, origin);
      const fetching = judgement.marks === undefined ? undefined : limiter.fetchMissingPermits();
      if (fetching === undefined) return finish(batch, judgement);
      return fetching.then(() => limitBatch(batch, origin));
    };
    const processor = eachBatch((batch, { origin }) => {
      const unknown = redis?.untilKnown;
      return unknown === undefined ? limitBatch(batch, origin) : unknown.then(() => limitBatch(batch, origin));
    });
    return withResource(processor, redis);
  },
});

/** Shares the limits with agents whose processors and pipelines have the same names. */
function sharedLimits(
  redis: SharedRedis,
  { perKey, global }: RateLimitConfig,
  { id, pipeline, clock }: ProcessorContext,
): SharedLimits {
  const name = `${redis.config.prefix}:{${id}:${pipeline}}`;
  const permits = (limit: Limit) => new SharedPermits(redis, limit, name, clock);
  return { perKey: permits(perKey), global: global && permits(global) };
}

type ExcessHandler = (batch: Batch, judgement: Judgement, limiter: Limiter, config: RateLimitConfig) => BatchResult;

const EXCESS_HANDLERS: Readonly<Record<RateLimitConfig["onExcess"], ExcessHandler>> = {
  drop: (batch, judgement, limiter, config) =>
    splitOffExcess(batch, judgement, limiter, { ...setbackOf(judgement, config), onlyIfAlwaysSaved: true }),
  dead_letter: (batch, judgement, limiter, config) =>
    splitOffExcess(batch, judgement, limiter, setbackOf(judgement, config)),
  refuse: (_batch, judgement, limiter, config) => {
    throw refusalOf(limiter.cancel(), setbackOf(judgement, config));
  },
};

function splitOffExcess(batch: Batch, { marks }: Judgement, limiter: Limiter, setback: Setback): BatchResult {
  limiter.commit();
  const [within, over] = partitionByMarks(batch, marks!);
  return [...(within === undefined ? [] : [within]), ...(over === undefined ? [] : [deadLetter(over, setback)])];
}

function setbackOf({ overKey }: Judgement, { perKey, global }: RateLimitConfig): Setback {
  const message = overKey > 0 ? overLimitMessage("the limit", perKey) : overLimitMessage("the global limit", global!);
  return { reason: "rate_limited", category: "rate_limited", code: CODE, message };
}

const CODE = ERROR_CODES.SLUICE_RATE_LIMITED;

function overLimitMessage(which: string, { limit, windowMs, burst }: Limit): string {
  const extra = burst > 0 ? ` and ${burst} more in a burst` : "";
  return `over ${which} of ${limit} records in ${windowMs} ms${extra}`;
}

/** A batch that can never fit is refused permanently. Otherwise its client would retry it for ever. */
function refusalOf(waitMs: number, { message }: Setback): Refusal {
  if (waitMs !== Number.POSITIVE_INFINITY)
    return new Refusal("throttled", message, { code: CODE, retryAfterMs: Math.max(1, Math.ceil(waitMs)) });
  const explanation = `${message}. The request is larger than the limit can ever admit: send smaller requests, or raise the limit`;
  return new Refusal("permanent", explanation, { code: CODE, category: "business" });
}

const EXCESS_OUTCOMES = {
  drop: "dropped",
  dead_letter: "kept as dead letters",
  refuse: "the request was refused",
} as const;

function limitExceededLog(
  config: RateLimitConfig,
  { clock, logger }: ProcessorContext,
): (judgement: Judgement) => void {
  return limitedLog(clock, (judgement: Judgement, suppressed) => {
    const records = judgement.overKey + judgement.overGlobal;
    const { message } = setbackOf(judgement, config);
    logger.warn({ records, suppressed }, `${message}: ${EXCESS_OUTCOMES[config.onExcess]}`);
  });
}

import { totalmem } from "node:os";
import { z } from "zod";
import { defineBuiltInProcessor } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import { type Clock, duration, eachBatch, ignored, Refusal, SIGNALS } from "../plugin.js";

const MIB = 1024 * 1024;

const schema = z
  .strictObject({
    check_interval: duration().default(1000).meta({ description: "How often memory is measured." }),
    limit_mib: z.number().int().nonnegative().default(0).meta({ description: "Maximum memory, in MiB." }),
    limit_percentage: z
      .number()
      .int()
      .min(0)
      .max(100)
      .default(0)
      .meta({ description: "Maximum memory as a percentage of the machine's or container's memory. limit_mib wins." }),
    spike_limit_mib: z
      .number()
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: "Data is refused from this much below the limit, in MiB. Default: a fifth of the limit." }),
    spike_limit_percentage: z.number().int().min(0).max(100).default(0).meta({
      description: "The same as a percentage. It applies to limit_percentage, and spike_limit_mib to limit_mib.",
    }),
    ballast_size_mib: ignored("Node.js needs no ballast"),
    min_gc_interval_when_soft_limited: ignored("Node.js collects garbage by itself"),
    min_gc_interval_when_hard_limited: ignored("Node.js collects garbage by itself"),
    max_gc_interval_when_soft_limited: ignored("Node.js collects garbage by itself"),
    max_gc_interval_when_hard_limited: ignored("Node.js collects garbage by itself"),
  })
  .refine((c) => c.limit_mib > 0 || c.limit_percentage > 0, {
    path: ["limit_mib"],
    message: "expected limit_mib or limit_percentage to be greater than 0",
  })
  .refine((c) => c.check_interval > 0, { path: ["check_interval"], message: "expected more than 0, such as 1s" })
  .refine((c) => c.limit_mib === 0 || c.spike_limit_mib < c.limit_mib, {
    path: ["spike_limit_mib"],
    message: "expected less than limit_mib",
  })
  .refine((c) => c.limit_percentage === 0 || c.spike_limit_percentage < c.limit_percentage, {
    path: ["spike_limit_percentage"],
    message: "expected less than limit_percentage",
  });

type MemoryLimiterConfig = z.infer<typeof schema>;

/**
 * Refuses data with a retryable error while the process uses too much memory (the JavaScript heap and all buffers).
 * Memory is measured when data arrives, at most once per `check_interval`.
 */
export const memoryLimiter = defineBuiltInProcessor<MemoryLimiterConfig>({
  type: "memory_limiter",
  summary: "Refuses data while the process uses too much memory.",
  signals: SIGNALS,
  takesSinglePoints: true,
  schema,
  shareOf: (config, { count }) => ({
    ...config,
    limit_mib: config.limit_mib / count,
    limit_percentage: config.limit_percentage / count,
    spike_limit_mib: config.spike_limit_mib / count,
    spike_limit_percentage: config.spike_limit_percentage / count,
  }),
  create(config, { clock, logger }) {
    const softLimit = softLimitOf(config, availableMemory());
    const isShort = createMemoryCheck(config.check_interval, softLimit, clock, usedMemory, (short, used) => {
      const fields = { usedMib: Math.round(used / MIB), softLimitMib: Math.round(softLimit / MIB) };
      if (short) logger.warn(fields, "memory is short: refusing data until enough is free");
      else logger.info(fields, "memory is no longer short");
    });
    return eachBatch((batch) => {
      if (isShort()) throw memoryRefusal(config.check_interval);
      return batch;
    });
  },
});

/** Bytes above which data is refused. As in the Collector, MiB and percentages are not mixed. */
export function softLimitOf(config: MemoryLimiterConfig, available: number): number {
  const isFixed = config.limit_mib > 0;
  const unit = isFixed ? MIB : available / 100;
  const limit = unit * (isFixed ? config.limit_mib : config.limit_percentage);
  const spike = unit * (isFixed ? config.spike_limit_mib : config.spike_limit_percentage);
  return limit - (spike > 0 ? spike : limit / 5);
}

/**
 * Returns a function that tells whether more than `softLimit` bytes were in use at the last measurement. It logs every
 * change of that state.
 */
export function createMemoryCheck(
  intervalMs: number,
  softLimit: number,
  clock: Clock,
  measure: () => number,
  onChange: (short: boolean, used: number) => void,
): () => boolean {
  let measuredAt = Number.NEGATIVE_INFINITY;
  let isShort = false;
  return () => {
    const now = clock.monotonic();
    if (now - measuredAt >= intervalMs) {
      measuredAt = now;
      const used = measure();
      if (isShort !== used > softLimit) onChange((isShort = !isShort), used);
    }
    return isShort;
  };
}

function usedMemory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Returns the memory limit of the container, or else the memory of the machine. */
function availableMemory(): number {
  const constrained = process.constrainedMemory?.() ?? 0;
  const total = totalmem();
  return constrained > 0 && constrained < total ? constrained : total;
}

function memoryRefusal(retryAfterMs: number): Refusal {
  return new Refusal("throttled", "short of memory", { code: ERROR_CODES.SLUICE_MEMORY, retryAfterMs });
}

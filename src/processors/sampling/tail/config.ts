import { z } from "zod";
import { byteSize, duration, ignored, section, unsupported } from "../../../plugin.js";
import type { PolicySpec } from "./policy.js";
import { readPolicies } from "./read-policies.js";

const MIB = 1024 * 1024;

const rawSchema = z.strictObject({
  decision_wait: duration().default(30_000).meta({
    description:
      "How long to wait for the spans of a trace, from the first one on. Clients wait for the decision only if the pipeline's intake is not durable.",
  }),
  decision_wait_after_root_received: duration().default(0).meta({
    description: "How long after the root span to decide, if that is earlier; 0: the root span changes nothing.",
  }),
  num_traces: z
    .number()
    .int()
    .positive()
    .default(50_000)
    .meta({ description: "Traces that may wait; with more, the oldest are decided early." }),
  max_bytes: byteSize()
    .default(48 * MIB)
    .meta({ description: "Bytes of requests that may wait; with more, the oldest traces are decided early." }),
  block_on_overflow: z.boolean().default(false).meta({
    description: "When num_traces are waiting, refuse new traces with a retryable error instead of deciding early.",
  }),
  decision_cache: section(
    z.strictObject({
      sampled_cache_size: z
        .number()
        .int()
        .nonnegative()
        .default(0)
        .meta({ description: "Number of keep decisions to remember. 0: as many as num_traces." }),
      non_sampled_cache_size: z
        .number()
        .int()
        .nonnegative()
        .default(0)
        .meta({ description: "Number of drop decisions to remember. 0: as many as num_traces." }),
    }),
  )
    .prefault({})
    .meta({ description: "How many decisions are remembered for late spans. 0: as many as num_traces." }),
  maximum_trace_size_bytes: byteSize()
    .default(0)
    .meta({ description: "Traces larger than this are dropped as soon as they exceed it. 0: no limit." }),
  sample_on_first_match: z
    .boolean()
    .default(false)
    .meta({ description: "Stop evaluating policies once one has sampled the trace." }),
  drop_pending_traces_on_shutdown: z.boolean().default(false).meta({
    description:
      "When the agent stops, leave waiting traces in the pipeline's journal for the next start instead of deciding about them. Without a journal, they are refused and their senders keep them.",
  }),
  policies: z.array(z.unknown()).min(1, "expected at least one policy").meta({
    description: "The policies that decide about traces: each has a name, a type and the settings of that type.",
  }),
  sampling_strategy: z
    .literal("trace-complete", { error: 'expected "trace-complete": traces are decided as a whole' })
    .default("trace-complete")
    .meta({ description: "Traces are decided as a whole; there is nothing else to choose." }),
  expected_new_traces_per_sec: ignored("memory is allocated as traces arrive"),
  num_shards: ignored("one thread decides about all traces"),
  tail_storage: unsupported("waiting spans are in the journal of their pipeline; there is nothing else to store"),
});

export interface TailSamplingConfig {
  readonly decisionWaitMs: number;
  /** 0 if the root span changes nothing. */
  readonly rootWaitMs: number;
  readonly numTraces: number;
  readonly maxBytes: number;
  readonly refusesOverflow: boolean;
  readonly sampledCacheSize: number;
  readonly nonSampledCacheSize: number;
  /** 0 for no limit. */
  readonly maxTraceBytes: number;
  readonly isFirstMatchEnough: boolean;
  readonly refusesPending: boolean;
  /** Drop policies come first: no other policy can keep a trace that they drop. */
  readonly policies: readonly PolicySpec[];
}

export const tailSamplingSchema = rawSchema.transform((config, context): TailSamplingConfig => {
  const policies = readPolicies(
    config.policies,
    (path, message) => context.addIssue({ code: "custom", path: [...path], message }),
    context,
  );
  return {
    decisionWaitMs: config.decision_wait,
    rootWaitMs: config.decision_wait_after_root_received,
    numTraces: config.num_traces,
    maxBytes: config.max_bytes,
    refusesOverflow: config.block_on_overflow,
    sampledCacheSize: config.decision_cache.sampled_cache_size || config.num_traces,
    nonSampledCacheSize: config.decision_cache.non_sampled_cache_size || config.num_traces,
    maxTraceBytes: config.maximum_trace_size_bytes,
    isFirstMatchEnough: config.sample_on_first_match,
    refusesPending: config.drop_pending_traces_on_shutdown,
    policies: [...policies.filter(({ isDrop }) => isDrop), ...policies.filter(({ isDrop }) => !isDrop)],
  };
});

const rawGroupingSchema = z.strictObject({
  wait_duration: duration()
    .default(1000)
    .meta({ description: "How long to wait for the spans of a trace, from the first one on." }),
  num_traces: z
    .number()
    .int()
    .positive()
    .default(1_000_000)
    .meta({ description: "Traces that may wait; with more, the oldest are passed on early." }),
  max_bytes: byteSize()
    .default(48 * 1024 * 1024)
    .meta({ description: "Bytes of requests that may wait; with more, the oldest traces are passed on early." }),
  num_workers: ignored("one thread groups all traces"),
  discard_orphans: z
    .literal(false, { error: "expected false: traces without a root span are passed on too, as in the Collector" })
    .default(false)
    .meta({ description: "Traces without a root span are always passed on." }),
  store_on_disk: unsupported("waiting spans are in the journal of their pipeline; there is nothing else to store"),
});

/** Grouping is sampling that keeps every trace. */
export const groupByTraceSchema = rawGroupingSchema.transform(
  ({ wait_duration, num_traces, max_bytes }): TailSamplingConfig =>
    tailSamplingSchema.parse({
      decision_wait: `${wait_duration}ms`,
      num_traces,
      max_bytes,
      policies: [{ name: "all", type: "always_sample" }],
    }),
);

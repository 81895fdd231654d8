import { z } from "zod";
import { checkSharedState, sharedStateKeys } from "#brokers";
import { duration, section } from "../../../plugin.js";
import { parseValuePath, type ValuePath } from "./value-path.js";

const rate = () => z.number().min(0, "expected a rate from 0 to 1").max(1, "expected a rate from 0 to 1");
const positive = () => z.number().positive();

const severity = z.preprocess(
  (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toLowerCase(), one]))
      : (value ?? {}),
  z.strictObject({
    trace: rate().default(1).meta({ description: "The share of records of severity trace that is kept." }),
    debug: rate().default(1).meta({ description: "The share of records of severity debug that is kept." }),
    info: rate().default(1).meta({ description: "The share of records of severity info that is kept." }),
    warn: rate().default(1).meta({ description: "The share of records of severity warn that is kept." }),
    error: rate()
      .default(1)
      .meta({ description: "The share of records of severity error, and of spans with an error, that is kept." }),
    fatal: rate().default(1).meta({ description: "The share of records of severity fatal that is kept." }),
    unspecified: rate().default(1).meta({ description: "The share of records without a severity that is kept." }),
  }),
);

const errorSpike = z.strictObject({
  enabled: z.boolean().default(true).meta({ description: "Keep everything for a while when errors spike." }),
  absolute: positive().default(100).meta({ description: "Number of errors in a window that counts as a spike." }),
  relative: z
    .number()
    .gt(1)
    .default(3)
    .meta({ description: "Increase over the previous window that counts as a spike, as a factor." }),
  minimum: positive().default(10).meta({ description: "Fewer errors than this never count as a spike." }),
  window: duration().default(60_000).meta({ description: "The time in which errors are counted." }),
  hold: duration().default(300_000).meta({ description: "How long everything is kept after a spike." }),
});

const tier = z.strictObject({
  above: positive().meta({ description: "Records per second." }),
  rate: rate().meta({ description: "The rate above that load." }),
});

const load = z.strictObject({
  enabled: z.boolean().default(true).meta({ description: "Keep fewer records under load." }),
  tiers: z
    .array(tier)
    .min(1)
    .default([
      { above: 1000, rate: 0.5 },
      { above: 10_000, rate: 0.1 },
      { above: 50_000, rate: 0.01 },
    ])
    .meta({
      description: "Load tiers: above a number of records per second, all rates are multiplied by the tier's rate.",
    }),
  window: duration().default(5000).meta({ description: "Over how long the load is measured." }),
  hysteresis: z
    .number()
    .min(0)
    .lt(1)
    .default(0.2)
    .meta({ description: "How far the load must fall below a tier before the tier is left, as a share." }),
});

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const valueRule = z
  .strictObject({
    path: z.string().min(1).meta({ harmless: true, description: "The attribute, such as attributes.order.total." }),
    gt: z.number().optional().meta({ description: "Greater than this." }),
    lt: z.number().optional().meta({ description: "Less than this." }),
    equals: scalar.optional().meta({ description: "Equal to this value." }),
    in_range: z
      .tuple([z.number(), z.number()])
      .optional()
      .meta({ description: "From the first to the second, both included." }),
  })
  .refine((rule) => Object.keys(rule).length > 1, "expected one of gt, lt, equals, in_range")
  .refine((rule) => rule.in_range === undefined || rule.in_range[0] <= rule.in_range[1], {
    path: ["in_range"],
    message: "expected the smaller number first",
  });

export const adaptiveSamplingSchema = z
  .strictObject({
    severity: severity.prefault({}).meta({ description: "Rates of log records by severity; error also for spans." }),
    events: section(z.record(z.string().min(1), rate()))
      .prefault({})
      .meta({
        description: "Rates by the name of the event or span; * stands for any text; the first match counts.",
      }),
    exempt: z
      .array(z.string().min(1))
      .default(["audit", "audit.*"])
      .meta({ description: "Names of events and spans that are always kept." }),
    values: z.array(valueRule).default([]).meta({ description: "Records with such values are always kept." }),
    trace_rate: rate()
      .optional()
      .meta({ description: "The rate of records that belong to a trace, instead of the rates by severity." }),
    error_spike: section(errorSpike)
      .prefault({})
      .meta({ description: "Keeps everything for a while after errors have spiked." }),
    load: section(load).prefault({}).meta({ description: "Keeps fewer records under load." }),
    hash_seed: z.number().int().min(0).max(0xffffffff).default(0).meta({
      description: "Agents with the same seed keep the same traces; consecutive samplers need different ones.",
    }),
    remember_traces: z
      .number()
      .int()
      .nonnegative()
      .default(50_000)
      .meta({ description: "How many traces keep the load tier they began with." }),
    ...sharedStateKeys,
  })
  .superRefine(checkSharedState)
  .superRefine(({ load: { tiers, window }, error_spike: spike }, context) => {
    for (const [i, { above }] of tiers.entries()) {
      if (i > 0 && above <= tiers[i - 1]!.above)
        context.addIssue({ code: "custom", path: ["load", "tiers", i, "above"], message: "expected more than before" });
    }
    if (window <= 0) context.addIssue({ code: "custom", path: ["load", "window"], message: "expected more than 0" });
    if (spike.window <= 0)
      context.addIssue({ code: "custom", path: ["error_spike", "window"], message: "expected more than 0" });
  });

export type AdaptiveSamplingConfig = z.infer<typeof adaptiveSamplingSchema>;
export type ErrorSpikeConfig = z.infer<typeof errorSpike>;
export type LoadConfig = z.infer<typeof load>;
type ValueRule = z.infer<typeof valueRule>;

export interface CompiledValueRule {
  readonly path: ValuePath;
  holds(value: unknown): boolean;
}

/** All conditions of a rule must hold. Numbers are compared only with numbers. */
export function compileValueRule({ path, gt, lt, equals, in_range: range }: ValueRule): CompiledValueRule {
  const isNumber = (value: unknown): value is number => typeof value === "number" || typeof value === "bigint";
  const tests: ((value: unknown) => boolean)[] = [];
  if (gt !== undefined) tests.push((value) => isNumber(value) && value > gt);
  if (lt !== undefined) tests.push((value) => isNumber(value) && value < lt);
  if (equals !== undefined) tests.push((value) => (typeof value === "bigint" ? Number(value) : value) === equals);
  if (range !== undefined) tests.push((value) => isNumber(value) && value >= range[0] && value <= range[1]);
  return { path: parseValuePath(path), holds: (value) => tests.every((test) => test(value)) };
}

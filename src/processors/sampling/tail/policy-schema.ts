import { z } from "zod";
import { type Condition, compileEach, compileIn, ERROR_MODES } from "#ottl";
import { compilePattern } from "#text/patterns";
import { caseInsensitiveEnum, section } from "../../../plugin.js";

/** The settings of each type of policy, besides its name and type. Nested policies are parsed later. */

const count = () => z.number().int().nonnegative();
const strings = () => z.array(z.string());
const nested = () => z.array(z.unknown()).min(1, "expected at least one policy");

const stringAttribute = z
  .strictObject({
    key: z.string().min(1),
    values: strings().default([]),
    enabled_regex_matching: z.boolean().default(false),
    cache_max_size: count().default(128),
    invert_match: z.boolean().default(false),
  })
  .superRefine(({ values, enabled_regex_matching: isRegex }, context) => {
    for (const [i, source] of isRegex ? values.entries() : []) {
      try {
        compilePattern(source);
      } catch (error) {
        context.addIssue({
          code: "custom",
          path: ["values", i],
          message: `not a valid pattern: ${(error as Error).message}`,
        });
      }
    }
  });

const numericAttribute = z
  .strictObject({
    key: z.string().min(1),
    min_value: z.number().optional(),
    max_value: z.number().optional(),
    invert_match: z.boolean().default(false),
  })
  .refine((c) => c.min_value !== undefined || c.max_value !== undefined, "expected min_value or max_value")
  .refine((c) => (c.min_value ?? Number.NEGATIVE_INFINITY) <= (c.max_value ?? Number.POSITIVE_INFINITY), {
    path: ["max_value"],
    message: "expected at least min_value",
  });

const ottl = z
  .strictObject({
    error_mode: caseInsensitiveEnum(ERROR_MODES).default("ignore"),
    span: strings().nullish(),
    spanevent: strings().nullish(),
  })
  .transform((written, context) => {
    const compiled = (key: "span" | "spanevent"): readonly Condition[] => {
      const compile = (text: string) => compileIn(key, [], [text]);
      const groups = compileEach(
        written[key],
        compile,
        (i) => [key, i],
        (issue) => context.addIssue(issue),
      );
      return groups.flatMap(({ conditions }) => conditions);
    };
    if ((written.span ?? []).length + (written.spanevent ?? []).length === 0)
      context.addIssue({ code: "custom", message: "expected at least one condition, in span or spanevent" });
    return {
      mode: written.error_mode,
      spans: compiled("span"),
      events: compiled("spanevent"),
    };
  });

const noSettings = section(z.strictObject({})).optional();

/** Settings by policy type, which is also the key they are written under. */
export const POLICY_SECTIONS = {
  always_sample: noSettings,
  trace_flags: noSettings,
  latency: z.strictObject({ threshold_ms: count(), upper_threshold_ms: count().default(0) }),
  status_code: z.strictObject({ status_codes: z.array(z.enum(["OK", "ERROR", "UNSET"])).min(1) }),
  string_attribute: stringAttribute,
  numeric_attribute: numericAttribute,
  boolean_attribute: z.strictObject({
    key: z.string().min(1),
    value: z.boolean().default(false),
    invert_match: z.boolean().default(false),
  }),
  probabilistic: z.strictObject({ sampling_percentage: z.number().min(0), hash_salt: z.string().default("") }),
  rate_limiting: z.strictObject({ spans_per_second: count(), burst_capacity: count().default(0) }),
  bytes_limiting: z.strictObject({ bytes_per_second: count(), burst_capacity: count().default(0) }),
  span_count: z
    .strictObject({ min_spans: count().default(0), max_spans: count().default(0) })
    .refine((c) => c.max_spans === 0 || c.max_spans >= c.min_spans, {
      path: ["max_spans"],
      message: "expected 0 or at least min_spans",
    }),
  trace_state: z.strictObject({ key: z.string().min(1), values: strings().min(1) }),
  ottl_condition: ottl,
  and: z.strictObject({ and_sub_policy: nested() }),
  not: z.strictObject({ not_sub_policy: z.unknown().refine((one) => one != null, "expected a policy") }),
  drop: z.strictObject({ drop_sub_policy: nested() }),
  composite: z.strictObject({
    max_total_spans_per_second: count(),
    policy_order: strings().default([]),
    composite_sub_policy: nested(),
    rate_allocation: z.array(z.strictObject({ policy: z.string(), percent: z.number().min(0).max(100) })).default([]),
  }),
} as const;

export type PolicyType = keyof typeof POLICY_SECTIONS;
export type SectionOf<T extends PolicyType> = z.output<(typeof POLICY_SECTIONS)[T]>;

export const POLICY_TYPES = Object.keys(POLICY_SECTIONS) as PolicyType[];

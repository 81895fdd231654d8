import { z } from "zod";
import { checkSharedState, type SharedRedisConfig, sharedRedisOf, sharedStateKeys } from "#brokers";
import { parseRecordPattern, type RecordPattern, recordPattern } from "#contract/schema";
import { type Condition, compileIn, ottlIssue, RECORD_CONTEXTS } from "#ottl";
import { duration, SIGNALS, type Signal, secret, section } from "../../plugin.js";
import type { Limit } from "./allowance.js";
import { type KeyPart, parseKeyPart } from "./record-key.js";

const limit = () => z.number().int().positive();
const window = () => duration().refine((ms) => ms > 0, "expected more than 0, such as 1s");
const burst = () => z.number().int().nonnegative();

const globalLimit = z.strictObject({
  limit: limit().default(10_000).meta({ description: "Maximum number of records of all keys together in any window." }),
  window: window().default(1000).meta({ description: "The length of the window." }),
  burst: burst()
    .default(0)
    .meta({ description: "Additional records allowed after a quiet time; the long-term rate stays at the limit." }),
});

/** An unset variable gives an empty value. A client could then bypass the limits by sending an empty header. */
function hasValues(metadata: Readonly<Record<string, string>>): boolean {
  return Object.values(metadata).every((value) => value !== "");
}

const bypassRule = z
  .strictObject({
    pattern: recordPattern()
      .optional()
      .meta({ description: "A pattern for records, such as order.* or severity>=ERROR." }),
    condition: z.string().optional().meta({ description: "An OTTL condition on the log record, span or data point." }),
    metadata: z
      .record(z.string(), secret())
      .refine(hasValues, 'expected a value, or "*" for any value')
      .optional()
      .meta({ description: 'Client metadata that must have this value; "*" is any value.' }),
  })
  .refine((rule) => Object.values(rule).some((part) => part !== undefined), "expected pattern, condition or metadata");

const rawSchema = z.strictObject({
  limit: limit()
    .optional()
    .meta({ description: "Maximum number of records of one key in any window. Default: 1000 per second." }),
  window: window().default(1000).meta({ description: "The length of the window." }),
  burst: burst()
    .default(0)
    .meta({ description: "Additional records allowed after a quiet time; the long-term rate stays at the limit." }),
  key: z
    .array(z.string())
    .default(["event.name"])
    .meta({ description: "event.name, attributes.x, resource.x, metadata.x; several are combined." }),
  global: z
    .union([section(globalLimit), z.literal(false)])
    .optional()
    .meta({ description: "A limit for all keys together; default 10000 in 1s. false switches it off." }),
  max_keys: z.number().int().positive().max(10_000_000).default(10_000).meta({
    description: "Maximum number of keys with a limit of their own; further keys share one.",
  }),
  on_excess: z
    .enum(["drop", "dead_letter", "refuse"])
    .default("drop")
    .meta({ description: "drop, keep as dead letters, or refuse the whole request (429)." }),
  bypass: z
    .array(z.union([recordPattern(), bypassRule]))
    .default([])
    .meta({ description: "Records that bypass the limits." }),
  ...sharedStateKeys,
});

/** A rule that lets records bypass the limits. All of its parts must match. */
export interface BypassRule {
  readonly pattern: RecordPattern | undefined;
  /** The condition compiled for each signal that it can apply to; undefined if the rule has no condition. */
  readonly conditions: Readonly<Partial<Record<Signal, Condition>>> | undefined;
  readonly metadata: readonly (readonly [name: string, value: string])[];
}

export interface RateLimitConfig {
  readonly perKey: Limit;
  readonly global: Limit | undefined;
  readonly key: readonly KeyPart[];
  readonly maxKeys: number;
  readonly onExcess: "drop" | "dead_letter" | "refuse";
  readonly bypass: readonly BypassRule[];
  /** Where the limits are shared with other agents; undefined if they are not shared. */
  readonly shared: SharedRedisConfig | undefined;
}

type RawRateLimitConfig = z.infer<typeof rawSchema>;
export const rateLimitSchema = rawSchema.superRefine(checkSharedState).transform((config, context): RateLimitConfig => {
  const perKey = { limit: config.limit ?? 1000, windowMs: config.window, burst: config.burst };
  return {
    perKey,
    global: globalLimitOf(config, perKey, context),
    key: config.key.flatMap((text, i) => {
      const part = parseKeyPart(text);
      if (part === undefined) context.addIssue({ code: "custom", path: ["key", i], message: EXPECTED_KEY });
      return part ?? [];
    }),
    maxKeys: config.max_keys,
    onExcess: config.on_excess,
    bypass: config.bypass.map((rule, i) => bypassRuleOf(rule, i, context)),
    shared: sharedRedisOf(config),
  };
});

const EXPECTED_KEY = "expected event.name, or attributes, resource or metadata with a key, such as attributes.tenant";

/** Without keys there is only one allowance anyway, so a global limit applies only if it is configured. */
function globalLimitOf(config: RawRateLimitConfig, perKey: Limit, context: z.RefinementCtx): Limit | undefined {
  if (config.global === false || (config.global === undefined && config.key.length === 0)) return undefined;
  const { limit: perWindow, window: windowMs, burst: extra } = config.global ?? globalLimit.parse({});
  if (config.global === undefined && perKey.limit / perKey.windowMs > perWindow / windowMs) {
    const message = `the limit of a key is above the global limit, which is ${perWindow} in 1s by default: write global: {limit: …}, or global: false for none`;
    context.addIssue({ code: "custom", path: [config.limit === undefined ? "window" : "limit"], message });
  }
  return { limit: perWindow, windowMs, burst: extra };
}

function bypassRuleOf(rule: RawRateLimitConfig["bypass"][number], index: number, context: z.RefinementCtx): BypassRule {
  const { pattern, condition, metadata = {} } = typeof rule === "string" ? { pattern: rule } : rule;
  return {
    pattern: pattern === undefined ? undefined : (parseRecordPattern(pattern) as RecordPattern),
    conditions: condition === undefined ? undefined : conditionsOf(condition, ["bypass", index, "condition"], context),
    metadata: Object.entries(metadata).map(([name, value]) => [name.toLowerCase(), value] as const),
  };
}

/** Compiles the condition for each signal whose records have the fields that it names. */
function conditionsOf(text: string, path: (string | number)[], context: z.RefinementCtx): BypassRule["conditions"] {
  const found: Partial<Record<Signal, Condition>> = {};
  const errors: unknown[] = [];
  for (const signal of SIGNALS) {
    const result = compileIn(RECORD_CONTEXTS[signal], [], [text]);
    if ("context" in result) found[signal] = result.conditions[0]!;
    else errors.push(result.error);
  }
  if (errors.length === SIGNALS.length) context.addIssue(ottlIssue(errors[0], path));
  return found;
}

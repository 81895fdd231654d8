import type { z } from "zod";
import type { ConfigPath } from "#contract/schema";
import { STATUS_CODES } from "#otlp/signals";
import { compilePattern } from "#text/patterns";
import { andPolicy, compositePolicy, notPolicy } from "./combined-policies.js";
import { bytesLimitingPolicy, probabilisticPolicy, rateLimitingPolicy, spanCountPolicy } from "./count-policies.js";
import type { CreatePolicy, Evaluate, PolicySpec } from "./policy.js";
import { POLICY_SECTIONS, POLICY_TYPES, type PolicyType, type SectionOf } from "./policy-schema.js";
import {
  attributePolicy,
  latencyPolicy,
  ottlConditionPolicy,
  statusCodePolicy,
  traceFlagsPolicy,
  traceStatePolicy,
} from "./span-policies.js";

type ReportIssue = (path: ConfigPath, message: string) => void;

/** Policies nested deeper are rejected, such as one that contains itself through a YAML alias. */
const MAX_DEPTH = 8;

/** Parses the list under `policies`. Problems are reported with their path, and policies with problems are left out. */
export function readPolicies(
  written: readonly unknown[],
  report: ReportIssue,
  zodContext: z.RefinementCtx,
): PolicySpec[] {
  return new PolicyReader(report, zodContext).readList(written, ["policies"], 0, true);
}

class PolicyReader {
  private readonly report: ReportIssue;
  private readonly zodContext: z.RefinementCtx;

  constructor(issue: ReportIssue, refine: z.RefinementCtx) {
    this.report = issue;
    this.zodContext = refine;
  }

  readList(written: readonly unknown[], path: ConfigPath, depth: number, isTop = false): PolicySpec[] {
    const names = new Set<string>();
    return written.flatMap((one, i) => {
      const spec = this.readOne(one, [...path, i], depth, isTop);
      if (spec === undefined) return [];
      if (names.has(spec.name)) this.report([...path, i, "name"], `there is another policy named ${spec.name}`);
      names.add(spec.name);
      return [spec];
    });
  }

  readOne(written: unknown, path: ConfigPath, depth: number, isTop = false): PolicySpec | undefined {
    if (depth > MAX_DEPTH)
      return void this.report(path, `policies are nested more than ${MAX_DEPTH} deep, or in a circle`);
    if (typeof written !== "object" || written === null || Array.isArray(written))
      return void this.report(path, "expected a policy with a name and a type");
    const { name, type, ...sections } = written as Record<string, unknown>;
    if (typeof name !== "string" || name === "") this.report([...path, "name"], "expected a name");
    const known = POLICY_TYPES.find((one) => one === type);
    if (known === undefined) return void this.report([...path, "type"], `expected one of ${POLICY_TYPES.join(", ")}`);
    for (const key of Object.keys(sections)) {
      if (!POLICY_TYPES.includes(key as PolicyType))
        this.report([...path, key], `unknown key of a policy of type ${known}`);
    }
    if (known === "drop" && !isTop) this.report([...path, "type"], "a drop policy cannot be inside another policy");
    const create = this.createPolicy(known, sections[known], [...path, known], depth);
    return create && { name: String(name), isDrop: known === "drop", create };
  }

  private createPolicy(type: PolicyType, written: unknown, path: ConfigPath, depth: number): CreatePolicy | undefined {
    const parsed = POLICY_SECTIONS[type].safeParse(written);
    if (!parsed.success) {
      for (const one of parsed.error.issues)
        this.zodContext.addIssue({ ...one, path: [...path, ...one.path] } as never);
      return undefined;
    }
    const combined = COMBINED_POLICIES[type as keyof typeof COMBINED_POLICIES];
    if (combined !== undefined) return combined(parsed.data as never, this, path, depth + 1);
    return SIMPLE_POLICIES[type as keyof typeof SIMPLE_POLICIES](parsed.data as never);
  }

  readComposite(config: SectionOf<"composite">, path: ConfigPath, depth: number): CreatePolicy {
    const specs = this.readList(config.composite_sub_policy, [...path, "composite_sub_policy"], depth);
    const isKnown = (name: string) => specs.some((spec) => spec.name === name);
    for (const [i, name] of config.policy_order.entries())
      if (!isKnown(name)) this.report([...path, "policy_order", i], `there is no policy named ${name} in this one`);
    for (const [i, { policy }] of config.rate_allocation.entries())
      if (!isKnown(policy))
        this.report([...path, "rate_allocation", i, "policy"], `there is no policy named ${policy} in this one`);
    const maxSpansPerSecond = config.max_total_spans_per_second;
    const position = ({ name }: PolicySpec) => config.policy_order.indexOf(name) + 1 || specs.length + 1;
    const limited = [...specs]
      .sort((a, b) => position(a) - position(b))
      .map(({ name, create }) => {
        const percent = config.rate_allocation.find(({ policy }) => policy === name)?.percent ?? 0;
        return {
          create,
          spansPerSecond: Math.trunc(
            percent > 0 ? (percent / 100) * maxSpansPerSecond : maxSpansPerSecond / specs.length,
          ),
        };
      });
    return compositePolicy(limited, maxSpansPerSecond);
  }
}

const stateless =
  (evaluate: Evaluate): CreatePolicy =>
  () =>
    evaluate;

/** Policies that contain policies. `depth` is the depth of the inner ones. */
const COMBINED_POLICIES = {
  and: (config: SectionOf<"and">, reader: PolicyReader, path: ConfigPath, depth: number) =>
    andPolicy(reader.readList(config.and_sub_policy, [...path, "and_sub_policy"], depth).map(({ create }) => create)),
  drop: (config: SectionOf<"drop">, reader: PolicyReader, path: ConfigPath, depth: number) =>
    andPolicy(reader.readList(config.drop_sub_policy, [...path, "drop_sub_policy"], depth).map(({ create }) => create)),
  not: (config: SectionOf<"not">, reader: PolicyReader, path: ConfigPath, depth: number) => {
    const inner = reader.readOne(config.not_sub_policy, [...path, "not_sub_policy"], depth);
    return inner && notPolicy(inner.create);
  },
  composite: (config: SectionOf<"composite">, reader: PolicyReader, path: ConfigPath, depth: number) =>
    reader.readComposite(config, path, depth),
};

const SIMPLE_POLICIES = {
  always_sample: () => stateless(() => true),
  trace_flags: () => stateless(traceFlagsPolicy()),
  latency: (c: SectionOf<"latency">) => stateless(latencyPolicy(c.threshold_ms, c.upper_threshold_ms)),
  status_code: (c: SectionOf<"status_code">) =>
    stateless(statusCodePolicy(new Set(c.status_codes.map((code) => STATUS_CODES.indexOf(code.toLowerCase()))))),
  string_attribute: (c: SectionOf<"string_attribute">): CreatePolicy => {
    const size = c.cache_max_size > 0 ? c.cache_max_size : 128;
    return () => {
      const matches = c.enabled_regex_matching ? matchesAnyPattern(c.values, size) : matchesAnyText(c.values);
      return attributePolicy(c.key, (value) => typeof value === "string" && matches(value), c.invert_match);
    };
  },
  numeric_attribute: ({ key, min_value, max_value, invert_match }: SectionOf<"numeric_attribute">) => {
    const [least, most] = [min_value ?? Number.NEGATIVE_INFINITY, max_value ?? Number.POSITIVE_INFINITY];
    const isNumber = (value: unknown): value is number => typeof value === "number" || typeof value === "bigint";
    return stateless(attributePolicy(key, (value) => isNumber(value) && value >= least && value <= most, invert_match));
  },
  boolean_attribute: (c: SectionOf<"boolean_attribute">) =>
    stateless(attributePolicy(c.key, (value) => value === c.value, c.invert_match)),
  probabilistic: (c: SectionOf<"probabilistic">) => stateless(probabilisticPolicy(c.sampling_percentage, c.hash_salt)),
  rate_limiting: (c: SectionOf<"rate_limiting">) => rateLimitingPolicy(c.spans_per_second, c.burst_capacity),
  bytes_limiting: (c: SectionOf<"bytes_limiting">) => bytesLimitingPolicy(c.bytes_per_second, c.burst_capacity),
  span_count: (c: SectionOf<"span_count">) => stateless(spanCountPolicy(c.min_spans, c.max_spans)),
  trace_state: (c: SectionOf<"trace_state">) => stateless(traceStatePolicy(c.key, new Set(c.values))),
  ottl_condition: (c: SectionOf<"ottl_condition">) => ottlConditionPolicy(c.spans, c.events, c.mode),
};

/** Matches any of these texts. An empty text matches nothing, as in the Collector. */
function matchesAnyText(texts: readonly string[]): (text: string) => boolean {
  const known = new Set(texts.filter((text) => text !== ""));
  return (text) => known.has(text);
}

/** Matches any of these patterns anywhere in the text. Up to `cacheSize` results are remembered. */
function matchesAnyPattern(sources: readonly string[], cacheSize: number): (text: string) => boolean {
  const patterns = sources.map((source) => compilePattern(source));
  const results = new Map<string, boolean>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known;
    const result = patterns.some((pattern) => pattern.test(text));
    if (results.size >= cacheSize) results.delete(results.keys().next().value!);
    results.set(text, result);
    return result;
  };
}

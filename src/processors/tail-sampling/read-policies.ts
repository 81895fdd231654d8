import type { z } from "zod";
import { allOf, composite, not } from "./combined-policies.js";
import { bytesLimiting, probabilistic, rateLimiting, spanCount } from "./count-policies.js";
import { anyPattern, anyText } from "./match-text.js";
import type { CreatePolicy, Evaluate, PolicySpec } from "./policy.js";
import { POLICY_SECTIONS, POLICY_TYPES, type PolicyType, type SectionOf } from "./policy-schema.js";
import { attribute, latency, ottlCondition, statusCode, traceFlags, traceState } from "./span-policies.js";

type Path = readonly PropertyKey[];
type Issue = (path: Path, message: string) => void;

/** Deeper than anybody needs: a policy that contains itself, by a YAML alias, ends here. */
const MAX_DEPTH = 8;

/** Reads what is written under `policies`; problems are told with their place, and what has one is left out. */
export function readPolicies(written: readonly unknown[], issue: Issue, refine: z.RefinementCtx): PolicySpec[] {
  return new PolicyReader(issue, refine).list(written, ["policies"], 0, true);
}

class PolicyReader {
  private readonly issue: Issue;
  private readonly refine: z.RefinementCtx;

  constructor(issue: Issue, refine: z.RefinementCtx) {
    this.issue = issue;
    this.refine = refine;
  }

  list(written: readonly unknown[], path: Path, depth: number, isTop = false): PolicySpec[] {
    const names = new Set<string>();
    return written.flatMap((one, i) => {
      const spec = this.one(one, [...path, i], depth, isTop);
      if (spec === undefined) return [];
      if (names.has(spec.name)) this.issue([...path, i, "name"], `there is another policy named ${spec.name}`);
      names.add(spec.name);
      return [spec];
    });
  }

  one(written: unknown, path: Path, depth: number, isTop = false): PolicySpec | undefined {
    if (depth > MAX_DEPTH)
      return void this.issue(path, `policies are nested more than ${MAX_DEPTH} deep, or in a circle`);
    if (typeof written !== "object" || written === null || Array.isArray(written))
      return void this.issue(path, "expected a policy with a name and a type");
    const { name, type, ...sections } = written as Record<string, unknown>;
    if (typeof name !== "string" || name === "") this.issue([...path, "name"], "expected a name");
    const known = POLICY_TYPES.find((one) => one === type);
    if (known === undefined) return void this.issue([...path, "type"], `expected one of ${POLICY_TYPES.join(", ")}`);
    for (const key of Object.keys(sections)) {
      if (!POLICY_TYPES.includes(key as PolicyType))
        this.issue([...path, key], `unknown key of a policy of type ${known}`);
    }
    if (known === "drop" && !isTop) this.issue([...path, "type"], "a drop policy cannot be inside another policy");
    const create = this.create(known, sections[known], [...path, known], depth);
    return create && { name: String(name), isDrop: known === "drop", create };
  }

  private create(type: PolicyType, written: unknown, path: Path, depth: number): CreatePolicy | undefined {
    const parsed = POLICY_SECTIONS[type].safeParse(written);
    if (!parsed.success) {
      for (const one of parsed.error.issues) this.refine.addIssue({ ...one, path: [...path, ...one.path] } as never);
      return undefined;
    }
    const combined = COMBINED[type as keyof typeof COMBINED];
    if (combined !== undefined) return combined(parsed.data as never, this, path, depth + 1);
    return SIMPLE[type as keyof typeof SIMPLE](parsed.data as never);
  }

  composite(config: SectionOf<"composite">, path: Path, depth: number): CreatePolicy {
    const specs = this.list(config.composite_sub_policy, [...path, "composite_sub_policy"], depth);
    const isKnown = (name: string) => specs.some((spec) => spec.name === name);
    for (const [i, name] of config.policy_order.entries())
      if (!isKnown(name)) this.issue([...path, "policy_order", i], `there is no policy named ${name} in this one`);
    for (const [i, { policy }] of config.rate_allocation.entries())
      if (!isKnown(policy))
        this.issue([...path, "rate_allocation", i, "policy"], `there is no policy named ${policy} in this one`);
    const most = config.max_total_spans_per_second;
    const place = ({ name }: PolicySpec) => config.policy_order.indexOf(name) + 1 || specs.length + 1;
    const shares = [...specs]
      .sort((a, b) => place(a) - place(b))
      .map(({ name, create }) => {
        const percent = config.rate_allocation.find(({ policy }) => policy === name)?.percent ?? 0;
        return { create, spansPerSecond: Math.trunc(percent > 0 ? (percent / 100) * most : most / specs.length) };
      });
    return composite(shares, most);
  }
}

const plain =
  (evaluate: Evaluate): CreatePolicy =>
  () =>
    evaluate;

/** Policies of policies; the depth is that of those inside. */
const COMBINED = {
  and: (config: SectionOf<"and">, reader: PolicyReader, path: Path, depth: number) =>
    allOf(reader.list(config.and_sub_policy, [...path, "and_sub_policy"], depth).map(({ create }) => create)),
  drop: (config: SectionOf<"drop">, reader: PolicyReader, path: Path, depth: number) =>
    allOf(reader.list(config.drop_sub_policy, [...path, "drop_sub_policy"], depth).map(({ create }) => create)),
  not: (config: SectionOf<"not">, reader: PolicyReader, path: Path, depth: number) => {
    const inner = reader.one(config.not_sub_policy, [...path, "not_sub_policy"], depth);
    return inner && not(inner.create);
  },
  composite: (config: SectionOf<"composite">, reader: PolicyReader, path: Path, depth: number) =>
    reader.composite(config, path, depth),
};

const STATUS_CODES = { UNSET: 0, OK: 1, ERROR: 2 } as const;

const SIMPLE = {
  always_sample: () => plain(() => true),
  trace_flags: () => plain(traceFlags()),
  latency: (c: SectionOf<"latency">) => plain(latency(c.threshold_ms, c.upper_threshold_ms)),
  status_code: (c: SectionOf<"status_code">) =>
    plain(statusCode(new Set(c.status_codes.map((code) => STATUS_CODES[code])))),
  string_attribute: (c: SectionOf<"string_attribute">): CreatePolicy => {
    const size = c.cache_max_size > 0 ? c.cache_max_size : 128;
    return () => {
      const matches = c.enabled_regex_matching ? anyPattern(c.values, size) : anyText(c.values);
      return attribute(c.key, (value) => typeof value === "string" && matches(value), c.invert_match);
    };
  },
  numeric_attribute: ({ key, min_value, max_value, invert_match }: SectionOf<"numeric_attribute">) => {
    const [least, most] = [min_value ?? Number.NEGATIVE_INFINITY, max_value ?? Number.POSITIVE_INFINITY];
    const isNumber = (value: unknown): value is number => typeof value === "number" || typeof value === "bigint";
    return plain(attribute(key, (value) => isNumber(value) && value >= least && value <= most, invert_match));
  },
  boolean_attribute: (c: SectionOf<"boolean_attribute">) =>
    plain(attribute(c.key, (value) => value === c.value, c.invert_match)),
  probabilistic: (c: SectionOf<"probabilistic">) => plain(probabilistic(c.sampling_percentage, c.hash_salt)),
  rate_limiting: (c: SectionOf<"rate_limiting">) => rateLimiting(c.spans_per_second, c.burst_capacity),
  bytes_limiting: (c: SectionOf<"bytes_limiting">) => bytesLimiting(c.bytes_per_second, c.burst_capacity),
  span_count: (c: SectionOf<"span_count">) => plain(spanCount(c.min_spans, c.max_spans)),
  trace_state: (c: SectionOf<"trace_state">) => plain(traceState(c.key, new Set(c.values))),
  ottl_condition: (c: SectionOf<"ottl_condition">) => ottlCondition(c.spans, c.events, c.mode),
};

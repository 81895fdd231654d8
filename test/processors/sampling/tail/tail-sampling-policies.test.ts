import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { tailSampling } from "../../../../src/processors/sampling/tail/component.js";
import { owed } from "../../../support/deliveries.js";
import { counting, processing } from "../../../support/processors.js";
import { keptIn, type SpanInput, spanBatch, traceId } from "../../../support/sampled.js";

const ms = (n: number) => BigInt(n) * 1_000_000n;
const trace = traceId("t");
const one = (more: Partial<SpanInput> = {}): SpanInput => ({ trace, start: ms(1000), end: ms(1001), ...more });

function keeps(policy: object, spans: readonly SpanInput[], resource: Record<string, unknown> = {}): boolean {
  const { source, out } = processing(tailSampling, { policies: [{ name: "p", ...policy }] }, "traces");
  source.next(owed(spanBatch(spans, resource)).delivery);
  source.complete();
  return out.length === 1;
}

const text = (more: object) => ({ type: "string_attribute", string_attribute: { key: "k", ...more } });
const number = (more: object) => ({ type: "numeric_attribute", numeric_attribute: { key: "k", ...more } });
const bool = (more: object) => ({ type: "boolean_attribute", boolean_attribute: { key: "k", ...more } });
const ottl = (more: object) => ({ type: "ottl_condition", ottl_condition: more });
const sub = (name: string, more: object) => ({ name, ...more });
const latency = (more: object) => ({ type: "latency", latency: more });
const k = (value: unknown) => [one({ attributes: { k: value } })];

/** Percentage, salt, and a bit for each trace that was kept. */
const COLLECTOR_KEPT: readonly [number, string, string][] = [
  [
    10,
    "",
    "04001080044440202000124000800004030204010a01000000000000008080000100000001062c080000820000080040080005602420000100c8401000004000",
  ],
  [
    33.3,
    "",
    "07001080c54440242503fa4d84807484234645038a9142c01782f929248580e01312020285c62e9890509200221c02c268920def2421006105f8c15920245200",
  ],
  [
    50,
    "salt",
    "9bf9890c4c21e9764537fb60b06b8cb04125e36f05b24026f93b2b100afdac821d7a161aacd400842e715438af0564a1d208719a1a19430c412113f5ef27a6ae",
  ],
  [
    99.9,
    "x",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  ],
  [
    0.5,
    "",
    "00000080000000000000000000000000000000000200000000000000000000000000000000000800000000000000000000000040040000000000000000000000",
  ],
  [
    0,
    "",
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
  ],
  [
    100,
    "",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  ],
];

describe("the policies of tail_sampling", () => {
  it.each<[string, object, SpanInput[], boolean]>([
    ["always_sample", { type: "always_sample" }, [one()], true],
    ["latency over", latency({ threshold_ms: 10 }), [one({ end: ms(1011) })], true],
    ["latency at", latency({ threshold_ms: 10 }), [one({ end: ms(1010) })], false],
    [
      "latency over all spans",
      latency({ threshold_ms: 10 }),
      [one(), one({ start: ms(1010), end: ms(1012), span: "1111111111111111" })],
      true,
    ],
    ["latency within", latency({ threshold_ms: 10, upper_threshold_ms: 20 }), [one({ end: ms(1020) })], true],
    ["latency beyond", latency({ threshold_ms: 10, upper_threshold_ms: 20 }), [one({ end: ms(1021) })], false],
    ["status_code OK", { type: "status_code", status_code: { status_codes: ["OK"] } }, [one({ code: 1 })], true],
    ["status_code UNSET", { type: "status_code", status_code: { status_codes: ["ERROR", "UNSET"] } }, [one()], true],
    ["status_code other", { type: "status_code", status_code: { status_codes: ["ERROR"] } }, [one({ code: 1 })], false],
    ["string_attribute", text({ values: ["a", "b"] }), k("b"), true],
    ["string_attribute, part", text({ values: ["a"] }), k("ab"), false],
    ["string_attribute, pattern", text({ values: ["^a+$", "b"], enabled_regex_matching: true }), k("abc"), true],
    [
      "string_attribute, no pattern",
      text({ values: ["^a+$"], enabled_regex_matching: true, cache_max_size: 1 }),
      k("b"),
      false,
    ],
    ["string_attribute, inverted", text({ values: ["a"], invert_match: true }), k("a"), false],
    ["string_attribute, inverted, absent", text({ values: ["a"], invert_match: true }), [one()], true],
    ["numeric_attribute", number({ min_value: 400, max_value: 599 }), k(500), true],
    ["numeric_attribute, outside", number({ min_value: 400, max_value: 599 }), k(600), false],
    ["numeric_attribute, a text", number({ min_value: 400 }), k("500"), false],
    ["numeric_attribute, a double", number({ min_value: 1.5 }), k(1.75), true],
    ["numeric_attribute, inverted", number({ max_value: 10, invert_match: true }), k(5), false],
    ["boolean_attribute", bool({ value: true }), k(true), true],
    ["boolean_attribute, other", bool({ value: true }), k(false), false],
    ["boolean_attribute, inverted", bool({ value: true, invert_match: true }), k(false), true],
    ["span_count", { type: "span_count", span_count: { min_spans: 2 } }, [one()], false],
    ["span_count, at most", { type: "span_count", span_count: { min_spans: 1, max_spans: 1 } }, [one()], true],
    [
      "trace_state",
      { type: "trace_state", trace_state: { key: "v", values: ["1", "2"] } },
      [one({ state: "a=9, v=2" })],
      true,
    ],
    [
      "trace_state, other",
      { type: "trace_state", trace_state: { key: "v", values: ["1"] } },
      [one({ state: "vv=1" })],
      false,
    ],
    ["trace_flags", { type: "trace_flags" }, [one({ flags: 257 })], true],
    ["trace_flags, none", { type: "trace_flags" }, [one({ flags: 256 })], false],
    [
      "rate_limiting",
      { type: "rate_limiting", rate_limiting: { spans_per_second: 1, burst_capacity: 1 } },
      [one()],
      true,
    ],
    [
      "rate_limiting, too many",
      { type: "rate_limiting", rate_limiting: { spans_per_second: 1, burst_capacity: 1 } },
      [one(), one({ name: "b" })],
      false,
    ],
    ["bytes_limiting", { type: "bytes_limiting", bytes_limiting: { bytes_per_second: 1000 } }, [one()], true],
    ["bytes_limiting, too large", { type: "bytes_limiting", bytes_limiting: { bytes_per_second: 10 } }, [one()], false],
    ["ottl span", ottl({ span: ['attributes["k"] == 1', 'name == "x"'] }), [one({ name: "x" })], true],
    ["ottl spanevent", ottl({ spanevent: ['name == "boom"'] }), [one({ events: [{ name: "boom" }] })], true],
    ["ottl neither", ottl({ span: ['name == "x"'], spanevent: ['name == "boom"'] }), [one()], false],
    [
      "and, both",
      {
        type: "and",
        and: { and_sub_policy: [sub("a", text({ values: ["x"] })), sub("b", latency({ threshold_ms: 0 }))] },
      },
      k("x"),
      true,
    ],
    [
      "and, one",
      {
        type: "and",
        and: { and_sub_policy: [sub("a", text({ values: ["y"] })), sub("b", latency({ threshold_ms: 0 }))] },
      },
      k("x"),
      false,
    ],
    ["not", { type: "not", not: { not_sub_policy: sub("a", text({ values: ["y"] })) } }, k("x"), true],
    [
      "not in and",
      {
        type: "and",
        and: { and_sub_policy: [sub("n", { type: "not", not: { not_sub_policy: sub("a", bool({ value: true })) } })] },
      },
      k(true),
      false,
    ],
    ["drop alone", { type: "drop", drop: { drop_sub_policy: [sub("a", { type: "always_sample" })] } }, [one()], false],
  ])("%s", (_, policy, spans, expected) => {
    expect(keeps(policy, spans)).toBe(expected);
  });

  it("also reads the attributes of resources", () => {
    expect(keeps(text({ values: ["x"] }), [one()], { k: "x" })).toBe(true);
    expect(keeps(text({ values: ["x"], invert_match: true }), [one()], { k: "x" })).toBe(false);
  });

  it("lets a drop policy win over all others", () => {
    const drop = { name: "d", type: "drop", drop: { drop_sub_policy: [sub("a", bool({ value: true }))] } };
    const config = { policies: [{ name: "all", type: "always_sample" }, drop] };
    const { source, out } = processing(tailSampling, config, "traces");
    source.next(
      owed(
        spanBatch([
          { ...k(true)[0]!, name: "x" },
          { trace: traceId(2), name: "y" },
        ]),
      ).delivery,
    );
    source.complete();
    expect(keptIn(out).map(({ name }) => name)).toEqual(["y"]);
  });

  it("limits spans a second, and gives each part of a composite its share of them", () => {
    const composite = {
      name: "c",
      type: "composite",
      composite: {
        max_total_spans_per_second: 10,
        policy_order: ["errors", "rest"],
        composite_sub_policy: [
          sub("rest", { type: "always_sample" }),
          sub("errors", { type: "status_code", status_code: { status_codes: ["ERROR"] } }),
        ],
        rate_allocation: [
          { policy: "errors", percent: 30 },
          { policy: "rest", percent: 20 },
        ],
      },
    };
    const { source, out, clock } = processing(tailSampling, { policies: [composite], decision_wait: "1s" }, "traces");
    const send = (from: number) => {
      for (let i = from; i < from + 10; i++)
        source.next(
          owed(spanBatch([{ trace: traceId(i), name: i % 2 === 0 ? "error" : "rest", error: i % 2 === 0 }])).delivery,
        );
    };
    send(0);
    clock.advance(1000);
    const names = () =>
      keptIn(out)
        .map(({ name }) => name)
        .sort();
    expect(names()).toEqual(["error", "error", "error", "rest", "rest"]);
    send(100);
    clock.advance(1000);
    expect(names()).toHaveLength(10);
  });

  it("refills rate_limiting as time goes by", () => {
    const policy = { name: "r", type: "rate_limiting", rate_limiting: { spans_per_second: 2 } };
    const { source, out, clock } = processing(tailSampling, { policies: [policy], decision_wait: "1s" }, "traces");
    for (let i = 0; i < 10; i++) source.next(owed(spanBatch([{ trace: traceId(i) }])).delivery);
    clock.advance(1000);
    expect(keptIn(out)).toHaveLength(4);
    for (let i = 10; i < 20; i++) source.next(owed(spanBatch([{ trace: traceId(i) }])).delivery);
    clock.advance(1000);
    expect(keptIn(out)).toHaveLength(6);
  });

  it("ignores a policy that fails, and counts the failure", () => {
    const { metrics, counts } = counting();
    const failing = { name: "f", ...ottl({ span: ['ParseJSON(attributes["k"]) != nil'], error_mode: "propagate" }) };
    const config = { policies: [failing, { name: "all", type: "always_sample" }] };
    const { source, out } = processing(tailSampling, config, "traces", { metrics });
    source.next(owed(spanBatch(k("{"))).delivery);
    source.complete();
    expect(keptIn(out)).toHaveLength(1);
    expect(counts.get("otelcol_processor_tail_sampling_sampling_policy_evaluation_error")).toBe(1);
    const name = "otelcol_processor_tail_sampling_count_traces_sampled";
    expect(counts.get(`${name}{policy=all,sampled=true,decision=sampled}`)).toBe(1);
  });

  it("evaluates no further policies with sample_on_first_match", () => {
    const { metrics, counts } = counting();
    const all = (name: string) => ({ name, type: "always_sample" });
    const config = { policies: [all("a"), all("b")], sample_on_first_match: true };
    const { source } = processing(tailSampling, config, "traces", { metrics });
    source.next(owed(spanBatch([one()])).delivery);
    source.complete();
    expect([...counts.keys()].filter((key) => key.includes("policy="))).toHaveLength(1);
  });

  /** Traces that the Collector's tail_sampling (contrib v0.159) kept, of those whose ids are the MD5 of "0", "1" ... */
  it.each(COLLECTOR_KEPT)(
    "keeps the traces that the Collector keeps: %s %% with salt '%s'",
    (sampling_percentage, hash_salt, kept) => {
      const policy = { name: "p", type: "probabilistic", probabilistic: { sampling_percentage, hash_salt } };
      const { source, out } = processing(tailSampling, { policies: [policy] }, "traces");
      const md5 = (i: number) => createHash("md5").update(String(i)).digest("hex");
      source.next(
        owed(spanBatch(Array.from({ length: 512 }, (_, i) => ({ trace: md5(i), name: String(i) })))).delivery,
      );
      source.complete();
      const bits = Buffer.alloc(64);
      for (const { name } of keptIn(out)) bits[Number(name) >> 3]! |= 1 << (Number(name) & 7);
      expect(bits.toString("hex")).toBe(kept);
    },
  );
});

describe("the config of tail_sampling", () => {
  const all = { name: "all", type: "always_sample" };
  const circular: Record<string, unknown> = { name: "c", type: "and" };
  circular["and"] = { and_sub_policy: [circular] };
  it.each<[object, string]>([
    [{}, "policies"],
    [{ policies: [] }, "policies"],
    [{ policies: [all, all] }, "policies.1.name"],
    [{ policies: [{ type: "always_sample" }] }, "policies.0.name"],
    [{ policies: [{ name: "a", type: "always" }] }, "policies.0.type"],
    [{ policies: [{ name: "a", type: "latency" }] }, "policies.0.latency"],
    [{ policies: [{ name: "a", type: "latency", latency: { threshold: 5 } }] }, "policies.0.latency"],
    [{ policies: [{ name: "a", type: "latency", latency: { threshold_ms: -5 } }] }, "policies.0.latency.threshold_ms"],
    [
      { policies: [{ name: "a", ...text({ values: ["("], enabled_regex_matching: true }) }] },
      "policies.0.string_attribute.values.0",
    ],
    [{ policies: [{ name: "a", ...number({}) }] }, "policies.0.numeric_attribute"],
    [{ policies: [{ name: "a", ...ottl({}) }] }, "policies.0.ottl_condition"],
    [{ policies: [{ name: "a", ...ottl({ span: ["name =="] }) }] }, "policies.0.ottl_condition.span.0"],
    [
      { policies: [{ name: "a", type: "status_code", status_code: { status_codes: ["BAD"] } }] },
      "policies.0.status_code.status_codes.0",
    ],
    [
      { policies: [{ name: "a", type: "probabilistic", probabilistic: { sampling_percentage: -1 } }] },
      "policies.0.probabilistic.sampling_percentage",
    ],
    [
      { policies: [{ name: "a", type: "and", and: { and_sub_policy: [{ name: "b", type: "what" }] } }] },
      "policies.0.and.and_sub_policy.0.type",
    ],
    [
      { policies: [{ name: "a", type: "not", not: { not_sub_policy: { name: "b", type: "drop" } } }] },
      "policies.0.not.not_sub_policy.type",
    ],
    [
      {
        policies: [
          {
            name: "a",
            type: "composite",
            composite: { max_total_spans_per_second: 1, policy_order: ["x"], composite_sub_policy: [all] },
          },
        ],
      },
      "policies.0.composite.policy_order.0",
    ],
    [
      {
        policies: [
          {
            name: "a",
            type: "composite",
            composite: {
              max_total_spans_per_second: 1,
              rate_allocation: [{ policy: "x", percent: 10 }],
              composite_sub_policy: [all],
            },
          },
        ],
      },
      "policies.0.composite.rate_allocation.0.policy",
    ],
    [{ policies: [{ ...all, latncy: {} }] }, "policies.0.latncy"],
    [{ policies: [circular] }, `policies.0${".and.and_sub_policy.0".repeat(9)}`],
    [{ policies: [all], num_traces: 0 }, "num_traces"],
    [{ policies: [all], sampling_strategy: "span-ingest" }, "sampling_strategy"],
    [{ policies: [all], tail_storage: "file_storage" }, "tail_storage"],
  ])("refuses %# at %s", (config, place) => {
    const { error } = tailSampling.schema.safeParse(config);
    expect(error?.issues.map(({ path }) => path.join("."))).toContain(place);
  });

  it("accepts the Collector's own keys", () => {
    const config = {
      decision_wait: "10s",
      num_traces: 100,
      expected_new_traces_per_sec: 10,
      decision_cache: { sampled_cache_size: 1000, non_sampled_cache_size: 1000 },
      num_shards: 4,
      policies: [all],
    };
    expect(tailSampling.schema.safeParse(config).success).toBe(true);
  });
});

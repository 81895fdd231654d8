import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { OtlpSink } from "../support/otlp-sink.js";
import { type LogInput, logBatch, type SpanInput, spanBatch, traceId } from "../support/sampled.js";
import { row } from "./row.js";
import { startBackendSink, startPipelines } from "./support/parallel-pipelines.js";
import { type ClockedProgram, startProgram } from "./support/program.js";
import { namesIn, recordsIn, type StartedAgent, startAgent } from "./support/started-agent.js";

const [DEBUG, INFO, ERROR] = [5, 9, 17];
const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Decisions of the Collector's own processor on traces whose ids are the MD5 of "0", "1", "2" ...: a bit for each. */
const COLLECTOR = readFileSync(
  join(import.meta.dirname, "../processors/sampling/probabilistic/collector-decisions.jsonl"),
  "utf8",
)
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { kind: string; config: Record<string, unknown>; kept: string })
  .filter(({ kind }) => kind === "decisions");

row(
  "S1",
  "keeps the traces that the Collector keeps, by trace id, in all modes",
  "Head sampling: probabilistic, consistent on trace id, the Collector's probabilistic_sampler keys (hash_seed, proportional, equalizing modes)",
  async () => {
    const cases = new Map(COLLECTOR.map(({ config, kept }, i) => [`probabilistic_sampler/${i}`, { config, kept }]));
    const configs = Object.fromEntries([...cases].map(([id, { config }]) => [id, config]));
    const modes = new Set([...cases.values()].map(({ config }) => config["mode"]));
    expect(modes).toEqual(new Set([undefined, "hash_seed", "proportional", "equalizing"]));
    const { send } = await startPipelines("traces", configs);
    // Two spans of each trace, far from each other in the request.
    const spans = [...many(512, (i) => i), ...many(512, (i) => i)];
    const batch = spanBatch(spans.map((i) => ({ trace: traceId(i), name: String(i) })));
    for (const [id, { kept }] of cases) {
      const sink = await send(id, batch);
      const bits = Buffer.from(kept, "hex");
      const expected = many(512, String).filter((_, i) => (bits[i >> 3]! >> (i & 7)) & 1);
      expect(namesIn(sink), id).toEqual([...expected, ...expected]);
    }
  },
);

row("S1", "obeys the sampling priority of spans and of log records", "sampling priority attributes", async () => {
  const { sinks, send } = await startPipelines("traces", {
    "probabilistic_sampler/none": { sampling_percentage: 0 },
    "probabilistic_sampler/all": { sampling_percentage: 100 },
  });
  const spans = [0, 1].map((p) => ({ trace: traceId(p), name: `${p}`, attributes: { "sampling.priority": p } }));
  for (const id of Object.keys(sinks)) await send(id, spanBatch(spans));
  expect(Object.values(sinks).map(namesIn)).toEqual([["1"], ["1"]]);

  const id = "probabilistic_sampler";
  const logs = await startPipelines("logs", { [id]: { sampling_percentage: 50, sampling_priority: "priority" } });
  const records = many(200, (i) => ({
    trace: traceId(i),
    event: String(i % 2),
    attributes: { priority: i % 2 ? 100 : 0.0001 },
  }));
  expect(namesIn(await logs.send(id, logBatch(records)))).toEqual(many(100, () => "1"));
});

row(
  "S2",
  "samples each severity and each event at its rate, leaves audit events alone, and writes the rate on what it keeps",
  "Per severity and per event-name rates; audit events exempt; the rate applied is written on what is kept.",
  async () => {
    const id = "adaptive_sampling";
    const config = { severity: { debug: 0.1, info: 0.5 }, events: { "page.*": 0.2 }, load: { enabled: false } };
    const { send } = await startPipelines("logs", { [id]: config });
    const sink = await send(
      id,
      logBatch([
        ...many(4000, () => ({ severity: DEBUG, event: "debug" })),
        ...many(4000, () => ({ severity: INFO, event: "info" })),
        ...many(4000, () => ({ severity: INFO, event: "page.view" })),
        ...many(100, () => ({ severity: DEBUG, event: "audit.login" })),
      ]),
    );
    const kept = recordsIn(sink, ({ name, attributes }) => `${name} ${attributes.get("sampling.rate")}`);
    expect(new Set(kept)).toEqual(new Set(["debug 0.1", "info 0.5", "page.view 0.2", "audit.login undefined"]));
    expectShare(kept.filter((each) => each === "debug 0.1").length, 4000, 0.1);
    expectShare(kept.filter((each) => each === "info 0.5").length, 4000, 0.5);
    expectShare(kept.filter((each) => each === "page.view 0.2").length, 4000, 0.2);
    expect(kept.filter((each) => each === "audit.login undefined").length).toBe(100);
  },
);

/** Within six standard deviations of a binomial distribution: one run in a billion is outside. */
function expectShare(kept: number, of: number, rate: number): void {
  expect(Math.abs(kept - of * rate)).toBeLessThanOrEqual(6 * Math.sqrt(of * rate * (1 - rate)));
}

row(
  "S3",
  "keeps everything from 100 errors a minute on, or three times those of the window before, for 300 s",
  "Adaptive: error spike (100/min absolute or 3x the moving average of the window before it, hold 300 s) raises to 1.0;",
  async () => {
    const config = { events: { "page.*": 0.1 } };
    const program = await startProgram({ adaptive_sampling: config });
    expect(
      await keptOf(
        program,
        many(99, () => ({ severity: ERROR })),
      ),
    ).toBe(99);
    expect(await keptOf(program, pages)).toBeLessThan(200);
    await keptOf(program, [{ severity: ERROR }]);
    expect(await keptOf(program, pages)).toBe(500);
    await program.clock.pass(299_000, 13_000);
    expect(await keptOf(program, pages)).toBe(500);
    await program.clock.pass(2000);
    expect(await keptOf(program, pages)).toBeLessThan(200);

    const relative = await startProgram({ adaptive_sampling: config });
    await keptOf(
      relative,
      many(20, () => ({ severity: ERROR })),
    );
    await relative.clock.pass(60_000);
    await keptOf(
      relative,
      many(59, () => ({ severity: ERROR })),
    );
    expect(await keptOf(relative, pages)).toBeLessThan(200);
    await keptOf(relative, [{ severity: ERROR }]);
    expect(await keptOf(relative, pages)).toBe(500);

    // The same in a running agent, which has no clock to advance.
    const { send } = await startPipelines("logs", { adaptive_sampling: config });
    const sink = await send("adaptive_sampling", logBatch(pages));
    expect(sink.count).toBeLessThan(200);
    const before = sink.count;
    await send("adaptive_sampling", logBatch([...many(100, () => ({ severity: ERROR }))]));
    await send("adaptive_sampling", logBatch(pages));
    expect(sink.count).toBe(before + 600);
  },
);

const pages: readonly LogInput[] = many(500, () => ({ severity: INFO, event: "page.view" }));

async function keptOf(program: ClockedProgram, records: readonly LogInput[]): Promise<number> {
  const before = program.count;
  expect((await program.sluice.accept(logBatch(records))).ok).toBe(true);
  return program.count - before;
}

row(
  "S3",
  "keeps 1.0, 0.5, 0.1 and 0.01 of 1,000, 10,000 and 50,000 records a second, and does not swing at the border",
  "load tiers (1k/10k/50k per s -> 1.0/0.5/0.1/0.01) with hysteresis;",
  async () => {
    const program = await startProgram({ adaptive_sampling: {} });
    // The load after six seconds at so many records a second, in requests of a quarter of a second.
    const rateAt = async (perSecond: number) => {
      const batch = logBatch(many(perSecond / 4, () => ({ severity: INFO })));
      let kept = 0;
      for (let i = 0; i < 24; i++) {
        await program.clock.pass(250);
        const before = program.count;
        await program.sluice.accept(batch);
        kept = program.count - before;
      }
      return [1, 0.5, 0.1, 0.01].find((rate) => Math.abs(kept / batch.count - rate) <= 0.3 * rate);
    };
    const loads = [900, 2000, 900, 700, 12_000, 9000, 7000, 40_000, 60_000, 700];
    const rates: (number | undefined)[] = [];
    for (const load of loads) rates.push(await rateAt(load));
    // 900 and 9,000 are within the tier again only below 800 and 8,000.
    expect(rates).toEqual([1, 0.5, 0.5, 1, 0.1, 0.1, 0.5, 0.1, 0.01, 1]);
  },
);

row(
  "S3",
  "keeps the records whose values match a rule",
  "value rules (gt, lt, equals, in range on dotted paths) keep.",
  async () => {
    const values = [
      { path: "order.total", gt: 1000 },
      { path: "body.stock", lt: 1 },
      { path: "body.user.plan", equals: "gold" },
      { path: "resource.tier", in_range: [1, 2] },
    ];
    const { send } = await startPipelines("logs", { adaptive_sampling: { severity: { unspecified: 0 }, values } });
    const records: LogInput[] = [
      { event: "gt", attributes: { "order.total": 1001 } },
      { event: "gt nested", attributes: { order: { total: 1000.5 } } },
      { event: "not gt", attributes: { "order.total": 1000 } },
      { event: "lt", body: { stock: 0 } },
      { event: "not lt", body: { stock: 1 } },
      { event: "equals", body: { user: { plan: "gold" } } },
      { event: "not equals", body: { user: { plan: "golden" } } },
    ];
    const sink = await send("adaptive_sampling", logBatch(records));
    for (const tier of [0, 1, 2, 3]) await send("adaptive_sampling", logBatch([{ event: `tier ${tier}` }], { tier }));
    expect(namesIn(sink)).toEqual(["gt", "gt nested", "lt", "equals", "tier 1", "tier 2"]);
  },
);

row(
  "S4",
  "gives a trace one outcome in logs, spans and agents, keeps errors of the others, and counts what it stands for",
  "One trace, one outcome; an error in an unsampled trace is kept. Stratified correction factors available to metrics.",
  async () => {
    const config = {
      trace_rate: 0.3,
      severity: { info: 0.5 },
      load: { enabled: false },
      error_spike: { enabled: false },
    };
    const sampler = { adaptive_sampling: config };
    const [logs, spans] = [await startPipelines("logs", sampler), await startPipelines("traces", sampler)];
    const traces = many(1000, traceId);
    const records = traces.flatMap((trace) => [
      { trace, severity: INFO },
      { trace, severity: DEBUG },
      { trace, severity: ERROR, event: "error" },
    ]);
    const logSink = await logs.send("adaptive_sampling", logBatch(records));
    const spanSink = await spans.send(
      "adaptive_sampling",
      spanBatch(traces.flatMap((trace) => [{ trace }, { trace }, { trace, error: true, name: "error" }])),
    );
    const tracesIn = (sink: OtlpSink, isError: boolean) =>
      recordsIn(sink, (each) => [each.name === "error", each.signal === "metrics" ? "" : each.traceId] as const)
        .filter(([error]) => error === isError)
        .map(([, trace]) => trace);
    const [ofLogs, ofSpans] = [tracesIn(logSink, false), tracesIn(spanSink, false)];
    const sampled = [...new Set(ofLogs)];
    expect(ofLogs).toEqual(sampled.flatMap((trace) => [trace, trace]));
    expect(ofSpans).toEqual(ofLogs);
    expectShare(sampled.length, 1000, 0.3);
    expect([tracesIn(logSink, true), tracesIn(spanSink, true)]).toEqual([traces, traces]);

    // 1,000 traces with two records each, from what was kept of them; errors stand for themselves.
    await logs.send("adaptive_sampling", logBatch(many(2000, () => ({ severity: INFO }))));
    const estimate = (stratum: string) =>
      logs.agent.metric("sluice_adaptive_sampling_estimated_records_total", { stratum });
    expect(await estimate("trace")).toBeCloseTo((2 * sampled.length) / 0.3, 3);
    expect(await estimate("severity:error")).toBe(1000);
    expectShare((await estimate("severity:info")) / 2, 2000, 0.5);
  },
);

const ms = (time: number) => BigInt(time) * 1_000_000n;
const span = (name: string, more: Partial<SpanInput> = {}): SpanInput => ({
  trace: traceId(name),
  name,
  start: ms(0),
  end: ms(1),
  ...more,
});
const kind = (name: string) => ({ name, type: "string_attribute", string_attribute: { key: "kind", values: [name] } });

const POLICIES = [
  { name: "slow", type: "latency", latency: { threshold_ms: 500 } },
  { name: "errors", type: "status_code", status_code: { status_codes: ["ERROR"] } },
  { name: "gold", type: "string_attribute", string_attribute: { key: "plan", values: ["gold"] } },
  { name: "large", type: "numeric_attribute", numeric_attribute: { key: "total", min_value: 1000, max_value: 9999 } },
  { name: "vip", type: "boolean_attribute", boolean_attribute: { key: "vip", value: true } },
  { name: "long", type: "span_count", span_count: { min_spans: 4 } },
  {
    name: "slow checkout",
    type: "and",
    and: { and_sub_policy: [kind("checkout"), { name: "slow", type: "latency", latency: { threshold_ms: 100 } }] },
  },
  {
    name: "half",
    type: "and",
    and: {
      and_sub_policy: [
        kind("half"),
        { name: "half of them", type: "probabilistic", probabilistic: { sampling_percentage: 50 } },
      ],
    },
  },
  {
    name: "few",
    type: "and",
    and: {
      and_sub_policy: [
        kind("few"),
        { name: "few of them", type: "rate_limiting", rate_limiting: { spans_per_second: 5 } },
      ],
    },
  },
  {
    name: "shared",
    type: "composite",
    composite: {
      max_total_spans_per_second: 20,
      policy_order: ["share a", "share b"],
      composite_sub_policy: [kind("share a"), kind("share b")],
      rate_allocation: [
        { policy: "share a", percent: 75 },
        { policy: "share b", percent: 25 },
      ],
    },
  },
];

row(
  "S5",
  "keeps the traces that a policy of the Collector keeps",
  "Tail sampling for traces: decision_wait, num_traces, policies (latency, status_code, string/numeric/boolean attribute, probabilistic, rate_limiting, span_count, and, composite)",
  async () => {
    const { sinks, send } = await startPipelines("traces", {
      tail_sampling: { decision_wait: "200ms", policies: POLICIES },
    });
    const of = (name: string, count: number) =>
      many(count, (i) => span(name, { trace: traceId(`${name} ${i}`), attributes: { kind: name } }));
    await send(
      "tail_sampling",
      spanBatch([
        span("slow", { end: ms(501) }),
        span("not slow", { end: ms(499) }),
        span("errors", { error: true }),
        span("errors"),
        span("gold", { attributes: { plan: "gold" } }),
        span("not gold", { attributes: { plan: "silver" } }),
        span("large", { attributes: { total: 1000 } }),
        span("not large", { attributes: { total: 999 } }),
        span("vip", { attributes: { vip: true } }),
        span("not vip", { attributes: { vip: false } }),
        ...many(4, (i) => span("long", { span: `000000000000000${i + 1}` })),
        ...many(3, (i) => span("not long", { span: `000000000000000${i + 1}` })),
        span("slow checkout", { end: ms(150), attributes: { kind: "checkout" } }),
        span("not slow checkout", { attributes: { kind: "checkout" } }),
        ...of("half", 1000),
        ...of("few", 100),
        ...of("share a", 100),
        ...of("share b", 100),
      ]),
    );
    // Whoever is decided at all is decided with these: a policy that kept too much would show up here.
    await expect.poll(() => new Set(namesIn(sinks["tail_sampling"]!)).size).toBe(11);
    const names = namesIn(sinks["tail_sampling"]!);
    const count = (name: string) => names.filter((each) => each === name).length;
    expect(["slow", "errors", "gold", "large", "vip", "long", "slow checkout"].map(count)).toEqual([
      1, 2, 1, 1, 1, 4, 1,
    ]);
    expect(names.filter((name) => name.startsWith("not"))).toEqual([]);
    expectShare(count("half"), 1000, 0.5);
    // 5, 15 and 5 spans a second; the decisions may fall into two seconds.
    for (const [name, limit] of [
      ["few", 5],
      ["share a", 15],
      ["share b", 5],
    ] as const) {
      expect(count(name), name).toBeGreaterThanOrEqual(limit);
      expect(count(name), name).toBeLessThanOrEqual(2 * limit);
    }
  },
);

/** An agent that keeps all traces that have an error, after this wait. */
async function waitingAgent(sink: OtlpSink, wait: string, directory?: string): Promise<StartedAgent> {
  const policies = [POLICIES[1]];
  return startAgent(
    `
processors: {tail_sampling: ${JSON.stringify({ decision_wait: wait, num_traces: 10, policies })}}
exporters: {otlp_http: {endpoint: "${sink.url}"}}
service: {pipelines: {traces: {receivers: [otlp], processors: [tail_sampling], exporters: [otlp_http]}}}
`,
    directory === undefined ? {} : { directory },
  );
}

row(
  "S5",
  "bounds the traces that wait: the oldest are decided early",
  "num_traces, memory bounded".split(", "),
  async () => {
    const sink = await startBackendSink();
    const agent = await waitingAgent(sink, "1h");
    for (let i = 0; i < 25; i++) await agent.send(spanBatch([span(`trace ${i}`, { error: true })]));
    await expect.poll(() => namesIn(sink)).toEqual(many(15, (i) => `trace ${i}`));
    expect(await agent.metric("otelcol_processor_tail_sampling_sampling_traces_on_memory")).toBe(10);
    expect(await agent.metric("sluice_tail_sampling_decided_early_total")).toBe(15);
  },
);

row("S5", "keeps what waits over a crash, and decides about the whole trace", "durable debt", async () => {
  const sink = await startBackendSink();
  const agent = await waitingAgent(sink, "1h");
  const parts = [span("order", { span: "0000000000000001" }), span("order", { span: "0000000000000002", error: true })];
  for (const part of [...parts, span("page")]) expect((await agent.send(spanBatch([part]))).status).toBe(200);
  expect(sink.count).toBe(0);
  agent.child.kill("SIGKILL");
  await agent.exited;
  await waitingAgent(sink, "200ms", agent.directory);
  await expect.poll(() => namesIn(sink)).toEqual(["order", "order"]);
  expect(recordsIn(sink, (record) => (record.signal === "traces" ? record.spanId : "")).sort()).toEqual(
    parts.map((part) => part.span),
  );
});

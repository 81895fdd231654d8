import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/plugin.js";
import { adaptiveSampling } from "../../../../src/processors/sampling/adaptive/component.js";
import { countedMetrics } from "../../../runtime/queue/counted-metrics.js";
import { owed } from "../../../support/deliveries.js";
import { counting, processing } from "../../../support/processors.js";
import {
  keptIn,
  type LogInput,
  logBatch,
  type SpanInput,
  seededRandom,
  spanBatch,
  traceId,
} from "../../../support/sampled.js";

const QUIET = { load: { enabled: false }, error_spike: { enabled: false } };
const INFO = 9;
const ERROR = 17;

function sampling(config: object, signal: "logs" | "traces" = "logs") {
  const { metrics, counts } = counting();
  const made = processing(adaptiveSampling, config, signal, { metrics, random: seededRandom(1) });
  return {
    ...made,
    counts,
    logs: (inputs: readonly LogInput[], resource?: Record<string, unknown>) => {
      const from = made.out.length;
      made.source.next(owed(logBatch(inputs, resource)).delivery);
      return keptIn(made.out.slice(from));
    },
    spans: (inputs: readonly SpanInput[]) => {
      const from = made.out.length;
      made.source.next(owed(spanBatch(inputs)).delivery);
      return keptIn(made.out.slice(from));
    },
  };
}

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Within three standard deviations of a binomial distribution. */
function expectShare(kept: number, of: number, rate: number): void {
  expect(Math.abs(kept - of * rate)).toBeLessThanOrEqual(3 * Math.sqrt(of * rate * (1 - rate)));
}

describe("adaptive_sampling", () => {
  it("passes everything as the same batch when nothing needs sampling", () => {
    const { source, out } = sampling({});
    const { delivery } = owed(logBatch([{ severity: INFO }, { event: "audit.login" }]));
    source.next(delivery);
    expect(out).toEqual([delivery]);
    expect(out[0]!.batch).toBe(delivery.batch);
  });

  it("treats an invalid severity number as the nearest valid one", () => {
    const { logs } = sampling({ ...QUIET, severity: { unspecified: 0 } });
    const kept = logs([{ severity: -5 }, { severity: -1 }, { severity: 25 }, { severity: 2 ** 31 - 1 }]);
    expect(kept).toHaveLength(2);
  });

  it("keeps each severity at its rate, and writes the rate on what it keeps", () => {
    const { logs } = sampling({ ...QUIET, severity: { DEBUG: 0.1, info: 0.5 } });
    const kept = logs([
      ...many(4000, () => ({ severity: 5, id: "debug" })),
      ...many(4000, () => ({ severity: INFO, id: "info" })),
      ...many(100, () => ({ severity: 13, id: "warn" })),
    ]);
    const of = (id: string) => kept.filter(({ text }) => text === id);
    expectShare(of("debug").length, 4000, 0.1);
    expectShare(of("info").length, 4000, 0.5);
    expect(of("warn")).toHaveLength(100);
    expect(new Set(kept.map(({ text, rate }) => `${text} ${rate}`))).toEqual(
      new Set(["debug 0.1", "info 0.5", "warn undefined"]),
    );
  });

  it("keeps events at the rate of the first matching pattern, and audit events always", () => {
    const { logs } = sampling({ ...QUIET, severity: { info: 0 }, events: { "page.view": 0.2, "page.*": 0 } });
    const kept = logs([
      ...many(2000, () => ({ severity: INFO, event: "page.view" })),
      ...many(50, () => ({ severity: INFO, event: "page.left" })),
      ...many(50, () => ({ severity: INFO, attributes: { "event.name": "audit.login" } })),
    ]);
    expectShare(kept.filter(({ name }) => name === "page.view").length, 2000, 0.2);
    expect(kept.filter(({ name }) => name === "page.left")).toEqual([]);
    expect(kept.filter(({ name }) => name === "audit.login")).toHaveLength(50);
  });

  it.each([
    [{ path: "order.total", gt: 100 }, { attributes: { "order.total": 101 } }, { attributes: { "order.total": 100 } }],
    [
      { path: "order.total", lt: 1 },
      { attributes: { order: { total: 0.5 } } },
      { attributes: { order: { total: "0" } } },
    ],
    [
      { path: "user.plan", equals: "gold" },
      { attributes: { user: { plan: "gold" } } },
      { attributes: { user: "gold" } },
    ],
    [{ path: "vip", equals: true }, { attributes: { vip: true } }, { attributes: { vip: "true" } }],
    [{ path: "body.a.b", in_range: [2, 3] }, { body: { a: { b: 3 } } }, { body: { a: { b: 4 } } }],
    [{ path: "n", gt: 1, lt: 3 }, { attributes: { n: 2 } }, { attributes: { n: 3 } }],
  ])("keeps the records for which %j holds", (rule, yes, no) => {
    const { logs } = sampling({ ...QUIET, severity: { unspecified: 0 }, values: [rule] });
    expect(logs([no as LogInput])).toEqual([]);
    expect(logs([yes as LogInput])).toHaveLength(1);
  });

  it("finds values in the resource", () => {
    const { logs } = sampling({
      ...QUIET,
      severity: { unspecified: 0 },
      values: [{ path: "resource.tier", equals: 1 }],
    });
    expect(logs([{}], { tier: 1 })).toHaveLength(1);
    expect(logs([{}], { tier: 2 })).toEqual([]);
  });

  it("gives all records of a trace one outcome, in logs and spans, in every agent, and keeps errors anyway", () => {
    const config = { ...QUIET, severity: { info: 0.3, unspecified: 0.3 }, trace_rate: 0.3 };
    const [logAgent, spanAgent] = [sampling(config), sampling(config, "traces")];
    const traces = many(1000, traceId);
    const keptLogs = logAgent.logs(
      traces.flatMap((trace) => [{ trace, severity: INFO }, { trace }, { trace, severity: ERROR, id: "error" }]),
    );
    const keptSpans = spanAgent.spans(
      traces.flatMap((trace) => [{ trace }, { trace }, { trace, error: true, span: "ffffffffffffffff" }]),
    );
    const errors = keptLogs.filter(({ text }) => text === "error");
    expect(errors).toHaveLength(1000);
    expect(errors.every(({ rate }) => rate === undefined)).toBe(true);
    const tracesOf = (kept: typeof keptLogs) => kept.map(({ trace }) => trace).sort();
    const ordinary = tracesOf(keptLogs.filter(({ text }) => text !== "error"));
    expect(ordinary).toEqual([...new Set(ordinary)].flatMap((trace) => [trace, trace]));
    expect(tracesOf(keptSpans.filter(({ text }) => text !== "ffffffffffffffff"))).toEqual(ordinary);
    expect(keptSpans.filter(({ text }) => text === "ffffffffffffffff")).toHaveLength(1000);
    expectShare(ordinary.length / 2, 1000, 0.3);
  });

  it("keeps at a higher rate everything that it keeps of a trace at a lower one", () => {
    const { logs } = sampling({ ...QUIET, severity: { debug: 0.1, info: 0.4 } });
    const traces = many(2000, traceId);
    const kept = logs(
      traces.flatMap((trace) => [
        { trace, severity: 5, id: "debug" },
        { trace, severity: INFO, id: "info" },
      ]),
    );
    const of = (id: string) => new Set(kept.filter(({ text }) => text === id).map(({ trace }) => trace));
    expect([...of("debug")].filter((trace) => !of("info").has(trace))).toEqual([]);
    expectShare(of("info").size, 2000, 0.4);
  });

  it("multiplies the rate with the one that an earlier sampler has written", () => {
    const { logs } = sampling({ ...QUIET, severity: { info: 0.5 } });
    const kept = logs(many(50, () => ({ severity: INFO, attributes: { "sampling.rate": 0.2, a: 1 } })));
    expect(new Set(kept.map(({ rate }) => rate))).toEqual(new Set([0.1]));
  });

  it("estimates the number of records by adding up 1/rate, by stratum, within three standard deviations", () => {
    const rates = { debug: 0.05, info: 0.3, warn: 0.8 };
    const { logs, counts } = sampling({ ...QUIET, severity: rates });
    const random = seededRandom(7);
    const came = { debug: 0, info: 0, warn: 0 };
    for (let batch = 0; batch < 20; batch++) {
      logs(
        many(1000, (i) => {
          const name = (["debug", "info", "warn"] as const)[Math.floor(random() * 3)]!;
          came[name]++;
          const severity = { debug: 5, info: INFO, warn: 13 }[name];
          return random() < 0.5 ? { severity, trace: traceId(`${batch} ${i}`) } : { severity };
        }),
      );
    }
    for (const [name, rate] of Object.entries(rates)) {
      const n = came[name as keyof typeof came];
      const estimate = counts.get(`sluice_adaptive_sampling_estimated_records{stratum=severity:${name}}`)!;
      expect(Math.abs(estimate - n)).toBeLessThanOrEqual(3 * Math.sqrt((n * (1 - rate)) / rate));
      const kept = counts.get(`sluice_adaptive_sampling_records{stratum=severity:${name},sampled=true}`)!;
      const dropped = counts.get(`sluice_adaptive_sampling_records{stratum=severity:${name},sampled=false}`)!;
      expect(kept + dropped).toBe(n);
      expectShare(kept, n, rate);
    }
  });

  it("acknowledges a batch from which no record is kept", () => {
    const { source, out } = sampling({ ...QUIET, severity: { info: 0 } });
    const { delivery, outcomes } = owed(logBatch([{ severity: INFO }]));
    source.next(delivery);
    expect([out.length, outcomes]).toEqual([0, [{ ok: true, rejected: 0, message: "" }]]);
  });
});

describe("adaptive_sampling during an error spike", () => {
  const config = { load: { enabled: false }, severity: { info: 0 }, events: { "page.*": 0.1 } };
  const pages = many(100, () => ({ severity: INFO, event: "page.view" }));

  it("keeps everything from 100 errors a minute on, until 300 s after the last of them", () => {
    const { logs, clock } = sampling(config);
    logs(many(99, () => ({ severity: ERROR })));
    expect(logs(pages).length).toBeLessThan(100);
    logs([{ severity: ERROR }]);
    expect(logs(pages)).toHaveLength(100);
    expect(logs(pages)[0]!.rate).toBeUndefined();
    clock.advance(299_000);
    expect(logs(pages)).toHaveLength(100);
    clock.advance(2000);
    expect(logs(pages).length).toBeLessThan(100);
  });

  it("keeps everything at three times the errors of the window before", () => {
    const { logs, clock } = sampling(config);
    logs(many(10, () => ({ severity: ERROR })));
    clock.advance(60_000);
    logs(many(29, () => ({ severity: ERROR })));
    expect(logs(pages).length).toBeLessThan(100);
    logs([{ severity: ERROR }]);
    expect(logs(pages)).toHaveLength(100);
  });

  it("forgets errors older than a window, and does not count a few as a spike", () => {
    const { logs, clock } = sampling(config);
    logs(many(99, () => ({ severity: ERROR })));
    clock.advance(3_600_000);
    logs(many(9, () => ({ severity: ERROR })));
    expect(logs(pages).length).toBeLessThan(100);
  });

  it("is not misled by a wall clock that jumps", () => {
    const { logs, clock } = sampling(config);
    logs(many(100, () => ({ severity: ERROR })));
    clock.set(0);
    expect(logs(pages)).toHaveLength(100);
    clock.set(clock.now() + 86_400_000 * 365);
    expect(logs(pages)).toHaveLength(100);
  });

  it("counts the errors of all pipelines it is in", () => {
    const parsed = adaptiveSampling.schema.parse(config) as object;
    const shared = { ...adaptiveSampling, schema: { parse: () => parsed } } as unknown as typeof adaptiveSampling;
    const [logs, traces] = [processing(shared, {}, "logs"), processing(shared, {}, "traces")];
    traces.source.next(owed(spanBatch(many(100, (i) => ({ trace: traceId(i), error: true })))).delivery);
    logs.source.next(owed(logBatch(pages)).delivery);
    expect(keptIn(logs.out)).toHaveLength(100);
  });
});

describe("adaptive_sampling under load", () => {
  const config = { error_spike: { enabled: false }, load: { window: "1s" } };

  /** The rate at this many records per second, measured after one second. */
  function rateAt({ clock, source, out }: ReturnType<typeof sampling>, perSecond: number): number {
    const batch = logBatch(many(Math.round(perSecond / 120), () => ({ severity: INFO })));
    const tenfold = Batch.merge(many(10, () => batch));
    for (let i = 0; i < 12; i++) {
      clock.advance(1000 / 12);
      source.next(owed(tenfold).delivery);
    }
    const share = out.at(-1)!.batch.count / tenfold.count;
    return [1, 0.5, 0.1, 0.01].find((rate) => Math.abs(share - rate) <= 0.4 * rate)!;
  }

  it("goes through the tiers 1, 0.5, 0.1 and 0.01, and down only when the load is clearly lower", () => {
    const agent = sampling(config);
    expect([800, 1500, 900, 700, 12_000, 9000, 7000, 700, 60_000].map((load) => rateAt(agent, load))).toEqual([
      1, 0.5, 0.5, 1, 0.1, 0.1, 0.5, 1, 0.01,
    ]);
  });

  it("keeps a trace in the tier it began with", () => {
    const agent = sampling({ ...config, load: { window: "1s", tiers: [{ above: 100, rate: 0 }] } });
    expect(agent.logs([{ trace: traceId("early") }])).toHaveLength(1);
    agent.logs(many(200, () => ({})));
    expect(agent.logs([{ trace: traceId("early") }, { trace: traceId("late") }])).toHaveLength(1);
    agent.clock.advance(10_000);
    expect(agent.logs([{ trace: traceId("late") }, { trace: traceId("last") }])).toHaveLength(1);
  });

  it("never drops errors, exempt events and records with exempt values", () => {
    const agent = sampling({
      ...config,
      load: { tiers: [{ above: 1, rate: 0 }] },
      values: [{ path: "total", gt: 10 }],
    });
    const kept = agent.logs([
      ...many(20, () => ({ severity: INFO })),
      { severity: ERROR },
      { event: "audit.x" },
      { attributes: { total: 11 } },
    ]);
    expect(kept).toHaveLength(3);
  });

  it("remembers no more traces than configured", () => {
    const agent = sampling({ ...config, remember_traces: 100, load: { tiers: [{ above: 1e12, rate: 0.5 }] } });
    for (let i = 0; i < 50; i++) agent.logs(many(100, (k) => ({ trace: traceId(i * 100 + k) })));
    expect(agent.out.reduce((sum, { batch }) => sum + batch.count, 0)).toBe(5000);
  });
});

describe("the gauges of adaptive_sampling", () => {
  const LOAD = { window: "1s", tiers: [{ above: 100, rate: 0.5 }] };
  const [FACTOR, IN_SPIKE] = ["sluice_adaptive_sampling_factor", "sluice_adaptive_sampling_error_spike"];

  function measured(config: object) {
    const metrics = countedMetrics();
    const { source, clock } = processing(adaptiveSampling, config, "logs", { metrics });
    return { metrics, clock, logs: (inputs: readonly LogInput[]) => source.next(owed(logBatch(inputs)).delivery) };
  }

  it("return to their resting values when nothing arrives any more", () => {
    const { metrics, clock, logs } = measured({ load: LOAD });
    logs(many(150, () => ({ severity: INFO })));
    expect(metrics.value(FACTOR)).toBe(0.5);
    clock.advance(2000);
    expect(metrics.value(FACTOR)).toBe(1);
    logs(many(100, () => ({ severity: ERROR })));
    expect([metrics.value(FACTOR), metrics.value(IN_SPIKE)]).toEqual([1, 1]);
    clock.advance(301_000);
    expect(metrics.value(IN_SPIKE)).toBe(0);
  });

  it("change nothing by being read", () => {
    const [read, unread] = [measured({ load: LOAD }), measured({ load: LOAD })];
    for (const { logs, clock, metrics } of [read, unread]) {
      logs(many(150, () => ({ severity: INFO })));
      clock.advance(2000);
      if (metrics === read.metrics) metrics.value(FACTOR);
      logs(many(90, () => ({ severity: INFO })));
    }
    expect(read.metrics.value(FACTOR)).toBe(0.5);
    expect(read.metrics.value(FACTOR)).toBe(unread.metrics.value(FACTOR));
  });
});

describe("the config of adaptive_sampling", () => {
  it.each([
    [{ severity: { info: 1.5 } }, "severity.info"],
    [{ severity: { info: -0.1 } }, "severity.info"],
    [{ severity: { loud: 1 } }, "severity"],
    [{ events: { "a.*": 2 } }, "events.a.*"],
    [
      {
        load: {
          tiers: [
            { above: 10, rate: 0.5 },
            { above: 5, rate: 0.1 },
          ],
        },
      },
      "load.tiers.1.above",
    ],
    [{ load: { window: "0s" } }, "load.window"],
    [{ load: { hysteresis: 1 } }, "load.hysteresis"],
    [{ error_spike: { relative: 1 } }, "error_spike.relative"],
    [{ error_spike: { window: 0 } }, "error_spike.window"],
    [{ values: [{ path: "a" }] }, "values.0"],
    [{ values: [{ path: "a", in_range: [3, 1] }] }, "values.0.in_range"],
    [{ trace_rate: "all" }, "trace_rate"],
  ])("refuses %j at %s", (config, place) => {
    const { error } = adaptiveSampling.schema.safeParse(config);
    expect(error?.issues.map(({ path }) => path.join("."))).toContain(place);
  });

  it("treats empty sections as the defaults", () => {
    expect(adaptiveSampling.schema.parse({ severity: null, events: null, load: null, error_spike: null })).toEqual(
      adaptiveSampling.schema.parse({}),
    );
  });
});

import { describe, expect, it } from "vitest";
import { type Batch, batchFromJson, type ProcessorContext, readRecords } from "../../../src/plugin.js";
import { rateLimit } from "../../../src/processors/rate-limit/component.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";

interface Event {
  readonly name: string;
  readonly severity?: number;
  readonly [attribute: string]: string | number | undefined;
}

function logs(events: readonly Event[], service = "shop"): Batch {
  const logRecords = events.map(({ name, severity = 9, ...rest }) => ({
    eventName: name,
    severityNumber: severity,
    attributes: Object.entries(rest).map(([key, value]) => ({ key, value: { stringValue: String(value) } })),
  }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: service } }] };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
}

function named(...names: string[]): Batch {
  return logs(names.map((name) => ({ name })));
}

function namesIn(batch: Batch): string[] {
  const names: string[] = [];
  readRecords(batch, (record) => void names.push(record.name));
  return names;
}

/** A limiter with its own clock; `give` passes a batch in and returns the outcome. */
function start(config: object, signal: Batch["signal"] = "logs") {
  const clock = new FakeClock();
  const metrics = countedMetrics();
  const context: ProcessorContext = {
    id: "rate_limit",
    kind: "processor",
    signal,
    pipeline: signal,
    logger: silentLogger,
    metrics,
    clock,
    random: Math.random,
  };
  const { source, out } = feed(rateLimit.create(rateLimit.schema.parse(config), context));
  const give = (batch: Batch, metadata?: Record<string, string>) => {
    const entries = Object.entries(metadata ?? {}).map(([key, value]) => [key, [value]] as const);
    const { delivery, outcomes } = owed(batch, metadata === undefined ? {} : { metadata: new Map(entries) });
    out.length = 0;
    source.next(delivery);
    const passed = out.filter(({ setback }) => setback === undefined).map((one) => one.batch);
    const setAside = out.filter(({ setback }) => setback !== undefined);
    return { passed, setAside, outcome: outcomes[0] };
  };
  return { clock, metrics, give };
}

describe("rate_limit", () => {
  it("passes a batch within the limits as the same object", () => {
    const { give } = start({ limit: 3 });
    const batch = named("a", "a", "b", "a");
    expect(give(batch).passed).toEqual([batch]);
    expect(give(batch).passed[0]).not.toBe(batch);
  });

  it("limits each key by itself, 1000 a second, and all of them to 10000 by default", () => {
    const { give, clock } = start({});
    const many = (name: string, count: number) => named(...Array.from({ length: count }, () => name));
    expect(give(many("a", 1200)).passed[0]!.count).toBe(1000);
    for (const name of "bcdefghi") expect(give(many(name, 1000)).passed[0]!.count).toBe(1000);
    expect(give(many("j", 600)).passed[0]!.count).toBe(600);
    expect(give(many("k", 600)).passed[0]!.count).toBe(400);
    expect(give(named("l")).passed).toEqual([]);
    clock.advance(1000);
    expect(give(many("a", 1000)).passed[0]!.count).toBe(1000);
  });

  it("drops records over the limit, which exporters keep if they always save them", () => {
    const { give, metrics } = start({ limit: 1 });
    const { passed, setAside, outcome } = give(named("a", "b", "a", "a"));
    expect(passed.map(namesIn)).toEqual([["a", "b"]]);
    expect(setAside.map((one) => namesIn(one.batch))).toEqual([["a", "a"]]);
    expect(setAside[0]!.setback).toMatchObject({
      reason: "rate_limited",
      category: "rate_limited",
      code: "SLUICE_RATE_LIMITED",
      message: "over the limit of 1 records in 1000 ms",
      onlyIfAlwaysSaved: true,
    });
    expect(outcome).toBeUndefined();
    const labels = { processor: "rate_limit", pipeline: "logs", on_excess: "drop" };
    expect(metrics.value("sluice_rate_limit_limited_items", { ...labels, limit: "key" })).toBe(2);
    expect(metrics.value("sluice_rate_limit_limited_items", { ...labels, limit: "global" })).toBe(0);
    expect(metrics.value("sluice_rate_limit_keys")).toBe(2);
  });

  it("keeps records over the limit as dead letters", () => {
    const { give, metrics } = start({ limit: 5, global: { limit: 2, window: "1m" }, on_excess: "dead_letter" });
    const { passed, setAside } = give(named("a", "b", "c"));
    expect(passed.map(namesIn)).toEqual([["a", "b"]]);
    expect(setAside[0]!.setback).toEqual({
      reason: "rate_limited",
      category: "rate_limited",
      code: "SLUICE_RATE_LIMITED",
      message: "over the global limit of 2 records in 60000 ms",
    });
    expect(metrics.value("sluice_rate_limit_limited_items", { limit: "global", on_excess: "dead_letter" })).toBe(1);
  });

  it("refuses a whole request over the limit, counts nothing, and tells when to retry", () => {
    const { give, clock } = start({ limit: 3, window: "10s", on_excess: "refuse" });
    expect(give(named("a", "a")).passed).toHaveLength(1);
    clock.advance(4000);
    for (let i = 0; i < 3; i++) {
      const { passed, setAside, outcome } = give(named("b", "a", "a"));
      expect([passed, setAside]).toEqual([[], []]);
      expect(outcome).toMatchObject({
        ok: false,
        refusal: { kind: "throttled", code: "SLUICE_RATE_LIMITED", retryAfterMs: 6000 },
      });
    }
    expect(give(named("a", "b", "b", "b")).passed).toHaveLength(1);
  });

  it("permanently refuses a request that can never fit", () => {
    const { give } = start({ limit: 2, on_excess: "refuse" });
    const { outcome } = give(named("a", "a", "a"));
    expect(outcome).toMatchObject({ ok: false, refusal: { kind: "permanent", category: "business" } });
    expect(give(named("a", "a")).passed).toHaveLength(1);
  });

  it("is not affected by a wall clock that jumps", () => {
    const { give, clock } = start({ limit: 1, window: "1h" });
    expect(give(named("a")).passed).toHaveLength(1);
    clock.set(clock.now() + 86_400_000);
    expect(give(named("a")).passed).toEqual([]);
    clock.set(0);
    expect(give(named("a")).passed).toEqual([]);
    clock.advance(3_600_000);
    expect(give(named("a")).passed).toHaveLength(1);
  });

  it("counts by attributes, resource and client metadata, alone and combined", () => {
    const { give } = start({ limit: 1, key: ["resource.service.name", "attributes.tenant", "metadata.X-Client"] });
    const batch = (service: string, ...tenants: string[]) =>
      logs(
        tenants.map((tenant) => ({ name: "x", tenant })),
        service,
      );
    const client = (name: string) => ({ "x-client": name });
    expect(give(batch("shop", "acme", "acme", "bolt"), client("1")).passed[0]!.count).toBe(2);
    expect(give(batch("shop", "acme"), client("1")).passed).toEqual([]);
    expect(give(batch("shop", "acme"), client("2")).passed).toHaveLength(1);
    expect(give(batch("cart", "acme"), client("1")).passed).toHaveLength(1);
    expect(give(batch("cart", "acme")).passed).toHaveLength(1);
    expect(give(named("no tenant"), client("1")).passed).toHaveLength(1);
  });

  it("distinguishes keys whose parts would give the same text when joined", () => {
    const { give } = start({ limit: 1, key: ["attributes.a", "attributes.b"] });
    const batch = logs([
      { name: "", a: "1:x", b: "y" },
      { name: "", a: "1", b: "x1:y" },
      { name: "", a: "" },
      { name: "", b: "" },
      { name: "" },
    ]);
    expect(give(batch).passed[0]).toBe(batch);
  });

  it("counts long keys by their hash", () => {
    const { give } = start({ limit: 1 });
    const long = "n".repeat(100_000);
    expect(namesIn(give(named(`${long}1`, `${long}2`, `${long}1`)).passed[0]!)).toEqual([`${long}1`, `${long}2`]);
  });

  it("counts spans and data points by their names", () => {
    const spans = ["a", "a", "b"].map((name) => ({ name, traceId: "0".repeat(31) + 1, spanId: "0".repeat(15) + 1 }));
    const traces = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    expect(namesIn(start({ limit: 1 }, "traces").give(traces).passed[0]!)).toEqual(["a", "b"]);
    const points = { dataPoints: [{ asInt: "1" }, { asInt: "2" }] };
    const metrics = ["a", "b"].map((name, i) => (i === 0 ? { name, gauge: points } : { name, summary: points }));
    const batch = batchFromJson("metrics", JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }));
    expect(namesIn(start({ limit: 1 }, "metrics").give(batch).passed[0]!)).toEqual(["a", "b"]);
  });

  it("lets records bypass the limits by pattern, condition or client metadata, without counting them", () => {
    const { give, metrics } = start({
      limit: 1,
      bypass: [
        "severity>=ERROR",
        "audit.*",
        { condition: 'attributes["tier"] == "gold"' },
        { pattern: "probe", metadata: { "X-Token": "secret" } },
      ],
    });
    const batch = logs([
      { name: "a" },
      { name: "a", severity: 17 },
      { name: "audit.login" },
      { name: "audit.login" },
      { name: "a", tier: "gold" },
      { name: "probe" },
      { name: "probe" },
    ]);
    expect(give(batch, { "x-token": "secret" }).passed[0]).toBe(batch);
    expect(metrics.value("sluice_rate_limit_bypassed_items")).toBe(6);
    expect(namesIn(give(named("probe", "probe"), { "x-token": "guess" }).passed[0]!)).toEqual(["probe"]);
    expect(give(named("probe")).passed).toEqual([]);
  });

  it("ignores a condition that does not apply to the signal", () => {
    const spans = ["a", "a"].map((name) => ({ name, traceId: "0".repeat(31) + 1, spanId: "0".repeat(15) + 1 }));
    const traces = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    const { give } = start({ limit: 1, bypass: [{ condition: "severity_number >= 17" }] }, "traces");
    expect(give(traces).passed[0]!.count).toBe(1);
  });

  it.each([
    [{ limit: 0 }, "limit"],
    [{ limit: 1.5 }, "limit"],
    [{ window: "0s" }, "window"],
    [{ burst: -1 }, "burst"],
    [{ key: ["tenant"] }, "key.0"],
    [{ window: "10ms" }, "window"],
    [{ limit: 20_000 }, "limit"],
    [{ on_excess: "explode" }, "on_excess"],
    [{ bypass: ["severity>=LOUD"] }, "bypass.0"],
    [{ bypass: [{}] }, "bypass.0"],
    [{ bypass: [{ condition: "attributes[" }] }, "bypass.0.condition"],
    [{ bypass: [{ metadata: { "x-key": "" } }] }, "bypass.0.metadata"],
    [{ global: { limit: 0 } }, "global.limit"],
  ])("rejects %j", (config, path) => {
    const issues = rateLimit.schema.safeParse(config).error?.issues ?? [];
    const paths = issues.flatMap((issue) =>
      issue.code === "invalid_union"
        ? issue.errors.flat().map((inner) => [...issue.path, ...inner.path].join("."))
        : [issue.path.join(".")],
    );
    expect(paths).toContain(path);
  });
});

import { describe, expect, it } from "vitest";
import { type Batch, batchFromJson, readRecords } from "../../../../src/plugin.js";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { deadLetterLanguage } from "../../../../src/runtime/ottl/compile/dead-letter-language.js";
import {
  createDeadLetterFilter as createFilter,
  type DeadLetterFacts,
} from "../../../../src/runtime/queue/dead-letters/dead-letter-filter.js";
import { builtins } from "../../../support/builtins.js";

const ERROR = { kind: "permanent", code: "HTTP_400", message: "no" } as const;

function batchOf(...records: { name?: string; severity?: number; tenant?: string }[]) {
  const logRecords = records.map(({ name = "", severity = 9, tenant }) => ({
    eventName: name,
    severityNumber: severity,
    attributes: tenant === undefined ? [] : [{ key: "tenant", value: { stringValue: tenant } }],
  }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
}

const about: DeadLetterFacts = {
  exporter: "out",
  cause: { reason: "permanent", category: "schema", error: { ...ERROR, class: "HTTP 400" } },
  attempts: 1,
};

/** The filter, asked about a dead letter of no special kind. */
function createDeadLetterFilter(settings: Parameters<typeof createFilter>[0]) {
  const filter = createFilter(settings, deadLetterLanguage);
  return { ...filter, decide: (batch: Batch) => filter.decide(batch, about) };
}

const nothing = { never_save: [], always_save: [], save_if: "" };

describe("the dead-letter filter", () => {
  it("saves everything by default", () => {
    expect(createDeadLetterFilter(nothing).decide(batchOf({}))).toBe("save");
  });

  it.each([
    ["order.*", { name: "order.paid" }, { name: "reorder.paid" }],
    ["*.paid", { name: "order.paid" }, { name: "order.paid.v2" }],
    ["o*d*d", { name: "ordered" }, { name: "ord" }],
    ["severity>=ERROR", { severity: 17 }, { severity: 16 }],
    ["severity=WARN", { severity: 16 }, { severity: 17 }],
    ["severity < 5", { severity: 4 }, { severity: 0 }],
    ["attributes.tenant=acme", { tenant: "acme" }, { tenant: "acme2" }],
    ["attributes.tenant!=ac*", { tenant: "other" }, { tenant: "acme" }],
    ["attributes.tenant", { tenant: "x" }, {}],
    ["resource.service.name=shop and severity>WARN", { severity: 17 }, { severity: 13 }],
  ])("discards what %s names, and only that", (pattern, like, unlike) => {
    const filter = createDeadLetterFilter({ ...nothing, never_save: [pattern] });
    expect(filter.decide(batchOf(like))).toBe("discard");
    expect(filter.decide(batchOf(unlike))).toBe("save");
  });

  it("asks never_save before always_save before save_if", () => {
    const filter = createDeadLetterFilter({
      never_save: ["debug.*"],
      always_save: ["*.audit"],
      save_if: "severity>=ERROR",
    });
    expect(filter.decide(batchOf({ name: "debug.audit", severity: 21 }))).toBe("discard");
    expect(filter.decide(batchOf({ name: "login.audit", severity: 1 }))).toBe("save");
    expect(filter.decide(batchOf({ name: "other", severity: 17 }))).toBe("save");
    expect(filter.decide(batchOf({ name: "other", severity: 9 }))).toBe("discard");
  });

  it("keeps a batch as long as one of its records is worth it", () => {
    const filter = createDeadLetterFilter({ ...nothing, never_save: ["noise"] });
    expect(filter.decide(batchOf({ name: "noise" }, { name: "signal" }))).toBe("save");
    expect(filter.decide(batchOf({ name: "noise" }, { name: "noise" }))).toBe("discard");
  });
});

describe("save_if as an OTTL condition", () => {
  const saving = (save_if: string, more = {}) => createDeadLetterFilter({ ...nothing, ...more, save_if });

  it.each([
    ['attributes["tenant"] == "acme"', { tenant: "acme" }, { tenant: "other" }],
    ['log.attributes["tenant"] == "acme" or severity_number >= SEVERITY_NUMBER_ERROR', { severity: 17 }, {}],
    ['resource.attributes["service.name"] == "shop" and event_name == "paid"', { name: "paid" }, { name: "seen" }],
    ['IsMatch(log.event_name, "^order")', { name: "order.paid" }, { name: "reorder" }],
  ])("keeps the records for which %s", (condition, like, unlike) => {
    expect(saving(condition).decide(batchOf(like))).toBe("save");
    expect(saving(condition).decide(batchOf(unlike, like))).toBe("save");
    expect(saving(condition).decide(batchOf(unlike, unlike))).toBe("discard");
  });

  it("is asked only about what never_save leaves, and not if always_save keeps one of them", () => {
    const filter = saving("severity_number >= 17", { never_save: ["debug.*"], always_save: ["*.audit"] });
    expect(filter.decide(batchOf({ name: "debug.audit", severity: 21 }, { name: "other" }))).toBe("discard");
    expect(filter.decide(batchOf({ name: "debug.x", severity: 21 }, { name: "other", severity: 17 }))).toBe("save");
    expect(filter.decide(batchOf({ name: "login.audit", severity: 1 }))).toBe("save");
  });

  it("means each signal's own records, and keeps signals it says nothing of", () => {
    const spans = batchFromJson(
      "traces",
      JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: "a" }] }] }] }),
    );
    const points = { gauge: { dataPoints: [{ attributes: [{ key: "tenant", value: { stringValue: "acme" } }] }] } };
    const metrics = batchFromJson(
      "metrics",
      JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: "m", ...points }] }] }] }),
    );
    expect([spans, metrics].map(saving('attributes["tenant"] == "acme"').decide)).toEqual(["discard", "save"]);
    expect([spans, metrics].map(saving("severity_number >= 17").decide)).toEqual(["save", "save"]);
    expect([spans, metrics].map(saving('name == "m"').decide)).toEqual(["discard", "save"]);
  });

  it("saves what it cannot decide", () => {
    expect(saving('ParseJSON(attributes["tenant"])["x"] == 1').decide(batchOf({ tenant: "{" }))).toBe("save");
  });

  it.each(['IsMatchh(event_name,"x")', 'attributes["tenant"] = "acme"', "severity_number >=", 'body == "x'])(
    "is no pattern when it has a mistake: %s",
    (text) => {
      expect(() => saving(text)).toThrow(expect.objectContaining({ code: "SLUICE_OTTL_SYNTAX" }));
    },
  );
});

describe("save_if that asks how it failed", () => {
  it.each([
    ['dead_letter.error_class == "HTTP 400"', { cause: { ...about.cause, error: { ...ERROR, class: "HTTP 422" } } }],
    ['dead_letter.exporter == "out"', { exporter: "other" }],
    ["dead_letter.attempts >= 1", { attempts: 0 }],
    ['dead_letter.reason == "permanent" and severity_number > 0', { cause: { ...about.cause, reason: "expired" } }],
    ['dead_letter.category == "schema"', { cause: { ...about.cause, category: "business" } }],
  ] as const)("keeps what %s holds for, of every signal", (save_if, other) => {
    const filter = createFilter({ ...nothing, save_if }, deadLetterLanguage);
    const spans = batchFromJson(
      "traces",
      JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: "a" }] }] }] }),
    );
    const batches = save_if.includes("severity") ? [batchOf({})] : [batchOf({}), spans];
    for (const batch of batches) {
      expect(filter.decide(batch, about)).toBe("save");
      expect(filter.decide(batch, { ...about, ...other })).toBe("discard");
    }
  });

  it("uses the failure of each batch, not of the one before", () => {
    const filter = createFilter({ ...nothing, save_if: "dead_letter.attempts > 2" }, deadLetterLanguage);
    const answers = [3, 1, 5, 2].map((attempts) => filter.decide(batchOf({}), { ...about, attempts }));
    expect(answers).toEqual(["save", "discard", "save", "discard"]);
  });
});

describe("what was dropped on purpose", () => {
  const namesIn = (batch: Batch | undefined) => {
    const names: string[] = [];
    if (batch !== undefined) readRecords(batch, ({ name }) => void names.push(name));
    return names;
  };
  const batch = batchOf(
    { name: "audit.a" },
    { name: "b", severity: 17 },
    { name: "c" },
    { name: "debug.d", severity: 17 },
  );

  it("is kept, record by record, as far as a rule of the whole filter saves it", () => {
    const saved = (settings: Partial<Parameters<typeof createFilter>[0]>) =>
      namesIn(createFilter({ ...nothing, ...settings }, deadLetterLanguage).savedByRule(batch, about));
    const rules = { never_save: ["debug.*"], always_save: ["audit.*"] };
    expect(saved({})).toEqual([]);
    expect(saved(rules)).toEqual(["audit.a"]);
    expect(saved({ ...rules, save_if: "severity_number >= 17" })).toEqual(["audit.a", "b"]);
    expect(saved({ save_if: "severity>=ERROR" })).toEqual(["b", "debug.d"]);
    expect(saved({ save_if: 'dead_letter.reason == "rate_limited"' })).toEqual([]);
    expect(saved({ save_if: 'dead_letter.reason == "permanent"' })).toEqual(["audit.a", "b", "c", "debug.d"]);
    expect(saved({ save_if: 'ParseJSON(event_name)["x"] == 1' })).toEqual(["audit.a", "b", "c", "debug.d"]);
  });
});

describe("a bad pattern or condition", () => {
  it("is a problem of the config, with its place", () => {
    const text = `receivers: {otlp: {protocols: {http: }}}
exporters:
  nop:
    dead_letter:
      filter:
        never_save: [order.*, severity>=LOUD]
        save_if: tenant=acme
  nop/second:
    dead_letter: {filter: {save_if: 'attributes["a"] == 1 and nme == "b"'}}
extensions: {reliability: {dead_letter: {filter: {save_if: 'IsMatch('}}}}
service: {pipelines: {logs: {receivers: [otlp], exporters: [nop, nop/second]}}, extensions: [reliability]}
`;
    const { problems } = loadConfig({ sources: [{ text, name: "test.yaml" }], registry: new Registry(builtins) });
    const found = problems.filter(({ path }) => path.includes("filter"));
    expect(found.map(({ path, place }) => [path, place?.line])).toEqual([
      ["exporters.nop.dead_letter.filter.never_save.1", 6],
      ["exporters.nop.dead_letter.filter.save_if", 7],
      ["exporters.nop/second.dead_letter.filter.save_if", 9],
      ["extensions.reliability.dead_letter.filter.save_if", 10],
    ]);
    expect(found[2]?.place?.column).toBe(63);
    expect(found[0]?.message).toContain("TRACE, DEBUG");
    expect(found[1]?.message).toContain('cannot compare "tenant"');
  });
});

import { describe, expect, it } from "vitest";
import { createDeadLetterFilter } from "../../../src/extensions/reliability/filter.js";
import { batchFromJson } from "../../../src/plugin.js";
import { builtins } from "../../../src/runtime/builtins.js";
import { loadConfig } from "../../../src/runtime/config/load.js";
import { Registry } from "../../../src/runtime/registry.js";

function batchOf(...records: { name?: string; severity?: number; tenant?: string }[]) {
  const logRecords = records.map(({ name = "", severity = 9, tenant }) => ({
    eventName: name,
    severityNumber: severity,
    attributes: tenant === undefined ? [] : [{ key: "tenant", value: { stringValue: tenant } }],
  }));
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] };
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
}

const nothing = { never_save: [], always_save: [], save_if: "" };

describe("the dead-letter filter", () => {
  it("saves everything by default", () => {
    expect(createDeadLetterFilter(nothing).judge(batchOf({}))).toBe("save");
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
    expect(filter.judge(batchOf(like))).toBe("discard");
    expect(filter.judge(batchOf(unlike))).toBe("save");
  });

  it("asks never_save before always_save before save_if", () => {
    const filter = createDeadLetterFilter({
      never_save: ["debug.*"],
      always_save: ["*.audit"],
      save_if: "severity>=ERROR",
    });
    expect(filter.judge(batchOf({ name: "debug.audit", severity: 21 }))).toBe("discard");
    expect(filter.judge(batchOf({ name: "login.audit", severity: 1 }))).toBe("save");
    expect(filter.judge(batchOf({ name: "other", severity: 17 }))).toBe("save");
    expect(filter.judge(batchOf({ name: "other", severity: 9 }))).toBe("discard");
  });

  it("keeps a batch as long as one of its records is worth it", () => {
    const filter = createDeadLetterFilter({ ...nothing, never_save: ["noise"] });
    expect(filter.judge(batchOf({ name: "noise" }, { name: "signal" }))).toBe("save");
    expect(filter.judge(batchOf({ name: "noise" }, { name: "noise" }))).toBe("discard");
  });
});

describe("a bad pattern", () => {
  it("is a problem of the config, with its place", () => {
    const text = `receivers: {otlp: {protocols: {http: }}}
exporters:
  nop:
    dead_letter:
      filter:
        never_save: [order.*, severity>=LOUD]
        save_if: tenant=acme
service: {pipelines: {logs: {receivers: [otlp], exporters: [nop]}}}
`;
    const { problems } = loadConfig({ sources: [{ text, name: "test.yaml" }], registry: new Registry(builtins) });
    const found = problems.filter(({ path }) => path.includes("filter"));
    expect(found.map(({ path, place }) => [path, place?.line])).toEqual([
      ["exporters.nop.dead_letter.filter.never_save.1", 6],
      ["exporters.nop.dead_letter.filter.save_if", 7],
    ]);
    expect(found[0]?.message).toContain("TRACE, DEBUG");
    expect(found[1]?.message).toContain('cannot compare "tenant"');
  });
});

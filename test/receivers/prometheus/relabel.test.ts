import { describe, expect, it } from "vitest";
import { relabelRules, scrapeJobSchema } from "../../../src/receivers/prometheus/job-config.js";
import { relabel } from "../../../src/receivers/prometheus/relabel.js";

/** The labels that rules leave, or undefined when they drop them. */
function apply(labels: Record<string, string>, ...rules: object[]): Record<string, string> | undefined {
  const { relabel_configs: configs } = scrapeJobSchema.parse({ job_name: "a", relabel_configs: rules });
  const map = new Map(Object.entries(labels));
  return relabel(map, relabelRules(configs)) ? Object.fromEntries(map) : undefined;
}

describe("relabelling", () => {
  it("replaces what matches as a whole, by groups, and removes what becomes empty", () => {
    const rule = {
      source_labels: ["a", "b"],
      regex: "(.*);x(?P<rest>.*)",
      target_label: "c",
      replacement: `$1-$\{rest}`,
    };
    expect(apply({ a: "1", b: "xy" }, rule)).toEqual({ a: "1", b: "xy", c: "1-y" });
    expect(apply({ a: "1", b: "zxy" }, rule)).toEqual({ a: "1", b: "zxy" });
    expect(apply({ a: "1" }, { target_label: "a", replacement: "" })).toEqual({});
    expect(
      apply({ a: "up\ndown" }, { source_labels: ["a"], regex: "up.down", target_label: "b", replacement: "yes" }),
    ).toMatchObject({ b: "yes" });
    expect(apply({ a: "n" }, { source_labels: ["a"], target_label: "x_$1", replacement: "1" })).toEqual({
      a: "n",
      x_n: "1",
    });
    expect(apply({ a: "-" }, { source_labels: ["a"], target_label: "$1", replacement: "1" })).toEqual({ a: "-" });
    expect(apply({}, { source_labels: ["a"], target_label: "b", separator: "", replacement: "set" })).toEqual({
      b: "set",
    });
  });

  it("keeps and drops by pattern and by equality", () => {
    expect(apply({ a: "1" }, { source_labels: ["a"], regex: 1, action: "keep" })).toEqual({ a: "1" });
    expect(apply({ a: "12" }, { source_labels: ["a"], regex: 1, action: "keep" })).toBeUndefined();
    expect(apply({ a: "true" }, { source_labels: ["a"], regex: true, action: "Drop" })).toBeUndefined();
    expect(apply({ a: "x", b: "x" }, { source_labels: ["a"], target_label: "b", action: "keepequal" })).toBeDefined();
    expect(apply({ a: "x", b: "y" }, { source_labels: ["a"], target_label: "b", action: "keepequal" })).toBeUndefined();
    expect(apply({ a: "x", b: "x" }, { source_labels: ["a"], target_label: "b", action: "dropequal" })).toBeUndefined();
  });

  it("maps, drops and keeps labels by their names, and changes the case of values", () => {
    expect(apply({ __meta_x: "1", y: "2" }, { regex: "__meta_(.+)", action: "labelmap" })).toEqual({
      __meta_x: "1",
      y: "2",
      x: "1",
    });
    expect(apply({ ab: "1", b: "2" }, { regex: "a.*", action: "labeldrop" })).toEqual({ b: "2" });
    expect(apply({ ab: "1", b: "2" }, { regex: "a.*", action: "labelkeep" })).toEqual({ ab: "1" });
    expect(apply({ a: "xY" }, { source_labels: ["a"], target_label: "a", action: "uppercase" })).toEqual({ a: "XY" });
    expect(apply({ a: "xY" }, { source_labels: ["a"], target_label: "a", action: "lowercase" })).toEqual({ a: "xy" });
  });

  it("divides by hash as Prometheus does", () => {
    // From Prometheus's own documentation of its behaviour: the last eight bytes of MD5("baz"), modulo 1000.
    expect(
      apply({ c: "baz" }, { source_labels: ["c"], target_label: "d", modulus: 1000, action: "hashmod" }),
    ).toMatchObject({ d: "976" });
    expect(
      apply({ a: "foo" }, { source_labels: ["a"], target_label: "d", modulus: 1, action: "hashmod" }),
    ).toMatchObject({ d: "0" });
  });
});

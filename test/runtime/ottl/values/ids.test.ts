import { describe, expect, it } from "vitest";
import { edited, evaluate, evaluateAfter } from "../../../support/telemetry/ottl.js";

describe("the id of a trace or span", () => {
  it.each([
    'set(attributes["x"], trace_id)',
    "set(body, span_id)",
    'set(cache["x"], SpanID(0x0102030405060708))',
    'set(attributes["x"], [trace_id])',
    'set(attributes["x"], {"id": [span_id]})',
    'append(attributes["list"], trace_id)',
    'merge_maps(attributes, {"id": trace_id}, "upsert")',
  ])("is not stored as a value by %s, which says what to write", (statement) => {
    expect(() => edited(statement)).toThrow(/an id cannot be stored as a value: use trace_id\.string/);
  });

  it("is set from an id and not from its bytes, nor from the id of something else", () => {
    expect(evaluateAfter("set(span_id, SpanID(0x0000000000000001))", "span_id.string")).toBe("0000000000000001");
    expect(() => edited("set(span_id, 0x0000000000000001)")).toThrow("such as SpanID(0x...), got bytes");
    expect(() => edited("set(trace_id, ProfileID(0x0102030405060708090a0b0c0d0e0f10))")).toThrow("got id");
  });

  it("is text by its path and by Format", () => {
    expect(evaluate('[span_id.string, Format("%s", [span_id])]')).toEqual(["0102030405060708", "0102030405060708"]);
    expect(() => evaluate('Decode(span_id, "us-ascii")')).toThrow();
  });
});

describe("the flags of a span", () => {
  it("must fit 32 bits", () => {
    expect(evaluateAfter("set(flags, 4294967295)", "flags", "span")).toBe(4_294_967_295n);
    for (const flags of ["4294967296", "-1"])
      expect(() => edited(`set(flags, ${flags})`, "span")).toThrow("does not fit into an unsigned 32-bit integer");
  });
});

describe("a replacement", () => {
  it("fails for a value that is not a text, even if there is nothing to replace", () => {
    for (const editor of ["replace_pattern", "replace_match"])
      expect(() => edited(`${editor}(attributes["int"], "4*", attributes["missing"])`)).toThrow(
        "replacement: expected string, got nil",
      );
    for (const nil of ['"4*", attributes["missing"]', 'attributes["missing"], "4"'])
      expect(() => edited(`replace_match(attributes["missing"], ${nil})`)).toThrow("expected string, got nil");
    expect(edited('replace_pattern(attributes["missing"], "4*", attributes["missing"])').count).toBe(1);
  });
});

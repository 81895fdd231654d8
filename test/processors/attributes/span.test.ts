import { describe, expect, it } from "vitest";
import { type Attributes, readRecords, type SpanView } from "../../../src/plugin.js";
import { spanProcessor } from "../../../src/processors/attributes/component.js";
import { batchFromJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { owed } from "../../support/deliveries.js";
import { processing } from "../../support/processors.js";

interface Span {
  readonly name: string;
  readonly attributes: object;
  readonly status: object;
}

/** Returns one span with this name and these attributes (OTLP/JSON values) as the processor changes it. */
function processed(config: object, name: string, attributes: Readonly<Record<string, object>> = {}): Span {
  const made = processing(spanProcessor, config, "traces");
  const span = {
    traceId: "0102030405060708090a0b0c0d0e0f10",
    spanId: "0102030405060708",
    name,
    attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
    status: { code: 1 },
  };
  const batch = batchFromJson(
    "traces",
    Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })),
  );
  made.source.next(owed(batch).delivery);
  let seen: Span | undefined;
  readRecords(made.out[0]!.batch, (record) => {
    const { name, attributes, status } = record as unknown as SpanView;
    seen = { name, attributes: toObject(attributes), status: { ...status } };
  });
  return seen!;
}

function toObject(attributes: Attributes): object {
  return Object.fromEntries([...attributes.keys()].map((key) => [key, attributes.get(key)]));
}

const text = (stringValue: string) => ({ stringValue });

describe("span", () => {
  it("makes the name of the values of attributes", () => {
    const name = { from_attributes: ["db.system", "code", "ratio", "ok", "size"], separator: "::" };
    const attributes = {
      "db.system": text("pg"),
      code: { intValue: "9007199254740993" },
      ratio: { doubleValue: 0.5 },
      ok: { boolValue: true },
      size: { doubleValue: 1e21 },
    };
    expect(processed({ name }, "old", attributes).name).toBe("pg::9007199254740993::0.5::true::1000000000000000000000");
    expect(processed({ name: { from_attributes: ["l"] } }, "old", { l: { arrayValue: {} } }).name).toBe(
      "<unknown-attribute-type>",
    );
  });

  it("leaves the name of a span that lacks one of the attributes", () => {
    expect(processed({ name: { from_attributes: ["a", "b"] } }, "old", { a: text("x") }).name).toBe("old");
  });

  it("takes attributes out of the name, at the place where they are", () => {
    const rules = ["^/a/(?P<id>.*)/(?P<verb>[a-z]+)$"];
    const { name, attributes } = processed({ name: { to_attributes: { rules } } }, "/a/a/a");
    expect(name).toBe("/a/{id}/{verb}");
    expect(attributes).toEqual({ id: "a", verb: "a" });
  });

  it("gives each rule the name that the one before has made, unless one match is enough", () => {
    const rules = ["^/(?P<first>\\w+)/", "/(?P<second>\\d+)$", "(?P<never>nothing)"];
    const all = processed({ name: { to_attributes: { rules } } }, "/shop/12");
    expect([all.name, all.attributes]).toEqual(["/{first}/{second}", { first: "shop", second: "12" }]);
    const one = processed({ name: { to_attributes: { rules, break_after_match: true } } }, "/shop/12");
    expect([one.name, one.attributes]).toEqual(["/{first}/12", { first: "shop" }]);
    const kept = processed({ name: { to_attributes: { rules, keep_original_name: true } } }, "/shop/12");
    expect([kept.name, kept.attributes]).toEqual(["/shop/12", { first: "shop", second: "12" }]);
  });

  it("leaves out groups that took no part, and does not name nested ones twice", () => {
    const rules = ["^(?P<whole>x(?P<inner>y)?(?P<absent>z)?)"];
    const { name, attributes } = processed({ name: { to_attributes: { rules } } }, "xy-1");
    expect([name, attributes]).toEqual(["{whole}-1", { whole: "xy", inner: "y" }]);
  });

  it("finds groups also in names too long for JavaScript's engine", () => {
    const long = `${"a".repeat(1_100_000)}-7`;
    const { name } = processed({ name: { to_attributes: { rules: ["-(?P<n>\\d)$"] } } }, long);
    expect(name.slice(-5)).toBe("a-{n}");
  });

  it("sets the status", () => {
    expect(processed({ status: { code: "Error", description: "late" } }, "x").status).toEqual({
      code: 2,
      message: "late",
    });
    expect(processed({ status: { code: "Unset" } }, "x").status).toEqual({ code: 0, message: "" });
  });

  it("changes only spans that include and exclude allow", () => {
    const change = { status: { code: "Error" } };
    const include = { match_type: "strict", span_names: ["x"] };
    expect(processed({ ...change, include }, "x").status).toMatchObject({ code: 2 });
    expect(processed({ ...change, include }, "y").status).toMatchObject({ code: 1 });
    expect(processed({ ...change, exclude: include }, "x").status).toMatchObject({ code: 1 });
  });

  it("says what is wrong with its config", () => {
    const parse = (config: object) => () => spanProcessor.schema.parse(config);
    expect(parse({})).toThrow("expected name.from_attributes, name.to_attributes or status");
    expect(parse({ name: { to_attributes: { rules: ["(a"] } } })).toThrow("not a pattern");
    expect(parse({ name: { to_attributes: { rules: ["a"] } } })).toThrow("named group");
    expect(parse({ status: { code: "Ok", description: "x" } })).toThrow("only Error has a description");
    expect(parse({ nam: {} })).toThrow("nam");
  });
});

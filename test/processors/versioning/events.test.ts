import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchFromJson, batchToJson, defineVersioning, readRecords } from "../../../src/plugin.js";
import { versioning } from "../../../src/processors/versioning/component.js";
import { parseEventName } from "../../../src/processors/versioning/event-name.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { events, keyValues, replay, run, seen } from "./support.js";

const ORDER_PAID = {
  events: {
    "order.paid": {
      current: 3,
      upcasts: [
        { from: 1, to: 2, rename: { sum: "amount" }, convert: { amount: "double" }, set: { currency: "EUR" } },
        { from: 2, to: 3, remove: ["legacy"], rename: { user: "customer.id" } },
      ],
    },
  },
};

describe("the version of an event", () => {
  it.each([
    ["order.paid", "order.paid", undefined],
    ["order.paid.v2", "order.paid", 2],
    ["OrderPaidV12", "OrderPaid", 12],
    ["order.paid.v2.v3", "order.paid", 3],
    ["IPV4", "IPV4", undefined],
    ["order.paid.v0", "order.paid.v0", undefined],
    ["order.paid.v", "order.paid.v", undefined],
    [".v2", ".v2", undefined],
    ["v2", "v2", undefined],
    ["line\nbreak.v2", "line\nbreak", 2],
    ["", "", undefined],
    ["V2", "V2", undefined],
    ["aV2", "a", 2],
    ["a.v02", "a.v02", undefined],
    ["a.v123456789", "a", 123456789],
    ["a.v1234567890", "a.v1234567890", undefined],
    ["a.v7V8.v9", "a", 9],
  ])("is read from the name %j", (name, plain, version) => {
    expect(parseEventName(name)).toEqual({ plain, version });
  });

  it.each([".v1", "V1"])(
    "is read at once from a name of a megabyte of %j: a sender cannot stop the agent",
    (suffix) => {
      expect(parseEventName(`a${suffix.repeat(2 ** 20 / suffix.length)}`)).toEqual({ plain: "a", version: 1 });
      const tail = `${suffix.repeat(2 ** 20 / suffix.length)}!`;
      expect(parseEventName(tail)).toEqual({ plain: tail, version: undefined });
    },
  );

  it("is the attribute's, else the name's, else 1; the result has the plain name, and a version above 1", () => {
    const { going } = run(
      { events: { a: { current: 4 }, b: { current: 1 } } },
      events(["a", { "event.version": 4n }], ["a.v4"], ["a.v2", { "event.version": "4" }], ["b"], ["b.v1"], ["CV7"]),
    );
    expect(seen(going)).toEqual([
      ["a", { "event.version": 4 }],
      ["a", { "event.version": 4 }],
      ["a", { "event.version": "4" }],
      ["b", {}],
      ["b", {}],
      ["CV7", {}],
    ]);
    expect(seen(run({}, events(["shipped.v2"], ["ShippedV3"])).going)).toEqual([
      ["shipped", { "event.version": 2 }],
      ["Shipped", { "event.version": 3 }],
    ]);
  });

  it("is found where the name is an attribute", () => {
    const record = { attributes: keyValues({ "event.name": "order.paid.v3", x: "y" }) };
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }));
    expect(seen(run(ORDER_PAID, batch).going)).toEqual([
      ["order.paid", { "event.name": "order.paid", x: "y", "event.version": 3 }],
    ]);
  });
});

describe("versioning of events", () => {
  it("brings old versions to the current one, step by step", () => {
    const metrics = countedMetrics();
    const { going } = run(
      ORDER_PAID,
      events(
        ["order.paid", { sum: "12.5", user: "u1", legacy: true }],
        ["order.paid.v2", { amount: 3, user: "u2", legacy: true }],
        ["order.paid", { "event.version": 3n, legacy: "stays" }],
        ["other", { sum: "12.5" }],
      ),
      metrics,
    );
    expect(seen(going)).toEqual([
      ["order.paid", { amount: 12.5, currency: "EUR", "customer.id": "u1", "event.version": 3 }],
      ["order.paid", { amount: 3, "customer.id": "u2", "event.version": 3 }],
      ["order.paid", { "event.version": 3, legacy: "stays" }],
      ["other", { sum: "12.5" }],
    ]);
    const deprecated = (version: string) =>
      metrics.value("sluice_versioning_deprecated_items", { event: "order.paid", version });
    expect([deprecated("1"), deprecated("2")]).toEqual([1, 1]);
  });

  it("keeps the type of renamed attributes", () => {
    const { going } = run(ORDER_PAID, events(["order.paid.v2", { user: 5 }]));
    expect(batchToJson(going!)).toContain('"key":"customer.id","value":{"doubleValue":5}');
  });

  it("lets two attributes swap keys", () => {
    const upcasts = [{ from: 1, to: 2, rename: { a: "b", b: "a" } }];
    const { going } = run(
      { events: { x: { current: 2, upcasts } } },
      events(["x", { a: 1n, b: 2n }], ["x", { b: 3n }]),
    );
    expect(seen(going).map(([, attributes]) => attributes)).toEqual([
      { a: 2, b: 1, "event.version": 2 },
      { a: 3, "event.version": 2 },
    ]);
  });

  it("converts to every type", () => {
    const convert = { i: "int", d: "double", s: "string", b: "bool", none: "int" };
    const config = { events: { x: { current: 2, upcasts: [{ from: 1, to: 2, convert }] } } };
    const { going } = run(config, events(["x", { i: "-9007199254740993", d: "1e3", s: 4n, b: "TRUE" }]));
    expect(seen(going)[0]![1]).toEqual({ i: -9007199254740993n, d: 1000, s: "4", b: true, "event.version": 2 });
  });

  it("passes a batch with nothing to do as the same object", () => {
    const batch = events(["order.paid", { "event.version": 3n }], ["a"], ["b", { "event.version": "9" }]);
    expect(run(ORDER_PAID, batch).going).toBe(batch);
  });

  it.each(["pass", "dead_letter", "drop"] as const)("handles unknown versions as configured: %s", (unknown) => {
    const metrics = countedMetrics();
    const config = { events: { a: { current: 3, upcasts: [{ from: 2, to: 3 }] } }, unknown };
    const batch = events(["a.v4"], ["a.v2"], ["a"], ["a", { "event.version": "two" }]);
    const { going, aside, outcome } = run(config, batch, metrics);
    const upcasted = ["a", { "event.version": 3 }] as const;
    if (unknown === "pass")
      expect(seen(going)).toEqual([
        ["a", { "event.version": 4 }],
        upcasted,
        ["a", {}],
        ["a", { "event.version": "two" }],
      ]);
    else expect(seen(going)).toEqual([upcasted]);
    if (unknown === "dead_letter") {
      expect(seen(aside?.batch)).toEqual([
        ["a.v4", {}],
        ["a", {}],
        ["a", { "event.version": "two" }],
      ]);
      expect(aside?.setback).toEqual({
        reason: "rejected",
        category: "schema",
        code: "SLUICE_UNKNOWN_VERSION",
        message: "a has the unknown version 4",
      });
    } else expect(aside).toBeUndefined();
    expect(outcome).toBeUndefined();
    expect(metrics.value("sluice_versioning_unknown_items", { event: "a", unknown })).toBe(3);
  });

  it("leaves an event as it came when an upcast fails on it", () => {
    const upcasts = [{ from: 1, to: 2, rename: { a: "b" }, convert: { b: "int" } }];
    const config = { events: { x: { current: 2, upcasts } }, unknown: "dead_letter" };
    const metrics = countedMetrics();
    const { going, aside } = run(config, events(["x", { a: "many" }], ["x", { a: "1" }]), metrics);
    expect(seen(going)).toEqual([["x", { b: 1, "event.version": 2 }]]);
    expect(seen(aside?.batch)).toEqual([["x", { a: "many" }]]);
    expect(aside?.setback).toMatchObject({
      code: "SLUICE_UPCAST_FAILED",
      message: "x could not be updated from version 1 to 2: attribute b cannot be converted to int",
    });
    expect(metrics.value("sluice_versioning_failed_items", { event: "x" })).toBe(1);
  });

  it("treats spans that the config names, and the events of all spans", () => {
    const span = (name: string, list: object[]) => ({
      traceId: "0".repeat(31) + 1,
      spanId: "0".repeat(15) + 1,
      name,
      events: list,
    });
    const spans = [
      span("order.paid", [{ name: "order.paid.v2", attributes: keyValues({ user: "u" }) }]),
      span("GET /api.v2", [{ name: "note.v2" }, { name: "note" }]),
    ];
    const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    const { going } = run(ORDER_PAID, batch);
    expect(seen(going)).toEqual([
      ["order.paid", { currency: "EUR", "event.version": 3 }],
      ["GET /api.v2", {}],
    ]);
    const found: unknown[] = [];
    readRecords(going!, (one) => {
      if (one.signal === "traces")
        for (const event of one.events) found.push([event.name, { ...event.attributes.toObject() }]);
    });
    expect(found).toEqual([
      ["order.paid", { "customer.id": "u", "event.version": 3 }],
      ["note", { "event.version": 2 }],
      ["note", {}],
    ]);
  });

  it("sets a span aside for one of its events, and drops an event alone", () => {
    const spans = [{ name: "s", events: [{ name: "order.paid.v9" }, { name: "fine" }] }].map((one) => ({
      ...one,
      traceId: "0".repeat(31) + 1,
      spanId: "0".repeat(15) + 1,
    }));
    const batch = batchFromJson("traces", JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
    const { going, aside } = run({ ...ORDER_PAID, unknown: "dead_letter" }, batch);
    expect([going, aside?.batch]).toEqual([undefined, batch]);
    expect(batchToJson(run({ ...ORDER_PAID, unknown: "drop" }, batch).going!)).toContain('"events":[{"name":"fine"}]');
  });

  it("accepts upcasters in code from a plugin's own processor", () => {
    const factory = defineVersioning({
      type: "shop_versioning",
      summary: "test",
      upcasters: {
        split_name(event) {
          const [first = "", last = ""] = String(event.attributes.get("name")).split(" ");
          if (last === "") throw new Error("no last name");
          event.attributes.delete("name");
          event.attributes.set("first", first).set("last", last);
        },
      },
    });
    const upcasts = [{ from: 1, to: 2, rename: { full_name: "name" }, use: "split_name" }];
    const config = { events: { signup: { current: 2, upcasts } }, unknown: "dead_letter" };
    const batch = events(["signup", { full_name: "Ada Lovelace" }], ["signup", { full_name: "Plato" }]);
    const { going, aside } = run(config, batch, undefined, factory);
    expect(seen(going)).toEqual([["signup", { first: "Ada", last: "Lovelace", "event.version": 2 }]]);
    expect(seen(aside?.batch)).toEqual([["signup", { full_name: "Plato" }]]);
    const issues = factory.schema.safeParse({
      events: { a: { current: 2, upcasts: [{ from: 1, to: 2, use: "split" }] } },
    });
    expect(issues.error?.issues[0]).toMatchObject({ path: ["events", "a", "upcasts", 0, "use"] });
  });

  it("changes nothing more the second time, and on replay", () => {
    const names = fc.constantFrom(
      "order.paid",
      "order.paid.v2",
      "order.paid.v3",
      "order.paid.v7",
      "x",
      "x.v2.v3",
      "YV2",
    );
    const version = fc.constantFrom(undefined, 1n, 2n, 3n, 9n, "2", "odd");
    fc.assert(
      fc.property(fc.array(fc.tuple(names, version), { maxLength: 6 }), (list) => {
        const batch = events(
          ...list.map(([name, stated], i) => {
            const stateful = stated === undefined ? {} : { "event.version": stated };
            return [name, { ...stateful, sum: `${i}`, user: "u" }] as const;
          }),
        );
        const once = run(ORDER_PAID, batch).going!;
        expect(run(ORDER_PAID, once).going).toBe(once);
        expect(replay(ORDER_PAID, once)).toBe(once);
        expect(seen(replay(ORDER_PAID, batch))).toEqual(seen(once));
      }),
    );
  });

  it("refuses to replay a dead letter whose version is still unknown, unless unknown versions may pass", () => {
    const batch = events(["order.paid.v9"]);
    for (const unknown of ["dead_letter", "drop"])
      expect(() => replay({ ...ORDER_PAID, unknown }, batch)).toThrow("order.paid has the unknown version 9");
    expect(seen(replay({ ...ORDER_PAID, unknown: "pass" }, batch))).toEqual([["order.paid", { "event.version": 9 }]]);
  });

  const up = (...upcasts: object[]) => ({ events: { a: { current: 3, upcasts } } });
  it.each([
    ["a cycle", up({ from: 1, to: 3 }, { from: 2, to: 1 }), "events.a.upcasts.1.to"],
    ["a step to itself", up({ from: 2, to: 2 }), "events.a.upcasts.0.to"],
    ["a gap", up({ from: 1, to: 2 }), "events.a.upcasts.0.to"],
    ["two from one version", up({ from: 2, to: 3 }, { from: 2, to: 3 }), "events.a.upcasts.1.from"],
    ["a step beyond the current version", up({ from: 2, to: 4 }), "events.a.upcasts.0.to"],
    ["version 0", up({ from: 0, to: 3 }), "events.a.upcasts.0.from"],
    ["a name with a version", { events: { "a.v2": { current: 2 } } }, "events.a.v2"],
    ["one key for two", up({ from: 2, to: 3, rename: { x: "z", y: "z" } }), "events.a.upcasts.0.rename"],
    [
      "a change of the version",
      up({ from: 2, to: 3, set: { "event.version": 1 } }),
      "events.a.upcasts.0.set.event.version",
    ],
    ["an unknown type", up({ from: 2, to: 3, convert: { x: "float" } }), "events.a.upcasts.0.convert.x"],
    ["an upcaster that is not there", up({ from: 2, to: 3, use: "x" }), "events.a.upcasts.0.use"],
    ["a target without a file", { target: "https://x/1.0.0" }, "target"],
  ])("rejects %s", (_, config, path) => {
    const issues = versioning.schema.safeParse(config).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join("."))).toContain(path);
  });
});

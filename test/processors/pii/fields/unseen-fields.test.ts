import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, type Signal } from "../../../../src/plugin.js";
import { piiSchema } from "../../../../src/processors/pii/config.js";
import { rewriteFields } from "../../../../src/processors/pii/fields/rewrite-fields.js";
import { plansFor } from "../../../../src/processors/pii/fields/rewrite-plans.js";
import { UnseenFields } from "../../../../src/processors/pii/fields/unseen-fields.js";
import { CLEAN, CLEAN_WITH_ANY_DIGITS, type Cleanness } from "../../../../src/processors/pii/fields/unseen-walk.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { redactionSchema } from "../../../../src/processors/pii/redaction/config.js";
import { RedactionVisitor } from "../../../../src/processors/pii/redaction/redaction-visitor.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { logOf, pairs } from "../pii-harness.js";

const treatment = (config: object = {}) => new PiiTreatment(piiSchema.parse(config));

/** A treatment that has had a first batch, and skips fields that it has seen since. */
function warm(config?: object): PiiTreatment {
  const one = treatment(config);
  one.treat(logs("x"));
  counts(one);
  return one;
}

/** Few keys and values, so that most repeat, also in places where they mean something else. */
const texts = fc.constantFrom(
  ...[
    "checkout",
    "anna@example.com",
    "203.0.113.7",
    "/api/v2/pay",
    "",
    "a",
    "user=root password=hunter2",
    "4111111111111111",
  ],
  ...[
    "4111111111111112",
    "checkout ".repeat(40),
    `${"x".repeat(247)}`,
    `${"x".repeat(260)}`,
    "1987-04-12",
    "ok, +46 70 123 45 67",
  ],
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  texts,
  texts,
  fc.integer(),
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(texts, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom("password", "user", "n"), texts, { maxKeys: 2 }),
);
const KEYS = [
  "k",
  "service.name",
  "password",
  "user.email",
  "dob",
  "http.code",
  "x".repeat(130),
  "app.version",
  "phone",
];
const attributes = fc.dictionary(fc.constantFrom(...KEYS), value, { maxKeys: 6 });

const record: Readonly<Record<Signal, fc.Arbitrary<object>>> = {
  logs: fc.record({ body: fc.option(texts), attributes }).map(({ body, attributes: own }) => ({
    timeUnixNano: "1",
    ...(body === null ? {} : { body: { stringValue: body } }),
    attributes: pairs(own),
  })),
  traces: fc.record({ name: texts, message: texts, event: texts, attributes, inside: attributes }).map((span) => ({
    name: span.name,
    status: { message: span.message },
    attributes: pairs(span.attributes),
    events: [{ name: span.event, attributes: pairs(span.inside) }],
    links: [{ attributes: pairs(span.inside) }],
    flags: 1,
  })),
  metrics: fc.record({ name: texts, attributes, inside: attributes }).map((metric) => ({
    name: metric.name,
    gauge: {
      dataPoints: [
        { asInt: "1", attributes: pairs(metric.attributes) },
        { asDouble: 2, attributes: [], exemplars: [{ filteredAttributes: pairs(metric.inside) }] },
      ],
    },
  })),
};

const LISTS = {
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  traces: ["resourceSpans", "scopeSpans", "spans"],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
} as const;

/** Batches, perhaps in several chunks. */
const batches: fc.Arbitrary<Batch[]> = fc.constantFrom<Signal>("logs", "traces", "metrics").chain((signal) =>
  fc.array(
    fc.tuple(attributes, fc.array(record[signal], { maxLength: 5 }), fc.nat(400)).map(([resource, records, cut]) => {
      const [outer, inner, list] = LISTS[signal];
      const scope = { name: "s", attributes: pairs(resource) };
      const tree = { [outer]: [{ resource: { attributes: pairs(resource) }, [inner]: [{ scope, [list]: records }] }] };
      const bytes = Buffer.from(referenceEncode(signal, tree as never));
      return Batch.admitPieces(signal, [bytes.subarray(0, cut), bytes.subarray(cut)]);
    }),
    { minLength: 1, maxLength: 4 },
  ),
);

const hex = (batch: Batch) => Buffer.from(batch.bytes).toString("hex");

function counts(one: PiiTreatment): Record<string, number> {
  const found: Record<string, number> = {};
  one.takeCounts((index, count) => {
    found[one.names[index]!] = count;
  });
  return found;
}

describe("fields that were seen to be clean", () => {
  for (const [name, config] of Object.entries({
    defaults: {},
    summaries: { summary: "debug" },
    "only a report": { mode: "report" },
    "rules for fields": { fields: { "http.code": "mask", "service.name": "redact", body: "mask" } },
    "more places": { look_into: ["names", "keys", "trace_state"] },
    "a pattern": { patterns: [{ name: "shop", pattern: "check\\w+" }] },
  }))
    it(`are skipped without changing the result: ${name}`, () => {
      fc.assert(
        fc.property(batches, (some) => {
          const one = warm(config);
          for (const batch of [...some, ...some]) {
            const alone = treatment(config);
            expect(hex(one.treat(batch))).toBe(hex(alone.treat(batch)));
            expect(counts(one)).toEqual(counts(alone));
          }
        }),
        runs(15),
      );
    });

  it("are skipped by redaction, too", () => {
    const config = redactionSchema.parse({ allow_all_keys: true, blocked_values: ["4[0-9]{15}", "@example"] });
    fc.assert(
      fc.property(batches, (some) => {
        const visitor = new RedactionVisitor(config);
        const settings = { unseen: new UnseenFields(plansFor([])) };
        rewriteFields(logs("x"), visitor, settings);
        for (const batch of [...some, ...some])
          expect(hex(rewriteFields(batch, visitor, settings))).toBe(
            hex(rewriteFields(batch, new RedactionVisitor(config))),
          );
      }),
      runs(15),
    );
  });

  it("are distinguished from fields that differ in any single byte", () => {
    const one = warm();
    for (let at = 0; at < 60; at++) {
      const text = (mail: string) => `${"- ".repeat(at)}${mail}${" -".repeat(60 - at)}`;
      const batch = logs(text("anna+example.com"), text("anna@example.com"));
      expect(bodies(one.treat(batch))).toEqual([text("anna+example.com"), text("****")]);
    }
  });

  it("leave a batch in several chunks as it is", () => {
    const bytes = logOf("nothing here", { key: "value" }).bytes;
    const batch = Batch.admitPieces("logs", [bytes.subarray(0, 10), bytes.subarray(10)]);
    const one = warm();
    expect(one.treat(batch)).toBe(batch);
    expect(batch.chunks).toHaveLength(2);
  });

  it("are not visited again, nor are other numbers under their key", () => {
    const shown: string[] = [];
    const see = (name: string): Cleanness => {
      shown.push(name);
      return CLEAN;
    };
    const visitor = {
      open: () => {},
      close: () => {},
      attribute: () => see("attribute"),
      body: () => see("body"),
      text: () => see("text"),
    };
    const settings = { unseen: new UnseenFields(plansFor([])) };
    const show = (batch: Batch) => {
      shown.length = 0;
      rewriteFields(batch, visitor, settings);
      return shown.join();
    };
    expect(show(logOf("a body that is kept", { "http.code": 200, route: "/pay" }))).toBe("body,attribute,attribute");
    expect(show(logOf("a body that is kept", { "http.code": 200, route: "/pay" }))).toBe("body,attribute,attribute");
    expect(show(logOf("a body that is kept", { "http.code": 404, route: "/pay" }))).toBe("");
    expect(show(logOf("a body that is kep!", { "http.code": 1.5, route: "/pax" }))).toBe("body,attribute,attribute");
    expect(show(logOf("a".repeat(300), { "http.code": -1 }))).toBe("body,attribute");
    expect(show(logOf("a".repeat(300), { "http.code": -1 }))).toBe("body");
  });

  it("may differ in the digits of a text that is clean with any digits, but not in those of its key", () => {
    const shown: string[] = [];
    const see = (name: string): Cleanness => {
      shown.push(name);
      return CLEAN_WITH_ANY_DIGITS;
    };
    const visitor = {
      open: () => {},
      close: () => {},
      attribute: () => see("attribute"),
      body: () => see("body"),
      text: () => see("text"),
    };
    const settings = { unseen: new UnseenFields(plansFor([])) };
    const show = (body: string, attributes: object) => {
      shown.length = 0;
      rewriteFields(logOf(body, attributes as never), visitor, settings);
      return shown.join();
    };
    show("x", {});
    expect(show("finished 12 of 345 in 6 ms", { route: "/v1/pay", "line.2": "a 17" })).toBe("body,attribute,attribute");
    expect(show("finished 98 of 760 in 9 ms", { route: "/v2/pay", "line.2": "b 99" })).toBe("attribute");
    expect(show("finished 98 of 760 in 9 ms", { route: "/v9/pay", "line.3": "a 17" })).toBe("attribute");
    expect(show("finished 9x of 760 in 9 ms", { route: "/vx/pay" })).toBe("body,attribute");
    expect(show("finished 98 of 760 in 9 m?", { route: "/v2/pa0" })).toBe("body,attribute");
    expect(show("finished 98 of 7601 in 9 ms", { route: "/v12/pay" })).toBe("body,attribute");
  });

  it("are forgotten when a batch needs more memory, which very large batches do not get", () => {
    const one = warm();
    for (const size of [10, 3_000_000, 10, 9_000_000, 10]) {
      const batch = logs("x".repeat(size), "mail to anna@example.com");
      expect(hex(one.treat(batch))).toBe(hex(treatment().treat(batch)));
    }
  });
});

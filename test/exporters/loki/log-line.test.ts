import fc from "fast-check";
import { expect, it } from "vitest";
import { type LineParts, logLine } from "../../../src/exporters/loki/log-line.js";
import { runs } from "../../support/runs.js";

const maps = fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(fc.string(), fc.integer(), fc.boolean()), {
  maxKeys: 3,
});
const parts: fc.Arbitrary<LineParts> = fc.record({
  body: fc.oneof(fc.constant(undefined), fc.string(), fc.integer(), maps),
  eventName: fc.oneof(fc.constant(""), fc.string()),
  traceId: fc.constantFrom("", "00ff"),
  spanId: fc.constantFrom("", "0a"),
  severity: fc.oneof(fc.constant(""), fc.string()),
  flags: fc.nat(2),
  attributes: maps,
  resource: maps,
  scope: fc.oneof(fc.constant({}), fc.record({ name: fc.string(), attributes: maps })),
});

it("writes a line of JSON that has each part under its name, and none that is empty", () => {
  const unlessEmpty = (map: object) => (Object.keys(map).length === 0 ? undefined : map);
  fc.assert(
    fc.property(parts, (each) => {
      const whole = JSON.stringify({
        name: each.eventName || undefined,
        body: each.body,
        traceid: each.traceId || undefined,
        spanid: each.spanId || undefined,
        severity: each.severity || undefined,
        flags: each.flags || undefined,
        attributes: unlessEmpty(each.attributes),
        resources: unlessEmpty(each.resource),
        instrumentation_scope: unlessEmpty(each.scope),
      });
      expect([logLine("json", each), logLine("json", each)]).toEqual([whole, whole]);
    }),
    runs(100),
  );
});

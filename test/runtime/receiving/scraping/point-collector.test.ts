import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import {
  batchOfPoints,
  MetricOutput,
  PointCollector,
} from "../../../../src/runtime/receiving/scraping/point-collector.js";
import { counter, gauge, upDown } from "../../../../src/runtime/receiving/scraping/scraped-metric.js";
import { runs } from "../../../support/runs.js";

const NOW = 1_700_000_000_123;
const TABLE = {
  "a.count": counter("{x}", "Counts."),
  "a.level": upDown("By", ""),
  "a.ratio": gauge("1", "é", false),
};
type Name = keyof typeof TABLE;

const label = fc.oneof(
  fc.string({ maxLength: 150 }),
  fc.boolean(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
  fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }),
);
const labels = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), label, { maxKeys: 3 });
const resource = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.oneof(fc.string(), fc.boolean(), fc.maxSafeInteger()),
  { maxKeys: 3 },
);
const points = fc.array(
  fc.record({
    name: fc.constantFrom<Name>("a.count", "a.level", "a.ratio"),
    value: fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, min: -1e18, max: 1e18 })),
    labels,
  }),
  { minLength: 1, maxLength: 8 },
);

function anyValue(value: unknown): object {
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: BigInt(value) } : { doubleValue: value };
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return { arrayValue: { values: (value as string[]).map((stringValue) => ({ stringValue })) } };
}

const keyValues = (map: object) => Object.entries(map).map(([key, value]) => ({ key, value: anyValue(value) }));

it("writes points byte by byte as a tree of them is encoded", () => {
  fc.assert(
    fc.property(points, resource, fc.boolean(), (added, owner, hasOrigin) => {
      const origin = hasOrigin ? { scope: "scope", schemaUrl: "https://schema" } : {};
      const collector = new PointCollector(NOW - 5000, owner, origin);
      const output = new MetricOutput(TABLE, {});
      for (const point of added) output.add(collector, point.name, point.value, point.labels);
      const names = [...new Set(added.map(({ name }) => name))];
      const metrics = names.map((name) => {
        const { unit, description, kind, isInteger } = TABLE[name];
        const dataPoints = added
          .filter((point) => point.name === name)
          .map((point) => ({
            startTimeUnixNano: BigInt(NOW - 5000) * 1_000_000n,
            timeUnixNano: BigInt(NOW) * 1_000_000n,
            ...(isInteger ? { asInt: BigInt(Math.round(point.value)) } : { asDouble: point.value }),
            attributes: keyValues(point.labels),
          }));
        const sum = { dataPoints, aggregationTemporality: 2, isMonotonic: kind === "counter" };
        return { name, unit, description, ...(kind === "gauge" ? { gauge: { dataPoints } } : { sum }) };
      });
      const scope = hasOrigin ? { name: "scope" } : {};
      const tree = {
        resource: { attributes: keyValues(owner) },
        scopeMetrics: [{ scope, metrics }],
        ...(hasOrigin && { schemaUrl: "https://schema" }),
      };
      const expected = encodeTree("metrics", { resourceMetrics: [tree] } as Parameters<typeof encodeTree>[1]);
      const batch = batchOfPoints([collector], NOW);
      expect(batch.count).toBe(added.length);
      expect(Buffer.from(batch.bytes).toString("hex")).toBe(Buffer.from(expected.bytes).toString("hex"));
    }),
    runs(200),
  );
});

it("leaves out a sum of points that no longer fits into one", () => {
  const output = new MetricOutput(TABLE, { "a.count": { attributes: [] } });
  const collector = new PointCollector(NOW);
  output.add(collector, "a.count", 2 ** 62, { part: "1" });
  output.add(collector, "a.count", 2 ** 62, { part: "2" });
  output.add(collector, "a.level", 1, {});
  expect(batchOfPoints([collector], NOW).count).toBe(1);
});

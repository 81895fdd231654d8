import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, SIGNALS, type Value } from "../../../../src/plugin.js";
import { ResourceStamp } from "../../../../src/runtime/otlp/edit/resource-stamp.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { listOf } from "../../../support/telemetry/trees.js";

const KEYS = ["host.name", "service.name", "k", ""];
const stamps = fc.dictionary(
  fc.constantFrom(...KEYS),
  fc.oneof<fc.Arbitrary<Value>[]>(fc.string({ maxLength: 300 }), fc.integer(), fc.constant(["a", "b"])),
  { minKeys: 1, noNullPrototype: true },
);
const ROOTS = { logs: "resourceLogs", traces: "resourceSpans", metrics: "resourceMetrics" } as const;

/** Returns the values of each resource under each key, in order, and the request without resource attributes. */
function taken(batch: Batch) {
  const tree = structuredClone(decodeTree(batch));
  const resources = listOf(tree, ROOTS[batch.signal]).map((container) => {
    const resource = (container["resource"] ?? {}) as Tree;
    const attributes = listOf(resource, "attributes").map(({ key, value }) => [key ?? "", value] as const);
    delete resource["attributes"];
    if (Object.keys(resource).length === 0) delete container["resource"];
    return attributes;
  });
  return { resources, rest: tree };
}

function writtenValue(key: string, value: Value): unknown {
  const stamped = new ResourceStamp(new Map([[key, value]]), "always").apply(
    encodeTree("logs", { resourceLogs: [{}] }),
  );
  return taken(stamped).resources[0]![0]![1];
}

describe("a stamp on resources", () => {
  it.each(SIGNALS)(
    "gives every resource of %s the attributes, changes nothing else, and is the same twice",
    (signal) => {
      fc.assert(
        fc.property(request(signal), stamps, fc.boolean(), (tree, attributes, overrides) => {
          const batch = Batch.admit(signal, referenceEncode(signal, tree));
          const stamp = new ResourceStamp(new Map(Object.entries(attributes)), overrides ? "always" : "where_absent");
          const after = stamp.apply(batch);
          expect(Batch.admit(signal, after.bytes).count).toBe(batch.count);
          expect(after.count).toBe(batch.count);
          const [was, is] = [taken(batch), taken(after)];
          expect(is.rest).toEqual(was.rest);
          expect(is.resources).toHaveLength(was.resources.length);
          was.resources.forEach((old, i) => {
            const now = is.resources[i]!;
            const isStamped = ([key]: readonly [unknown, unknown]) => Object.hasOwn(attributes, key as string);
            expect(now.filter((entry) => !isStamped(entry))).toEqual(old.filter((entry) => !isStamped(entry)));
            for (const [key, value] of Object.entries(attributes)) {
              const before = old.filter(([name]) => name === key);
              const expected = overrides || before.length === 0 ? [[key, writtenValue(key, value)]] : before;
              expect(now.filter(([name]) => name === key)).toEqual(expected);
            }
          });
          expect(stamp.apply(after)).toBe(after);
        }),
        runs(60),
      );
    },
  );

  it("adds a missing resource to a container, and keeps a container without records", () => {
    const batch = encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }, {}] });
    const after = new ResourceStamp(new Map([["host.name", "h"]]), "where_absent").apply(batch);
    const entry = [["host.name", { stringValue: "h" }]];
    expect(taken(after).resources).toEqual([entry, entry]);
    expect(after.count).toBe(1);
  });

  it("passes on as it is what it has nothing for", () => {
    const batch = encodeTree("logs", { resourceLogs: [{}] });
    expect(new ResourceStamp(new Map(), "always").apply(batch)).toBe(batch);
    const empty = Batch.empty("logs");
    expect(new ResourceStamp(new Map([["a", 1]]), "always").apply(empty)).toBe(empty);
  });
});

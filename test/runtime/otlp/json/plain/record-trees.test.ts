import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recordTrees } from "../../../../../src/runtime/otlp/json/plain/record-trees.js";
import { decodeTree, encodeTree } from "../../../../../src/runtime/otlp/json/tree.js";
import { runs } from "../../../../support/runs.js";
import { request } from "../../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, recordsOf } from "../../../../support/telemetry/trees.js";

describe("records that are decoded when they are asked for", () => {
  it.each(["logs", "traces"] as const)("are those of the whole batch of %s, in any order of asking", (signal) => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = encodeTree(signal, tree);
        const expected = recordsOf(signal, decodeTree(batch));
        const found = [...recordTrees(batch)];
        expect(found).toHaveLength(expected.length);
        for (const [i, { record, shared }] of [...found.entries(), ...[...found.entries()].reverse()]) {
          expectSame(record.tree, expected[i]!.record);
          expectSame(shared.container["resource"] ?? {}, expected[i]!.resourceContainer["resource"] ?? {});
          expectSame(shared.scoped["scope"] ?? {}, expected[i]!.scopeContainer["scope"] ?? {});
        }
      }),
      runs(40),
    );
  });

  it("know the schemas of their containers", () => {
    const scopeSpans = [{ schemaUrl: "of the scope", spans: [{ name: "a" }] }];
    const batch = encodeTree("traces", { resourceSpans: [{ schemaUrl: "of the resource", scopeSpans }] });
    const [first] = [...recordTrees(batch)];
    expect(first!.shared.container["schemaUrl"]).toBe("of the resource");
    expect(first!.shared.scoped["schemaUrl"]).toBe("of the scope");
  });
});

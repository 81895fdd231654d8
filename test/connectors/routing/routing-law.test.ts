import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { routing } from "../../../src/connectors/routing/component.js";
import { Batch } from "../../../src/plugin.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { decodeTree, encodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { runs } from "../../support/runs.js";
import { type ConditionTree, decide, type Operand, written } from "../../support/telemetry/ottl-on-trees.js";
import { recordsOf } from "../../support/telemetry/trees.js";
import { through } from "../support.js";

/** The law of routing: every record arrives exactly where a simple implementation of the table sends it, in order. */

const words = fc.constantFrom("a", "b", "c");
const attributesOf = (names: string[]) =>
  fc.array(fc.record({ key: fc.constantFrom(...names), value: words.map((stringValue) => ({ stringValue })) }), {
    maxLength: 2,
  });
const logRecord = fc.record({
  severityNumber: fc.nat({ max: 3 }),
  attributes: attributesOf(["x", "y"]),
}) as fc.Arbitrary<Tree>;
const list = <T>(item: fc.Arbitrary<T>, max: number) => fc.array(item, { maxLength: max });
const request = fc.record({
  resourceLogs: list(
    fc.record({
      resource: fc.record({ attributes: attributesOf(["r"]) }),
      scopeLogs: list(fc.record({ scope: fc.record({ name: words }), logRecords: list(logRecord, 5) }), 3),
    }),
    3,
  ),
}) as unknown as fc.Arbitrary<Tree>;

const comparison = (operand: fc.Arbitrary<Operand>, literal: fc.Arbitrary<string | bigint>) =>
  fc
    .tuple(operand, fc.constantFrom("==", "!="), literal)
    .map(([left, operator, value]): ConditionTree => ({ compare: [left, operator, { literal: value }] }));
const ofResource = comparison(fc.constant({ resource: "r" }), words);
const ofLog = fc.oneof(
  comparison(
    fc.constantFrom("x", "y").map((attribute) => ({ attribute })),
    words,
  ),
  comparison(fc.constant({ field: "severity_number" as const }), fc.bigInt(0n, 3n)),
  ofResource,
);
const PIPELINES = ["logs/1", "logs/2", "logs/3"];
const pipelines = fc.subarray(PIPELINES, { minLength: 1, maxLength: 2 });
const route = fc.record({
  about: fc.oneof(
    ofResource.map((condition) => ({ context: "resource", condition })),
    ofLog.map((condition) => ({ context: "log", condition })),
  ),
  action: fc.constantFrom("move", "copy"),
  pipelines,
});

interface Arrival {
  readonly pipeline: string;
  readonly route: number;
  readonly id: number;
}

/** The simple implementation of the table. */
function expected(tree: Tree, table: readonly Route[], defaults: readonly string[]): Arrival[] {
  const arrivals: Arrival[] = [];
  const records = recordsOf("logs", tree);
  let left = records.map((_, id) => id);
  for (const [at, { about, action, pipelines: names }] of table.entries()) {
    const matched = left.filter((id) => {
      const { record, resourceContainer } = records[id]!;
      return decide(about.condition, record, (resourceContainer["resource"] ?? {}) as Tree);
    });
    for (const pipeline of names) for (const id of matched) arrivals.push({ pipeline, route: at, id });
    if (action === "move") left = left.filter((id) => !matched.includes(id));
  }
  for (const pipeline of defaults) for (const id of left) arrivals.push({ pipeline, route: -1, id });
  return arrivals;
}

type Route = typeof route extends fc.Arbitrary<infer T> ? T : never;

/** Numbers every record, so that it can be followed. */
function numbered(tree: Tree): Tree {
  recordsOf("logs", tree).forEach(({ record }, i) => {
    record["timeUnixNano"] = BigInt(i);
  });
  return tree;
}

function idsOf(batch: Batch): number[] {
  return recordsOf("logs", decodeTree(batch)).map(({ record }) => Number(record["timeUnixNano"] ?? 0n));
}

describe("routing", () => {
  it("sends every record where a simple implementation of the table sends it, and loses none", () => {
    fc.assert(
      fc.property(request, fc.array(route, { minLength: 1, maxLength: 4 }), list(pipelines, 1), (tree, table, most) => {
        const defaults = most[0] ?? [];
        const batch = encodeTree("logs", numbered(tree));
        const config = {
          table: table.map(({ about, action, pipelines: names }) => ({
            context: about.context,
            condition: inContext(about),
            action,
            pipelines: names,
          })),
          default_pipelines: defaults,
        };
        const metrics = countedMetrics();
        const { out, outcomes } = through(routing, config, batch, { targets: PIPELINES, metrics });
        const wanted = expected(tree, table, defaults);
        const arrived = out.flatMap((part) =>
          part.route!.flatMap((pipeline) => idsOf(part.batch).map((id) => ({ pipeline, id }))),
        );
        const text = (list: readonly { pipeline: string; id: number }[]) =>
          list.map(({ pipeline, id }) => `${pipeline} ${id}`).sort();
        expect(text(arrived)).toEqual(text(wanted));
        for (const part of out) {
          expect(Batch.admit("logs", part.batch.bytes).count).toBe(part.batch.count);
          expectInOrder(
            idsOf(part.batch),
            wanted.filter(({ pipeline }) => part.route!.includes(pipeline)),
          );
        }
        const dropped = batch.count - new Set(wanted.map(({ id }) => id)).size;
        expect(metrics.value("sluice_routing_dropped_items")).toBe(dropped);
        expect(outcomes).toEqual(out.length === 0 ? [ACCEPTED] : []);
        for (const part of out) part.accept();
        expect(outcomes).toEqual([ACCEPTED]);
      }),
      runs(100),
    );
  });
});

/** Records of one route keep their order. */
function expectInOrder(ids: readonly number[], wanted: readonly Arrival[]): void {
  for (const at of new Set(wanted.map((arrival) => arrival.route))) {
    const ofRoute = new Set(wanted.filter((arrival) => arrival.route === at).map(({ id }) => id));
    const others = new Set(wanted.filter((arrival) => arrival.route !== at).map(({ id }) => id));
    const own = ids.filter((id) => ofRoute.has(id) && !others.has(id));
    expect(own).toEqual(own.toSorted((a, b) => a - b));
  }
}

/** A resource's own attributes are plain attributes in its context. */
function inContext({ context, condition }: { context: string; condition: ConditionTree }): string {
  const text = written(condition);
  return context === "resource" ? text.replaceAll("resource.attributes", "attributes") : text;
}

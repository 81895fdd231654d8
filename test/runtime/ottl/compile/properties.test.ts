import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { compileCondition, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { dropWhere, transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import { runs } from "../../../support/runs.js";
import { type ConditionTree, decide, type Operand, written } from "../../../support/telemetry/ottl-on-trees.js";
import { anyValue, request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning, recordsOf } from "../../../support/telemetry/trees.js";

const KEYS = ["a", "b", "a.b", "1", "missing"];
const keyName = fc.constantFrom(...KEYS);
const literal = fc.oneof(
  fc.constantFrom<string | bigint | number | boolean | null>(
    null,
    true,
    false,
    "",
    "a",
    "é",
    "日本語",
    0n,
    1n,
    -1n,
    9n,
    1.5,
    2,
  ),
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }).map((n) => Math.round(n * 100) / 100),
  fc.string({ maxLength: 4 }),
);
const operand: fc.Arbitrary<Operand> = fc.oneof(
  literal.map((value) => ({ literal: value })),
  keyName.map((attribute) => ({ attribute })),
  keyName.map((resource) => ({ resource })),
  fc
    .constantFrom("severity_number", "severity_text", "flags", "event_name", "time_unix_nano", "body")
    .map((field) => ({ field }) as Operand),
);
const comparison: fc.Arbitrary<ConditionTree> = fc
  .tuple(operand, fc.constantFrom("==", "!=", "<", "<=", ">", ">="), operand)
  .map((compare) => ({ compare }));
const { condition } = fc.letrec<{ condition: ConditionTree }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small" },
    comparison,
    comparison,
    fc.array(tie("condition"), { minLength: 1, maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie("condition"), { minLength: 1, maxLength: 3 }).map((or) => ({ or })),
    tie("condition").map((not) => ({ not })),
  ),
}));

const simpleValue = fc.oneof(
  anyValue,
  literal.map((value): Tree => {
    if (typeof value === "string") return { stringValue: value };
    if (typeof value === "bigint") return { intValue: value };
    if (typeof value === "boolean") return { boolValue: value };
    return typeof value === "number" ? { doubleValue: value } : {};
  }),
);
const attributes = fc.array(
  keyName.chain((key) => simpleValue.map((value): Tree => ({ key, value }))),
  { maxLength: 4 },
);
const logRecord = fc.record(
  {
    severityNumber: fc.constantFrom(0, 1, 9, 17),
    severityText: fc.constantFrom("", "a", "é"),
    flags: fc.constantFrom(0, 1),
    eventName: fc.constantFrom("a", "b"),
    timeUnixNano: fc.bigInt(0n, 2n ** 64n - 1n),
    body: simpleValue,
    attributes,
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<Tree>;
const scopeLogs = fc.array(
  fc.array(logRecord, { maxLength: 3 }).map((logRecords) => ({ logRecords })),
  { maxLength: 3 },
);
const logs = fc.array(fc.tuple(attributes, scopeLogs), { maxLength: 3 }).map((resources) => ({
  resourceLogs: resources.map(([list, scopes]) => ({ resource: { attributes: list }, scopeLogs: scopes })),
}));
const withoutEmpty = (resourceLogs: Tree[]) =>
  resourceLogs
    .map((resource) => ({
      ...resource,
      scopeLogs: ((resource["scopeLogs"] ?? []) as Tree[]).filter(
        ({ logRecords }) => ((logRecords ?? []) as Tree[]).length > 0,
      ),
    }))
    .filter(({ scopeLogs: left }) => left.length > 0);

describe("conditions on bytes", () => {
  it("agree with a plain evaluation over the decoded tree, and leave no resource or scope without records", () => {
    fc.assert(
      fc.property(logs, condition, (tree, wanted) => {
        const batch = encodeTree("logs", tree as unknown as Tree);
        const all = (decodeTree(batch)["resourceLogs"] ?? []) as Tree[];
        const expected = withoutEmpty(
          all.map((container) => ({
            ...container,
            scopeLogs: ((container["scopeLogs"] ?? []) as Tree[]).map((scope) => ({
              ...scope,
              logRecords: ((scope["logRecords"] ?? []) as Tree[]).filter(
                (record) => !decide(wanted, record, container["resource"] as Tree),
              ),
            })),
          })),
        );
        const kept = dropWhere(batch, [compileCondition(written(wanted), "log")]);
        const left = decodeTree(kept);
        expectSame(left["resourceLogs"] ?? [], expected);
        expect(kept.count).toBe(recordsOf("logs", left).length);
        const scopes = (list: Tree[]) => list.map(({ scopeLogs: inner }) => ((inner ?? []) as Tree[]).length);
        const isWhole = kept.count === batch.count && String(scopes(all)) === String(scopes(expected));
        expect(kept === batch).toBe(isWhole);
      }),
      runs(400),
    );
  });
});

const UNCHANGING = {
  logs: [
    "log",
    [
      "set(severity_text, severity_text)",
      'set(attributes["a"], attributes["a"])',
      'delete_key(attributes, "no such key")',
      "set(attributes, attributes)",
      "set(resource.attributes, resource.attributes)",
      "set(body, body)",
      "set(time, time)",
      "truncate_all(attributes, 1000000)",
      'set(attributes["x"], "y") where false',
    ],
  ],
  traces: [
    "span",
    [
      "set(name, name)",
      "set(attributes, attributes)",
      "set(events, events)",
      "set(status.message, status.message)",
      "set(trace_state, trace_state)",
      "set(start_time_unix_nano, start_time_unix_nano)",
    ],
  ],
  metrics: [
    "datapoint",
    [
      "set(attributes, attributes)",
      "set(metric.name, metric.name)",
      "set(time, time)",
      "set(flags, flags)",
      "set(scope.attributes, scope.attributes)",
    ],
  ],
} as const;

describe.each(Object.entries(UNCHANGING))("statements on %s", (signal, [context, texts]) => {
  const statements = texts.map((text) => compileStatement(text, context));

  it("that change nothing leave the same batch object", () => {
    fc.assert(
      fc.property(request(signal as keyof typeof UNCHANGING), (tree) => {
        const batch = encodeTree(signal as keyof typeof UNCHANGING, tree);
        expect(transformBatch(batch, statements)).toBe(batch);
      }),
      runs(50),
    );
  });

  it("that set one attribute change that attribute alone", () => {
    const set = [compileStatement('set(attributes["sluice.test"], 7)', context)];
    fc.assert(
      fc.property(request(signal as keyof typeof UNCHANGING), (tree) => {
        const batch = encodeTree(signal as keyof typeof UNCHANGING, tree);
        const result = transformBatch(batch, set);
        expect(Batch.admit(result.signal, result.bytes).count).toBe(batch.count);
        const expected = decodeTree(batch);
        for (const { record } of recordsOf(batch.signal, expected)) {
          record["attributes"] = [
            ...((record["attributes"] ?? []) as Tree[]),
            { key: "sluice.test", value: { intValue: 7n } },
          ];
        }
        expectSame(meaning(decodeTree(result), true), meaning(expected, true));
      }),
      runs(50),
    );
  });
});

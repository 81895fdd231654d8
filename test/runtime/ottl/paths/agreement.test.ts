import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { decodeTree, encodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { KEEP, RecordWalk } from "../../../../src/runtime/otlp/views/record-walk.js";
import { compileCondition, compilerFor, compileStatement } from "../../../../src/runtime/ottl/compile/compile.js";
import { transformBatch } from "../../../../src/runtime/ottl/compile/run.js";
import {
  CONTEXT_SHAPES,
  CONTEXT_SIGNALS,
  CONTEXTS,
  type ContextName,
} from "../../../../src/runtime/ottl/paths/context.js";
import { PATHS } from "../../../../src/runtime/ottl/paths/paths.js";
import { RecordContext } from "../../../../src/runtime/ottl/paths/record-context.js";
import { parseValue } from "../../../../src/runtime/ottl/syntax/parser.js";
import { OttlTime, type OttlValue } from "../../../../src/runtime/ottl/values/value.js";
import { runs } from "../../../support/runs.js";
import {
  attributeOwners,
  fieldOf,
  fieldPaths,
  type Kind,
  type PathValue,
  type Thing,
  thingsOf,
} from "../../../support/telemetry/ottl-paths-on-trees.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, meaning } from "../../../support/telemetry/trees.js";
import { type Oddities, rewritten } from "../../../support/telemetry/wire-forms.js";

/** Random batches of every signal of a context, in the usual and in unusual wire forms. */
function batchesFor(context: ContextName): fc.Arbitrary<Batch> {
  const oddities = fc.record<Oddities>({
    unknown: fc.boolean(),
    shuffled: fc.boolean(),
    padded: fc.boolean(),
    repeated: fc.boolean(),
    unpacked: fc.boolean(),
  });
  return fc.constantFrom(...CONTEXT_SIGNALS[context]).chain((signal) =>
    fc.tuple(request(signal), oddities, fc.integer()).map(([tree, odd, seed]) => {
      const { bytes } = encodeTree(signal, tree);
      return Batch.admit(signal, rewritten(signal, bytes, odd, seed));
    }),
  );
}

/** Returns the results of a function of the scene for each item of the context. */
function forEach<T>(batch: Batch, context: ContextName, read: (scene: RecordContext) => T): T[] {
  const scene = new RecordContext(context);
  const found: T[] = [];
  new RecordWalk(batch, CONTEXT_SHAPES[context]).run({
    visit(walk, start, end) {
      scene.begin(walk, start, end);
      found.push(read(scene));
      return KEEP;
    },
  });
  return found;
}

function seen(value: OttlValue): PathValue | OttlValue {
  if (value instanceof OttlTime) return { time: value.nanos };
  return value instanceof Uint8Array ? { id: Buffer.from(value).toString("hex") } : value;
}

const KEYS = ["", "a", "b", "a.b", "__proto__", "1", "sluice"];

/** Paths that are no plain fields; the table cases hold them. */
const OTHERS = [
  /(^|\.)(attributes|filtered_attributes|metadata|cache)$/,
  /^(log\.)?body/,
  /^otelcol\./,
  /(^|\.)(events|links|status|exemplars|data_points|quantile_values|positive|negative)(\.|$)/,
  /(^|\.)kind\./,
  /(^|\.)(value_int|value_double|int_value|double_value|count|sum|scale|zero_count|bucket_counts|explicit_bounds)$/,
  /(^|\.)(type|aggregation_temporality|is_monotonic|event_index)$/,
];

describe.each(CONTEXTS)("in the context %s, for any batch in any wire form", (context) => {
  const fields = fieldPaths(context);
  const owners = attributeOwners(context);

  it("every path that is a plain field is compared", () => {
    const known = new Set(fields.flatMap(({ path }) => [path, path.replace(`${context}.`, "")]));
    const missing = Object.keys(PATHS[context])
      .map((path) => path.replace("instrumentation_scope.", "scope."))
      .filter((path) => !known.has(path) && !OTHERS.some((other) => other.test(path)));
    expect(missing).toEqual([]);
  });

  it("reading fields and attributes from the bytes agrees with the decoded tree", () => {
    const compiler = compilerFor(context);
    const compiled = fields.map((field) => ({ field, get: compiler.value(parseValue(field.path)) }));
    const conditions = owners.flatMap(({ path, of, list }) =>
      KEYS.map((key) => ({
        tests: ["== nil", "!= nil", '== ""', '!= "a"', '== "é"'].map((rest) =>
          compileCondition(`${path}[${JSON.stringify(key)}] ${rest}`, context),
        ),
        expected: (thing: Thing) => {
          const { isNil, text } = attributeOf(of(thing), list, key);
          return [isNil, !isNil, text === "", text !== "a", text === "é"];
        },
      })),
    );
    fc.assert(
      fc.property(batchesFor(context), (batch) => {
        const things = thingsOf(context, decodeTree(batch));
        for (const { field, get } of compiled) {
          const read = forEach(batch, context, (scene) => seen(get(scene)));
          expectSame([field.path, read], [field.path, things.map((thing) => fieldOf(field, thing))]);
        }
        for (const { tests, expected } of conditions) {
          const decided = forEach(batch, context, (scene) => tests.map((test) => test.matches(scene)));
          expectSame([tests[0]!.text, decided], [tests[0]!.text, things.map(expected)]);
        }
      }),
      runs(10),
    );
  });

  it("conditions that need no decoded value agree with those that do", () => {
    const pairs = [
      ...fields
        .filter(({ kind }) => kind === "int")
        .flatMap(({ path }) => [
          [`${path} < 2`, `2 > ${path}`],
          [`${path} == 0`, `0 == ${path}`],
          [`${path} != 1`, `1 != ${path}`],
          [`${path} >= 1.5`, `1.5 <= ${path}`],
        ]),
      ...owners.flatMap(({ path }) =>
        [".*a.*", "^é", "1$", "^$", "\ufffd"].map((pattern) => [
          `IsMatch(${path}["a"], "${pattern}")`,
          `IsMatch(${path}["a"], Concat(["${pattern}"], ""))`,
        ]),
      ),
    ].map((pair) => pair.map((text) => compileCondition(text, context)));
    fc.assert(
      fc.property(batchesFor(context), (batch) => {
        for (const [quick, decoding] of pairs) {
          const decided = forEach(batch, context, (scene) => quick!.matches(scene));
          const expected = forEach(batch, context, (scene) => decoding!.matches(scene));
          expectSame([quick!.text, decided], [quick!.text, expected]);
        }
      }),
      runs(10),
    );
  });

  it("setting a path to what it is leaves the same batch", () => {
    const attributes = owners.flatMap(({ path }) => KEYS.map((key) => `${path}[${JSON.stringify(key)}]`));
    const statements = [...Object.keys(PATHS[context]), ...attributes]
      .filter((path) => !CONVERTING.test(path))
      .map((path) => compileStatement(`set(${path}, ${path})`, context));
    fc.assert(
      fc.property(batchesFor(context), (batch) => {
        for (const statement of statements)
          if (transformBatch(batch, [statement], [], () => undefined) !== batch) throw new Error(statement.text);
      }),
      runs(10),
    );
  });

  it("setting a field or an attribute changes it and nothing else", () => {
    const set = (path: string, value: string) => [compileStatement(`set(${path}, ${value})`, context)];
    const changes = [
      ...fields.map(({ path, kind, at }) => ({
        statements: set(path, NEW[kind][0]),
        change: (thing: Thing) => {
          const { message, name } = at(thing);
          message[name] = NEW[kind][1](message[name]);
        },
      })),
      ...owners.flatMap(({ path, of, list }) =>
        ["a", "sluice"].map((key) => ({
          statements: set(`${path}["${key}"]`, "-7"),
          change: (thing: Thing) => setAttribute(of(thing), list, key, { intValue: -7n }),
        })),
      ),
      ...owners.map(({ path, of, list }) => ({
        statements: [compileStatement(`delete_key(${path}, "a")`, context)],
        change: (thing: Thing) => setAttribute(of(thing), list, "a", undefined),
      })),
    ];
    fc.assert(
      fc.property(batchesFor(context), fc.constantFrom(...changes), (batch, { statements, change }) => {
        const expected = decodeTree(batch);
        for (const thing of thingsOf(context, expected)) change(thing);
        const result = transformBatch(batch, statements);
        expect(Batch.admit(result.signal, result.bytes).count).toBe(batch.count);
        expectSame(settled(decodeTree(result)), settled(expected));
      }),
      runs(40),
    );
  });
});

/** Reading these converts, or they cannot be set. */
const CONVERTING = /(^|\.)(cache|body\.string|value_int|value_double|int_value|double_value|event_index|trace_state)$/;

/** The value to set, as text and as tree. */
const NEW: Readonly<Record<Kind, readonly [text: string, tree: (old: Tree[string] | undefined) => Tree[string]]>> = {
  text: ['"new ü"', () => "new ü"],
  int: ["77", () => 77],
  uint: ["77", () => 77n],
  double: ["1.5", () => 1.5],
  bool: ["true", () => true],
  time: ["Unix(1, 5)", () => 1_000_000_005n],
  id8: [`SpanID(0x${"ab".repeat(8)})`, () => new Uint8Array(8).fill(0xab)],
  id16: [`TraceID(0x${"ab".repeat(16)})`, () => new Uint8Array(16).fill(0xab)],
  hex8: [`"${"cd".repeat(8)}"`, () => new Uint8Array(8).fill(0xcd)],
  hex16: [`"${"cd".repeat(16)}"`, () => new Uint8Array(16).fill(0xcd)],
};

function attributeOf(message: Tree, list: string, key: string): { isNil: boolean; text: string | undefined } {
  const found = ((message[list] ?? []) as Tree[]).find((attribute) => (attribute["key"] ?? "") === key);
  const [kind, value] = Object.entries((found?.["value"] ?? {}) as Tree)[0] ?? [];
  const emptyBytes = kind === "bytesValue" && (value as Uint8Array).length === 0;
  return { isNil: kind === undefined || emptyBytes, text: kind === "stringValue" ? (value as string) : undefined };
}

/** The first attribute of the key takes the value, the others of it go; a new one goes to the end. */
function setAttribute(message: Tree, list: string, key: string, value: Tree | undefined): void {
  const all = (message[list] ?? []) as Tree[];
  const first = all.findIndex((attribute) => (attribute["key"] ?? "") === key);
  if (first < 0 && value === undefined) return;
  const isPlain = all.filter((attribute) => (attribute["key"] ?? "") === key);
  if (value !== undefined && isPlain.length > 0 && sameInt(isPlain[0]!, value)) return;
  const rest = all.filter((attribute) => (attribute["key"] ?? "") !== key);
  message[list] = value === undefined ? rest : [...rest, { key, value }];
}

function sameInt(attribute: Tree, value: Tree): boolean {
  return (attribute["value"] as Tree | undefined)?.["intValue"] === value["intValue"];
}

/** One form of a tree, in which a message that holds nothing is as one that is not there. */
function settled(tree: Tree): Tree {
  const plain = meaning(tree, true);
  for (const container of Object.values(plain).flat() as Tree[]) {
    for (const owner of [container, ...(Object.values(container).flat() as Tree[])]) {
      if (typeof owner !== "object") continue;
      for (const name of ["resource", "scope"])
        if (owner[name] !== undefined && Object.keys(owner[name] as Tree).length === 0) delete owner[name];
    }
  }
  return plain;
}

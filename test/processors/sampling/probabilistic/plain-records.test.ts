import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, decodeTree, encodeTree, readRecords, type Tree } from "../../../../src/plugin.js";
import {
  ThresholdSampler,
  type ThresholdSamplerSettings,
} from "../../../../src/processors/sampling/probabilistic/threshold-sampler.js";
import { anyCharacter } from "../../../support/any-character.js";
import { runs } from "../../../support/runs.js";
import { type Oddities, rewritten, unknownFields } from "../../../support/telemetry/wire-forms.js";
import { consistentThreshold, hashed, LISTS, naively, type SampledSignal } from "./naive-sampler.js";

const SOURCE = "request.id";
const PRIORITY = "priority";

/** Keys that samplers look for, and similar ones. */
const SIGNS = ["sampling.threshold", "sampling.randomness", "sampling.priority", PRIORITY];
const PLAIN_KEYS = [
  ...[
    SOURCE,
    SOURCE,
    SOURCE,
    "request.ie",
    "sequest.id",
    "sampling.thresholD",
    "Sampling.randomness",
    "prioritx",
    "sampling.priorit.",
  ],
  ...["", "a", "http.method", "k".repeat(127), "k".repeat(128), "k".repeat(300)],
];
const text = fc.oneof(
  fc.constantFrom("", "a", "08", "8000", "ffffffffffffff", "x".repeat(125), "x".repeat(126), "y".repeat(200)),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);
const otherValue = fc.oneof(
  fc.constant({}),
  fc.integer().map((value) => ({ intValue: BigInt(value) })),
  fc.double().map((doubleValue) => ({ doubleValue })),
  fc.boolean().map((boolValue) => ({ boolValue })),
  fc.uint8Array({ maxLength: 20 }).map((bytesValue) => ({ bytesValue })),
  text.map((value) => ({ arrayValue: { values: [{ stringValue: value }] } })),
);
const textValue = text.map((stringValue) => ({ stringValue }));
const attribute = (keys: readonly string[], value: fc.Arbitrary<object>) =>
  fc.record({ key: fc.constantFrom(...keys), value }, { requiredKeys: [] });

/** Lengths around those that need one more byte. */
const filler = fc
  .oneof(
    { weight: 9, arbitrary: fc.nat({ max: 140 }) },
    { weight: 1, arbitrary: fc.integer({ min: 16_200, max: 16_400 }) },
  )
  .map((length) => "f".repeat(length));
const traceId = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ minLength: 16, maxLength: 16 }) },
  fc.constantFrom(new Uint8Array(16), new Uint8Array(0)),
);

/** Tracestate members of other vendors, in usual and unusual forms, and of samplers. */
const member = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.stringMatching(/^[a-z][a-z0-9_\-*/]{0,6}$/), fc.stringMatching(/^[!-+\--<>-~]{1,9}$/)),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(
      fc.constantFrom("ot", "o", "otx", "to", "", "1", "A", "t@s", "k".repeat(256), "k".repeat(257)),
      fc.constantFrom(
        "",
        " v",
        "v ",
        "a=b",
        "th:8",
        "rv:abcdefabcdefab;th:8",
        "th:x",
        "\u00e9",
        "v".repeat(256),
        "v".repeat(257),
      ),
    ),
  },
);
const state = fc
  .oneof(
    { weight: 5, arbitrary: fc.array(member, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(member, { minLength: 29, maxLength: 34 }) },
  )
  .chain((members) =>
    fc
      .tuple(fc.constantFrom(",", ",", ",", ", ", ",,"), fc.constantFrom("", "", "", ",", " "))
      .map(([between, last]) => members.map(([key, value]) => `${key}=${value}`).join(between) + last),
  );

/** Inputs of a law: any records, or only those without a sign of an earlier sampler. */
interface Kind {
  readonly keys: readonly string[];
  readonly value: fc.Arbitrary<object>;
  readonly states: fc.Arbitrary<object>;
}

const noState = fc.constant({});
const ANY: Kind = {
  keys: [...PLAIN_KEYS, ...SIGNS],
  value: fc.oneof(textValue, otherValue),
  states: fc.oneof(
    { weight: 1, arbitrary: noState },
    {
      weight: 1,
      arbitrary: state.map((traceState) => ({ traceState })),
    },
  ),
};
const PLAIN: Kind = { keys: PLAIN_KEYS, value: textValue, states: noState };

function recordOf(signal: SampledSignal, { keys, value, states }: Kind): fc.Arbitrary<Tree> {
  const attributes = fc.array(attribute(keys, value), { maxLength: 4 });
  const flags = fc.constantFrom(1, 300);
  const fields =
    signal === "logs"
      ? fc.record({ traceId, attributes, flags, severityText: filler }, { requiredKeys: [] })
      : fc
          .tuple(fc.record({ traceId, attributes, flags, name: filler }, { requiredKeys: [] }), states)
          .map(([span, state]) => ({ ...span, ...state }));
  return fields as fc.Arbitrary<object> as fc.Arbitrary<Tree>;
}

function requestOf(signal: SampledSignal, kind: Kind): fc.Arbitrary<Tree> {
  const [outer, inner, list] = LISTS[signal];
  const some = (item: fc.Arbitrary<Tree>, maxLength: number) => fc.array(item, { maxLength });
  const scope = fc.record(
    { scope: filler.map((name) => ({ name })), [list]: some(recordOf(signal, kind), 6), schemaUrl: filler },
    { requiredKeys: [] },
  );
  const container = fc.record(
    { [inner]: some(scope as fc.Arbitrary<Tree>, 3), schemaUrl: filler },
    { requiredKeys: [] },
  );
  return fc.record({ [outer]: some(container as fc.Arbitrary<Tree>, 3) }) as fc.Arbitrary<Tree>;
}

const settings: fc.Arbitrary<ThresholdSamplerSettings> = fc.record({
  percentage: fc.constantFrom(0, 0.001, 12.5, 50, 75, 100, 130),
  seed: fc.constantFrom(0, 22, 0xffffffff),
  mode: fc.constantFrom("hash_seed", "proportional", "equalizing"),
  precision: fc.constantFrom(1, 4, 14),
  failClosed: fc.boolean(),
  fromTraceId: fc.boolean(),
  fromAttribute: fc.constantFrom(
    "",
    SOURCE,
    SOURCE,
    SOURCE,
    "a",
    "k".repeat(127),
    "k".repeat(128),
    "sampling.threshold",
  ),
  priorityAttribute: fc.constantFrom("", PRIORITY, SOURCE),
});

const HASHING: ThresholdSamplerSettings = {
  ...{ percentage: 100, seed: 0, mode: "hash_seed", precision: 4, failClosed: true },
  ...{ fromTraceId: true, fromAttribute: "", priorityAttribute: "" },
};

const signals = fc.constantFrom<SampledSignal>("logs", "traces");
const oddities: fc.Arbitrary<Oddities> = fc.record({
  unknown: fc.boolean(),
  shuffled: fc.boolean(),
  padded: fc.boolean(),
});

/** Runs a sampler over batches one after the other, and returns its output and counts. */
function sampler(signal: SampledSignal, own: ThresholdSamplerSettings) {
  let told: Record<string, number> = {};
  const one = new ThresholdSampler(signal, own, (policy, sampled, count) => {
    told[`${policy} ${sampled}`] = (told[`${policy} ${sampled}`] ?? 0) + count;
  });
  return (batch: Batch) => {
    told = {};
    const kept = one.sample(batch);
    return { batch: kept, told };
  };
}

/** A sampler that has had a first batch, and decides about plain records in WebAssembly since. */
function warmSampler(signal: SampledSignal, own: ThresholdSamplerSettings) {
  const sample = sampler(signal, own);
  sample(Batch.empty(signal));
  return sample;
}

const hex = ({ bytes }: Batch) => Buffer.from(bytes).toString("hex");
const inPieces = (signal: SampledSignal, bytes: Uint8Array, cut: number) =>
  Batch.admitPieces(signal, [bytes.subarray(0, cut % (bytes.length + 1)), bytes.subarray(cut % (bytes.length + 1))]);

describe("plain records", () => {
  it("get the same decisions as without WebAssembly, whatever surrounds them and however it is encoded", () => {
    const cases = signals.chain((signal) =>
      fc.tuple(fc.constant(signal), fc.array(requestOf(signal, ANY), { minLength: 1, maxLength: 4 })),
    );
    fc.assert(
      fc.property(cases, settings, oddities, fc.nat(), fc.nat(), ([signal, trees], own, odd, seed, cut) => {
        const sample = warmSampler(signal, own);
        for (const tree of trees) {
          const bytes = rewritten(signal, encodeTree(signal, tree).bytes, odd, seed);
          const batch = inPieces(signal, bytes, cut);
          const expected = sampler(signal, own)(batch);
          const actual = sample(batch);
          expect(actual.told).toEqual(expected.told);
          expect(actual.batch.count).toBe(expected.batch.count);
          expect(actual.batch === batch).toBe(expected.batch === batch);
          expect(Batch.admit(signal, actual.batch.bytes).count).toBe(expected.batch.count);
          // The output has no tags that are longer than necessary.
          if (!odd.padded) expect(hex(actual.batch)).toBe(hex(expected.batch));
          expect(decodeTree(actual.batch)).toEqual(decodeTree(expected.batch));
          expect(unknownFields(signal, actual.batch.bytes)).toEqual(unknownFields(signal, expected.batch.bytes));
        }
      }),
      runs(60),
    );
  });

  it("are also decided in batches that need more memory than before, or than is allowed", () => {
    const own = { ...HASHING, percentage: 50 };
    const sample = warmSampler("traces", own);
    for (const [count, length] of [
      [3, 10],
      [200, 7000],
      [3, 10],
      [400, 15_000],
      [300, 200],
    ] as const) {
      const spans = Array.from({ length: count }, (_, i) => ({
        traceId: Buffer.from(String(i).padStart(16, "0")),
        name: "n".repeat(length),
      }));
      const batch = encodeTree("traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
      expect(hex(sample(batch).batch)).toBe(hex(sampler("traces", own)(batch).batch));
    }
  });

  it("get the Collector's decisions, computed with 56-bit numbers", () => {
    const cases = signals.chain((signal) => fc.tuple(fc.constant(signal), requestOf(signal, PLAIN)));
    fc.assert(
      fc.property(cases, settings, ([signal, tree], any) => {
        const own = { ...any, priorityAttribute: "", fromAttribute: any.fromAttribute === "" ? "" : SOURCE };
        const batch = encodeTree(signal, tree);
        const expected = naively(signal, own, decodeTree(batch));
        for (const sample of [sampler(signal, own), warmSampler(signal, own)]) {
          const { batch: kept, told } = sample(batch);
          expect(told).toEqual(expected.told);
          expect(decodeTree(kept)).toEqual(expected.tree);
        }
      }),
      runs(60),
    );
  });
  it.each([99.9999, 62.5, 33.3, 1, 0.001])("are kept from the threshold on: %s %%", (percentage) => {
    const own: ThresholdSamplerSettings = { ...HASHING, mode: "equalizing", percentage, precision: 14 };
    const threshold = consistentThreshold(own);
    const spans = [-1n, 0n, 1n].map((more) => ({
      traceId: Buffer.from(`01${(threshold + more).toString(16).padStart(30, "0")}`, "hex"),
      name: String(more),
    }));
    const batch = encodeTree("traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
    for (const sample of [sampler("traces", own), warmSampler("traces", own)])
      expect(sample(batch).told).toEqual({ "trace_id_w3c false": 1, "trace_id_w3c true": 2 });
  });

  it.each(["hash_seed", "proportional"] as const)(
    "keep the tracestate of other vendors, as the JavaScript parser reads it: %s",
    (mode) => {
      const members = (count: number) => Array.from({ length: count }, (_, i) => `m${i}=v`).join(",");
      const long = (length: number) =>
        `a=${"v".repeat(200)},b=${"v".repeat(200)},c=${"v".repeat(200)},d=${"v".repeat(200)},e=`.padEnd(length, "v");
      const states = [
        ...[
          "a=b",
          "a=b,c=d",
          "a=b,a=c",
          "o=1",
          "ot=th:8",
          "ot=x:y",
          "otx=1",
          "to=1",
          "x=1,ot=th:0",
          "ot=th:8,x=1",
          "ot",
        ],
        ...["a=b,", ",a=b", "a=b,,c=d", " a=b", "a=b ", "a= b", "a=b c", "a=b, c=d", "a=b=c", "a=", "=b", "a", ","],
        ...[
          "a@b=c",
          "1a=b",
          "1a@b=c",
          "_=b",
          "A=b",
          "a=\u00e9",
          "\u00e9=a",
          "a=\u007f",
          "a=~!+-<>",
          "a_-*/9=b",
          "a=b\u0000",
        ],
        ...[members(31), members(32), members(33), long(1024), long(1025)],
        ...[256, 257].flatMap((length) => [`${"k".repeat(length)}=v`, `k=${"v".repeat(length)}`]),
        ...[`a=${"v".repeat(70)}`, `a=${"v".repeat(90)}`, `a=${"v".repeat(125)}`, `a=${"v".repeat(126)}`],
      ];
      const own: ThresholdSamplerSettings = { ...HASHING, mode, percentage: 75 };
      const spans = states.flatMap((traceState, i) =>
        [`${i}`.padStart(16, "0"), `${i}`.padEnd(16, "z"), ""].map((id) => ({
          ...{ traceId: Buffer.from(id), traceState, name: "n", flags: 257 },
        })),
      );
      for (const failClosed of [true, false]) {
        const batch = encodeTree("traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
        const expected = sampler("traces", { ...own, failClosed })(batch);
        const actual = warmSampler("traces", { ...own, failClosed })(batch);
        expect(actual.told).toEqual(expected.told);
        expect(decodeTree(actual.batch)).toEqual(decodeTree(expected.batch));
        expect(hex(actual.batch)).toBe(hex(expected.batch));
      }
    },
  );

  it("are decided by the first attribute if a key occurs twice", () => {
    const own = { ...HASHING, fromAttribute: SOURCE };
    const pairs = (...texts: string[]) => texts.map((stringValue) => ({ key: SOURCE, value: { stringValue } }));
    const batchOf = (attributes: Tree[]) =>
      encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }] });
    for (const make of [sampler, warmSampler]) {
      const twice = make("logs", own)(batchOf(pairs("one", "two")));
      expect(randomnessIn(twice.batch)).toBe(hashed(0, Buffer.from("one")).toString(16).padStart(14, "0"));
    }
  });

  it("have no text to decide by when the attribute has no value, whatever comes next", () => {
    const own = { ...HASHING, fromAttribute: SOURCE };
    const logRecords = [{ attributes: [{ key: SOURCE }] }];
    const batch = encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords }, { scope: { name: "next" } }] }] });
    for (const sample of [sampler("logs", own), warmSampler("logs", own)])
      expect(sample(batch).told).toEqual({ "missing_randomness false": 1 });
  });
});

function randomnessIn(batch: Batch): unknown {
  let found: unknown;
  readRecords(batch, (record) => {
    found = record.attributes.get("sampling.randomness");
  });
  return found;
}

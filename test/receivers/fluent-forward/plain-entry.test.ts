import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeTree } from "../../../src/plugin.js";
import { readEvent } from "../../../src/receivers/fluent-forward/forward-event.js";
import { LogBatchWriter } from "../../../src/runtime/logs/entries/log-batch-writer.js";
import { encodeAttributes } from "../../../src/runtime/logs/entries/log-value.js";
import { anyCharacter } from "../../support/any-character.js";
import { runs } from "../../support/runs.js";
import { recordsOf } from "../../support/telemetry/trees.js";
import { EventTime, type Packable, pack } from "./pack.js";

const NOTHING = encodeAttributes({});

/** The records of these events, their attributes by key. */
async function recordsIn(...events: Buffer[]) {
  const writer = new LogBatchWriter(NOTHING, NOTHING, 1024);
  for (const event of events) await readEvent(event, () => true, writer);
  const batch = writer.finish();
  const records = recordsOf("logs", decodeTree(batch)).map(({ record }) => {
    const { attributes = [], ...rest } = record as { attributes?: { key: string; value: unknown }[] };
    expect(new Set(attributes.map(({ key }) => key)).size).toBe(attributes.length);
    return { ...rest, attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value])) };
  });
  expect(records).toHaveLength(batch.count);
  return records;
}

const scalar = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => Buffer.from(text).toString()),
  fc.constantFrom("", "a".repeat(31), "b".repeat(32), "ü".repeat(200), "c".repeat(300), "d".repeat(70_000)),
  fc.integer(),
  fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n),
  fc.double({ noNaN: true, noInteger: true }),
  fc.constantFrom(null, true, false, 0, -1, -32, -33, 127, 128, 255, 65_536),
  fc.uint8Array({ maxLength: 10 }),
);
const value: fc.Arbitrary<Packable> = fc.oneof(
  { weight: 9, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 3 }), scalar, { maxKeys: 2 }) },
);
const key = fc.oneof(fc.constantFrom("log", "message", "fluent.tag", "stream", "__proto__", "é", ""), fc.string());
const record = fc.uniqueArray(fc.tuple(key, value), { maxLength: 18, selector: ([name]) => name });
const time = fc.tuple(fc.nat(4_000_000_000), fc.nat(999_999_999)).map(([s, n]) => new EventTime(s, n));

/** Integers in as few bytes as clients write them. */
function packShort(given: Packable): Buffer {
  if (typeof given !== "number" || !Number.isInteger(given) || (given >= -32 && given < 128)) return pack(given);
  const [type, size] =
    given < 0 ? [0xd2, 4] : given < 256 ? [0xcc, 1] : given < 65_536 ? [0xcd, 2] : ([0xce, 4] as const);
  const bytes = Buffer.alloc(1 + size, type);
  if (given < 0) bytes.writeIntBE(given, 1, size);
  else bytes.writeUIntBE(given, 1, size);
  return bytes;
}

/** A map whose keys may come more than once. */
function packMap(entries: readonly (readonly [string, Packable])[]): Buffer {
  const head = entries.length < 16 ? Buffer.of(0x80 | entries.length) : Buffer.of(0xde, 0, entries.length);
  return Buffer.concat([head, ...entries.flatMap(([name, each]) => [pack(name), packShort(each)])]);
}

const packed = (entries: readonly Buffer[]) =>
  Buffer.concat([Buffer.of(0x92), pack("app"), pack(Buffer.concat(entries))]);

describe("entries of fluent_forward that are read where they lie", () => {
  it("become what they become value by value", async () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(time, record), { minLength: 1, maxLength: 5 }), async (entries) => {
        const times = entries.map(([at]) => pack(at));
        const maps = entries.map(([, fields]) => packMap(fields));
        // One record an event is read value by value.
        const single = maps.map((map, i) => Buffer.concat([Buffer.of(0x93), pack("app"), times[i]!, map]));
        const together = packed(maps.map((map, i) => Buffer.concat([Buffer.of(0x92), times[i]!, map])));
        const withMetadata = packed(
          maps.map((map, i) => Buffer.concat([Buffer.of(0x92, 0x92), times[i]!, Buffer.of(0x80), map])),
        );
        const expected = await recordsIn(...single);
        expect(await recordsIn(together)).toEqual(expected);
        expect(await recordsIn(withMetadata)).toEqual(expected);
      }),
      runs(60),
    ));

  it("have the last value of a key that comes twice, and the tag of their event", async () => {
    const map = packMap([
      ["a", 1],
      ["fluent.tag", "another"],
      ["a", "2"],
    ]);
    const [found] = await recordsIn(packed([Buffer.concat([Buffer.of(0x92), pack(new EventTime(1, 2)), map])]));
    expect(found!.attributes).toEqual({ a: { stringValue: "2" }, "fluent.tag": { stringValue: "app" } });
  });

  it("are all left out when one of them is cut off, and those of the event before stay", async () => {
    const entry = Buffer.concat([
      Buffer.of(0x92),
      pack(new EventTime(1, 2)),
      packMap([
        ["log", "x".repeat(40)],
        ["n", 70_000],
        ["d", 1.5],
        ["b", true],
      ]),
    ]);
    for (let cut = 1; cut < entry.length; cut++) {
      const writer = new LogBatchWriter(NOTHING, NOTHING, 1024);
      await readEvent(packed([entry]), () => true, writer);
      const broken = packed([entry, entry.subarray(0, cut)]);
      await expect(
        readEvent(broken, () => true, writer),
        `${cut}`,
      ).rejects.toMatchObject({ name: "MessagePackError" });
      expect(writer.count).toBe(1);
      const batch = writer.finish();
      expect(recordsOf("logs", decodeTree(batch))).toHaveLength(1);
    }
  });
});

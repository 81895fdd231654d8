import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bodyEnd,
  eachBody,
  fieldAt,
  fieldTag,
  findField,
  lengthAt,
  message,
  nextBody,
  stepOver,
  valueAt,
} from "../../../../src/runtime/otlp/bytes/wire.js";
import { WireWriter } from "../../../../src/runtime/otlp/bytes/writer.js";

/** A field as it was written: its tag, and where its parts lie. */
interface Written {
  readonly tag: number;
  readonly at: number;
  readonly valueAt: number;
  /** Behind the length, for one that has a length. */
  readonly body: number;
  readonly end: number;
}

const number = fc.oneof(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 16, max: 200_000 }));
const field = fc.oneof(
  fc.record({ number, varint: fc.integer({ min: 0, max: 0x7fffffff }) }),
  fc.record({ number, fixed: fc.constantFrom(4, 8) }),
  fc.record({ number, size: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 120, max: 140 })) }),
);
type FieldPlan = typeof field extends fc.Arbitrary<infer T> ? T : never;

function write(plans: readonly FieldPlan[]): { bytes: Uint8Array; fields: Written[]; start: number; end: number } {
  const out = new WireWriter();
  out.byte(255); // no field: a message seldom begins where the bytes do
  const fields = plans.map((plan) => writeField(out, plan));
  const end = out.length;
  out.byte(255);
  return { bytes: out.written(), fields, start: 1, end };
}

function writeField(out: WireWriter, plan: FieldPlan): Written {
  const type = "varint" in plan ? 0 : "size" in plan ? 2 : plan.fixed === 4 ? 5 : 1;
  const at = out.length;
  const tag = plan.number * 8 + type;
  out.varint(tag);
  const valueStart = out.length;
  if ("varint" in plan) out.varint(plan.varint);
  if ("size" in plan) out.varint(plan.size);
  const body = "size" in plan ? out.length : valueStart;
  const size = "size" in plan ? plan.size : "fixed" in plan ? plan.fixed : 0;
  for (let i = 0; i < size; i++) out.byte(8); // would be taken for a tag by a reader that loses its place
  return { tag, at, valueAt: valueStart, body, end: out.length };
}

describe("the fields of a message", () => {
  it("are found one by one, with anything between them", () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 12 }), (plans) => {
        const { bytes, fields, start, end } = write(plans);
        const found: Written[] = [];
        for (let p = start; p < end; ) {
          const at = p;
          p = stepOver(bytes, p);
          found.push({ tag: fieldTag, at, valueAt, body: fields[found.length]!.body, end: p });
        }
        expect(found).toEqual(fields);
        for (const { tag } of fields) {
          const first = fields.find((other) => other.tag === tag)!;
          expect(findField(bytes, start, end, tag)).toBe(first.valueAt);
        }
        expect(findField(bytes, start, end, 3_000_000)).toBe(-1);
      }),
    );
  });

  it("with one tag are found with their tags, lengths and bodies", () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 12 }), (plans) => {
        const { bytes, fields, start, end } = write(plans);
        for (const wanted of new Set(fields.filter(({ tag }) => (tag & 7) === 2).map(({ tag }) => tag))) {
          const expected = fields.filter(({ tag }) => tag === wanted);
          const found: Written[] = [];
          for (let p = start; (p = nextBody(bytes, p, end, wanted)) >= 0; p = bodyEnd)
            found.push({ tag: wanted, at: fieldAt, valueAt: lengthAt, body: p, end: bodyEnd });
          expect(found).toEqual(expected);
          const visited: number[][] = [];
          eachBody(bytes, start, end, wanted, (...ranges) => visited.push(ranges));
          expect(visited).toEqual(expected.map(({ body, end: bodyStop, at }) => [body, bodyStop, at]));
          expect(message(bytes, start, end, wanted)).toEqual([expected[0]!.body, expected[0]!.end]);
        }
        expect(nextBody(bytes, start, end, 3_000_002)).toBe(-1);
        expect(message(bytes, start, end, 3_000_002)).toEqual([start, start]);
      }),
    );
  });
});

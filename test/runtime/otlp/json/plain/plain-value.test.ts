import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeMessage } from "../../../../../src/runtime/otlp/bytes/encode.js";
import { MESSAGES } from "../../../../../src/runtime/otlp/bytes/messages.js";
import { RESOURCE_ATTRIBUTES_TAG } from "../../../../../src/runtime/otlp/bytes/tags.generated.js";
import { WireWriter } from "../../../../../src/runtime/otlp/bytes/writer.js";
import {
  anyValue,
  jsonText,
  type KeyValueTree,
  keyValues,
  plainAttributes,
  plainObject,
  plainValue,
} from "../../../../../src/runtime/otlp/json/plain/plain-value.js";
import { runs } from "../../../../support/runs.js";

const bytes = fc.uint8Array({ maxLength: 8 });
const { value: values } = fc.letrec<{ value: unknown; map: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.double(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    bytes,
    fc.array(tie("value"), { maxLength: 4 }),
    tie("map"),
  ),
  map: fc.dictionary(fc.oneof(fc.string({ maxLength: 4 }), fc.constant("__proto__")), tie("value"), { maxKeys: 4 }),
}));

/** JSON with a call for every value, whatever it is. */
function slowly(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "bigint" || (typeof each === "number" && !Number.isFinite(each))) return String(each);
    return each instanceof Uint8Array ? Buffer.from(each).toString("base64") : each;
  });
}

it("writes values as JSON, and as text what JSON has no form for, wherever it is", () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(jsonText(value)).toBe(slowly(value));
    }),
    runs(200),
  );
});

it("gives the values of OTLP back as they were, under any name", () => {
  const plain = (value: unknown): unknown => {
    if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    if (value === 0) return 0; // OTLP's integers have one zero
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    if (Array.isArray(value)) return value.map(plain);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
  };
  fc.assert(
    fc.property(values, (value) => {
      expect(plainValue(anyValue(value))).toEqual(plain(value));
    }),
    runs(200),
  );
  const own = plainObject(keyValues(JSON.parse('{ "__proto__": { "a": 1 }, "b": 2 }') as Record<string, unknown>));
  expect(JSON.stringify(own)).toBe('{"__proto__":{"a":1},"b":2}');
  expect(Object.getPrototypeOf(own)).toBe(Object.prototype);
});

it("reads the attributes in bytes as those of a tree, repeated, without keys or with several values", () => {
  const both = fc.tuple(values, values).map(([one, other]) => ({ ...anyValue(one), ...anyValue(other) }));
  const member = fc.record(
    {
      key: fc.constantFrom("a", "b", "__proto__", "é", "x".repeat(300)),
      value: fc.oneof(
        values.map((v) => anyValue(v)),
        both,
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), (attributes) => {
      const writer = new WireWriter();
      encodeMessage(MESSAGES["Resource"]!, { attributes }, writer);
      const read = plainAttributes(writer.bytes, 0, writer.length, RESOURCE_ATTRIBUTES_TAG);
      expect(Object.entries(read)).toEqual(Object.entries(plainObject(attributes as KeyValueTree[])));
    }),
    runs(300),
  );
});

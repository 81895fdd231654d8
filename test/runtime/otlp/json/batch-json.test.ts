import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { batchFromJson, batchToJson } from "../../../../src/runtime/otlp/json/batch-json.js";
import { decodeTree, encodeTree, type Tree, type TreeValue } from "../../../../src/runtime/otlp/json/tree.js";
import { isMalformed } from "../../../../src/runtime/otlp/signals/malformed.js";
import { SIGNALS } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode, referenceJson } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { expectSame, expectSameBytes, meaning } from "../../../support/telemetry/trees.js";
import { Dice, rewritten } from "../../../support/telemetry/wire-forms.js";

/** A field of a message. */
const field = (number: number, ...content: (Buffer | number[])[]) => {
  const bytes = Buffer.concat(content.map((each) => Buffer.from(each)));
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes]);
};

it("has no list of numbers where the bytes have an empty one, also in front of another", () => {
  const one = [1, 0, 0, 0, 0, 0, 0, 0];
  const point = field(1, field(6), field(6, one), field(7));
  const request = field(1, field(2, field(2, field(9, point))));
  const json = batchToJson(Batch.admit("metrics", request));
  expect(json).toContain('{"dataPoints":[{"bucketCounts":["1"]}]}');
  expect(batchToJson(batchFromJson("metrics", json))).toBe(json);
});

it.each(['"', ""])("refuses an endless row of digits as malformed, with %s around it", (quote) => {
  const digits = quote + "9".repeat(4_000_000) + quote;
  for (const name of ["timeUnixNano", "severityNumber", "unknownName"]) {
    const json = Buffer.from(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"${name}":${digits}}]}]}]}`);
    if (name === "unknownName") expect(batchFromJson("logs", json).count).toBe(1);
    else expect(malformedFrom(() => batchFromJson("logs", json))).toBe(true);
  }
});

function malformedFrom(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    return isMalformed(error);
  }
}

describe.each(SIGNALS)("OTLP/JSON of %s", (signal) => {
  it("comes back as the same bytes", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const json = batchToJson(batch);
        expect(json).not.toContain("\n");
        expectSameBytes(batchFromJson(signal, json).bytes, batch.bytes);
        expectSameBytes(batchFromJson(signal, Buffer.from(json)).bytes, batch.bytes);
      }),
      runs(20),
    );
  });

  it("leaves unknown fields out and says the same of the rest", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const odd = { unknown: true, shuffled: true, padded: true, unpacked: true };
        const batch = Batch.admit(signal, rewritten(signal, referenceEncode(signal, tree), odd, seed));
        expectSame(meaning(decodeTree(batchFromJson(signal, batchToJson(batch)))), meaning(tree));
      }),
      runs(20),
    );
  });

  it("is what the reference writes, where its JSON is OTLP's", () => {
    fc.assert(
      fc.property(request(signal), (tree) => {
        const bytes = referenceEncode(signal, tree);
        const ours = JSON.parse(batchToJson(Batch.admit(signal, bytes)), withMinusZero) as Tree;
        const theirs = JSON.parse(JSON.stringify(referenceJson(signal, bytes), asOtlp)) as Tree;
        expectSame(meaning(ours), meaning(theirs));
      }),
      runs(20),
    );
  });

  it("is read in every spelling", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), (tree, seed) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const json = respelled(decodeTree(batch), "", new Dice(seed));
        expectSame(meaning(decodeTree(batchFromJson(signal, json))), meaning(tree));
      }),
      runs(20),
    );
  });

  it("is refused or read, for any damage", () => {
    fc.assert(
      fc.property(
        request(signal),
        fc.nat(),
        fc.constantFrom(...'"\\{}[]:,0-9eE.ntf\u0000\ud800 '),
        (tree, at, other) => {
          const json = batchToJson(Batch.admit(signal, referenceEncode(signal, tree)));
          const place = at % (json.length + 1);
          for (const text of [json.slice(0, place), json.slice(0, place) + other + json.slice(place + 1)]) {
            try {
              const batch = batchFromJson(signal, text);
              expect(Batch.admit(signal, batch.bytes).count).toBe(batch.count);
            } catch (error) {
              if (!isMalformed(error)) throw error;
            }
          }
        },
      ),
      runs(20),
    );
  });
});

/** protobufjs writes ids and bytes as Buffers here, and numbers JSON lacks as words; enums it keeps as numbers. */
function asOtlp(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key];
  if (original instanceof Uint8Array) return Buffer.from(original).toString(/Id$/.test(key) ? "hex" : "base64");
  if (Object.is(original, -0)) return "-0";
  return value;
}

function withMinusZero(_: string, value: unknown): unknown {
  return Object.is(value, -0) ? "-0" : value;
}

/** A tree as JSON text, every value in one of the spellings that are allowed for it. */
function respelled(value: TreeValue, name: string, dice: Dice): string {
  const quoted = dice.upTo(1) > 0;
  const blank = dice.upTo(1) > 0 ? " " : "";
  if (typeof value === "bigint") return quoted ? `"${value}"` : `${value}`;
  if (typeof value === "number") return numberText(value, name, quoted);
  if (typeof value === "string") return dice.upTo(3) > 0 ? JSON.stringify(value) : escaped(value);
  if (typeof value === "boolean") return String(value);
  if (value instanceof Uint8Array) return JSON.stringify(bytesText(value, name, dice));
  if (Array.isArray(value)) return `[${value.map((item) => respelled(item, name, dice)).join(`${blank},${blank}`)}]`;
  const members = Object.entries(value).map(([key, item]) => {
    const written = dice.upTo(1) > 0 ? key : key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return `${JSON.stringify(written)}:${blank}${respelled(item, key, dice)}`;
  });
  if (dice.upTo(3) === 0) members.push('"unheardOf": [{"__proto__": 12345678901234567890}, 0.12345678901234567]');
  if (dice.upTo(3) === 0) members.unshift('"__proto__": {"timeUnixNano": "1"}, "constructor": null');
  return `{${members.join(blank === "" ? "," : ",\t\n")}}`;
}

function numberText(value: number, name: string, quoted: boolean): string {
  if (name === "kind" && quoted && value >= 0 && value <= 5) return `"${KINDS[value]}"`;
  const text = Object.is(value, -0) ? "-0" : String(value);
  return quoted || !Number.isFinite(value) ? `"${text}"` : text;
}

const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"].map(
  (name) => `SPAN_KIND_${name}`,
);

function bytesText(value: Uint8Array, name: string, dice: Dice): string {
  const buffer = Buffer.from(value);
  if (!/Id$/.test(name)) return buffer.toString(dice.upTo(1) > 0 ? "base64" : "base64url");
  return dice.upTo(1) > 0 ? buffer.toString("hex") : buffer.toString("hex").toUpperCase();
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, "0"));
  return `"${units.map((unit) => `\\u${unit}`).join("")}"`;
}

describe.each(SIGNALS)("what is made of JSON for %s", (signal) => {
  /** The answer of the longer way: build all of it, then encode that. */
  const built = (json: string) => {
    // A number where a name must stand is no JSON, and would be with quotes.
    const quoted = json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*(?!\s*:)/g, (token) =>
      /^-?[1-9]\d{15,}$/.test(token) ? `"${token}"` : token,
    );
    return encodeTree(signal, JSON.parse(quoted) as Tree).bytes;
  };
  const answerOf = (read: () => Uint8Array): Uint8Array | undefined => {
    try {
      return read();
    } catch (error) {
      if (!isMalformed(error) && !(error instanceof SyntaxError)) throw error;
      return undefined;
    }
  };
  const token = fc.oneof(
    fc.constantFrom(
      ..."{}[]:,",
      "null",
      "true",
      '"true"',
      "-",
      "0",
      "01",
      "1.",
      "1.5e3",
      "-0",
      "1e400",
      '"\\u12"',
      '"\\',
      '""',
    ),
    fc.constantFrom(
      '{"a":[1,{"b":null}]}',
      '"9223372036854775808"',
      "-9223372036854775808",
      '"SPAN_KIND_SERVER"',
      " \n",
    ),
    fc.maxSafeInteger().map(String),
    fc.double().map(String),
    fc.string().map((text) => JSON.stringify(text)),
  );

  it("is the same as when it is built as a whole first, including invalid JSON", () => {
    fc.assert(
      fc.property(request(signal), fc.integer(), fc.nat(), fc.nat({ max: 30 }), token, (tree, seed, at, cut, other) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const json = respelled(decodeTree(batch), "", new Dice(seed));
        const place = at % (json.length + 1);
        for (const text of [
          json,
          json.slice(0, place) + other + json.slice(place),
          json.slice(0, place) + other + json.slice(place + cut),
        ]) {
          const ours = answerOf(() => batchFromJson(signal, text).bytes);
          const theirs = answerOf(() => built(text));
          expect(ours === undefined, text).toBe(theirs === undefined);
          if (ours !== undefined && !hasRepeatedNames(text)) expectSameBytes(ours, theirs!);
        }
      }),
      runs(40),
    );
  });
});

/** Whether an object has two members of one name, which are merged as in protobuf. */
function hasRepeatedNames(json: string): boolean {
  let count = 0;
  JSON.parse(json, function (this: object, key, value: unknown) {
    if (!Array.isArray(this) && key !== "") count++;
    return value;
  });
  return count !== (json.match(/"(?:[^"\\]|\\.)*"(?=\s*:)/g) ?? []).length;
}

describe("batchFromJson", () => {
  const record = (fields: string) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${fields}]}]}]}`;
  const read = (fields: string) => {
    const tree = decodeTree(batchFromJson("logs", record(fields))) as unknown as {
      resourceLogs: { scopeLogs: { logRecords: Tree[] }[] }[];
    };
    return tree.resourceLogs[0]!.scopeLogs[0]!.logRecords[0];
  };

  it("keeps bare 64-bit integers exact, beside fractions just as long", () => {
    expect(read('{"timeUnixNano": 1544712660300000001, "body": {"doubleValue": 0.30000000000000004}}')).toEqual({
      timeUnixNano: 1544712660300000001n,
      body: { doubleValue: 0.30000000000000004 },
    });
    expect(read('{"body":{"intValue":-9223372036854775808}}')).toEqual({ body: { intValue: -(2n ** 63n) } });
    expect(read('{"timeUnixNano":18446744073709551615}')).toEqual({ timeUnixNano: 2n ** 64n - 1n });
    expect(read('{"timeUnixNano":1,"body":{"doubleValue":12345678901234567890}}')).toEqual({
      timeUnixNano: 1n,
      body: { doubleValue: Number("12345678901234567890") },
    });
    expect(read('{"flags":1,"body":{"doubleValue":1234567890123456789e-18}}')).toEqual({
      flags: 1,
      body: { doubleValue: 1.2345678901234567 },
    });
  });

  it("reads an attribute in the same way with and without blanks, for all lengths", () => {
    const word = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.string({ minLength: 90, maxLength: 140, unit: fc.constantFrom("a", "b", "7", "é", " ") }),
    );
    const integer = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -2n, max: 2n ** 31n }),
    );
    const value = fc.oneof(
      word.map((stringValue) => JSON.stringify({ stringValue })),
      integer.map((number) => `{"intValue":"${number}"}`),
      integer.map((number) => `{"intValue":${number}}`),
      fc.constantFrom(
        '{"intValue":"007"}',
        '{"intValue":""}',
        '{"intValue":"5}',
        '{"boolValue":true}',
        "{}",
        '{"intValue":1.5}',
      ),
    );
    const answer = (attributes: string): string => {
      try {
        return Buffer.from(batchFromJson("logs", record(`{"attributes":[${attributes}]}`)).bytes).toString("hex");
      } catch (error) {
        if (isMalformed(error)) return "malformed";
        throw error;
      }
    };
    fc.assert(
      fc.property(fc.array(fc.tuple(word, value), { maxLength: 4 }), (pairs) => {
        const plain = pairs.map(([key, text]) => `{"key":${JSON.stringify(key)},"value":${text}}`);
        const spread = plain.map((text) => text.replace('{"key"', '{ "key"').replace('"value":{', '"value": { '));
        expect(answer(plain.join(","))).toBe(answer(spread.join(" , ")));
      }),
      runs(200),
    );
  });

  it("leaves numbers in texts alone", () => {
    const text = ':1544712660300000001, "[-1544712660300000001" \\ ';
    expect(read(`{"timeUnixNano":1544712660300000001,"severityText":${JSON.stringify(text)}}`)).toEqual({
      timeUnixNano: 1544712660300000001n,
      severityText: text,
    });
  });

  it("takes integers in the forms of protobuf's JSON and refuses what is none", () => {
    for (const one of ["1", '"1"', "1.0", "1e0", '"1e0"', '"+1"']) {
      expect(read(`{"timeUnixNano":${one}}`)).toEqual({ timeUnixNano: 1n });
    }
    for (const bad of ["1.5", '""', '" "', '"x"', "true", "{}", "[]", "-1", "18446744073709551616", "1e400", "1e30"]) {
      expect(() => read(`{"timeUnixNano":${bad}}`)).toThrow(/timeUnixNano: expected an integer/);
    }
  });

  it("reads null as absent, names of enums, and doubles that JSON has no number for", () => {
    expect(read('{"body":null,"attributes":null,"severityNumber":"SEVERITY_NUMBER_WARN2"}')).toEqual({
      severityNumber: 14,
    });
    for (const word of ["NaN", "Infinity", "-Infinity"]) {
      expect(read(`{"body":{"doubleValue":"${word}"}}`)).toEqual({ body: { doubleValue: Number(word) } });
    }
  });

  it("lets the last of two equal keys count, in either spelling", () => {
    expect(read('{"flags":1,"flags":2}')).toEqual({ flags: 2 });
    expect(read('{"timeUnixNano":1,"time_unix_nano":2}')).toEqual({ timeUnixNano: 2n });
    expect(read('{"body":{"stringValue":"a","intValue":1}}')).toEqual({ body: { intValue: 1n } });
  });

  it("merges repeated messages and lists, as protobuf and the Collector do", () => {
    expect(read('{"body":{"stringValue":"a"},"flags":1,"body":{"intValue":1}}')).toEqual({
      body: { intValue: 1n },
      flags: 1,
    });
    expect(read('{"attributes":[{"key":"a"}],"attributes":[{"key":"b"}]}')).toEqual({
      attributes: [{ key: "a" }, { key: "b" }],
    });
  });

  it("reads names that are written with escapes", () => {
    expect(read('{"fl\\u0061gs":1,"\\u0073everity_text":"x"}')).toEqual({ flags: 1, severityText: "x" });
  });

  it("says where JSON ends to be JSON, and what of it does not fit", () => {
    expect(() => batchFromJson("logs", '{"resourceLogs":}')).toThrow("not JSON: unexpected character at byte 16");
    expect(() => batchFromJson("logs", '{"resourceLogs":[')).toThrow("not JSON: ends too early at byte 17");
    expect(() => read('{"attributes":[{"key":"a"},{"key":1}]}')).toThrow(
      "resourceLogs[0].scopeLogs[0].logRecords[0].attributes[1].key: expected a string",
    );
  });

  it("pollutes no prototype", () => {
    read('{"__proto__":{"polluted":1},"attributes":[{"key":"__proto__","value":{"stringValue":"x"}}]}');
    expect(({} as { polluted?: number }).polluted).toBe(undefined);
  });

  it("writes a lone surrogate as U+FFFD", () => {
    expect(read('{"severityText":"a\\ud800b"}')).toEqual({ severityText: "a\ufffdb" });
  });

  it.each([
    ["nothing", ""],
    ["half an object", '{"resourceLogs":['],
    ["a list", "[]"],
    ["null", "null"],
    ["a number", "12345678901234567890"],
    ["a byte order mark", "\ufeff{}"],
    ["single quotes", "{'resourceLogs':[]}"],
    ["an object for a list", '{"resourceLogs":{"0":{}}}'],
    ["null in a list", '{"resourceLogs":[null]}'],
  ])("refuses %s", (_, json) => {
    expect(() => batchFromJson("logs", json)).toThrow(expect.objectContaining({ code: "SLUICE_MALFORMED" }));
  });

  it("refuses ten thousand levels of values, and does not mind them where it looks at nothing", () => {
    const [open, close] = ['{"arrayValue":{"values":['.repeat(10_000), "]}}".repeat(10_000)];
    expect(() => read(`{"body":${open}${close}}`)).toThrow(/nested more than 200 deep/);
    expect(() => read(`{"body":${"[".repeat(10_000)}${"]".repeat(10_000)}}`)).toThrow(/body: expected an object/);
    expect(read(`{"other":${"[".repeat(10_000)}${"]".repeat(10_000)}}`)).toEqual({});
  });

  it("names the exact place of a mistake at any depth", () => {
    const [open, close] = ['{"arrayValue":{"values":['.repeat(50), "]}}".repeat(50)];
    const problem = /body\.arrayValue\.values\[0\]\.arrayValue.{0,150}\.\.\.: expected an object$/;
    expect(() => read(`{"body":${open}7${close}}`)).toThrow(problem);
    const place = "body.arrayValue.values[0].kvlistValue.values[0].value: expected an object";
    expect(() => read('{"body":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"value":7}]}}]}}}')).toThrow(place);
  });

  it("takes maps 40 deep, as the Collector does", () => {
    const nested = (depth: number): string =>
      depth === 0 ? '{"stringValue":"x"}' : `{"kvlistValue":{"values":[{"key":"k","value":${nested(depth - 1)}}]}}`;
    const request = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${nested(40)}}]}]}]}`;
    expect(batchToJson(batchFromJson("logs", request))).toBe(request);
  });

  it("refuses ids of a wrong length, as the Collector does, and takes empty ones", () => {
    expect(() => read('{"traceId":"0af7651916cd43dd"}')).toThrow(/traceId: an id of 8 bytes; expected 16/);
    expect(() => read(`{"spanId":"${"ab".repeat(16)}"}`)).toThrow(/spanId: an id of 16 bytes; expected 8/);
    expect(read('{"traceId":"","spanId":""}')).toEqual({ traceId: new Uint8Array(), spanId: new Uint8Array() });
  });

  it("keeps the sign of a zero", () => {
    const request = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"doubleValue":-0}}]}]}]}';
    expect(batchToJson(batchFromJson("logs", request.replace("-0", "-0.0")))).toBe(request);
  });

  it("is done in time with texts made to stall it", () => {
    const long = 1_000_000;
    expect(() => batchFromJson("logs", `[1234567890123456,"${'\\"'.repeat(long)}`)).toThrow(/not JSON/);
    expect(() => batchFromJson("logs", `[1234567890123456,"${"\\".repeat(long)}`)).toThrow(/not JSON/);
    expect(() => read(`{"timeUnixNano":"${"9".repeat(long)}"}`)).toThrow(/expected an integer/);
    expect(() => read(`{"timeUnixNano":${"9".repeat(long)}}`)).toThrow(/expected an integer/);
    expect(() => read(`{"traceId":"${"a".repeat(long + 1)}"}`)).toThrow(/expected hex/);
    expect(() => read(`{"traceId":"${"ab".repeat(8 * long)}"}`)).toThrow(/an id of 8000000 bytes/);
    expect(read(`{"timeUnixNano":1234567890123456,"severityText":"${"\\n".repeat(5 * long)}"}`)).toEqual({
      timeUnixNano: 1234567890123456n,
      severityText: "\n".repeat(5 * long),
    });
  });
});

describe("batchToJson", () => {
  it("writes OTLP/JSON: camelCase, hex ids, base64 bytes, 64-bit integers as text, enums as numbers", () => {
    const record = {
      timeUnixNano: 2n ** 64n - 1n,
      severityNumber: 9,
      traceId: new Uint8Array(16).fill(0xab),
      body: { kvlistValue: { values: [{ key: "k", value: { bytesValue: Uint8Array.of(251, 255) } }] } },
      attributes: [
        { key: "i", value: { intValue: -1n } },
        { key: "d", value: { doubleValue: 1.5 } },
        { key: "nan", value: { doubleValue: Number.NaN } },
        { key: "none", value: {} },
      ],
    };
    const tree = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] } as unknown as Tree;
    expect(batchToJson(encodeTree("logs", tree))).toBe(
      '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"18446744073709551615","severityNumber":9,' +
        `"traceId":"${"ab".repeat(16)}","body":{"kvlistValue":{"values":[{"key":"k","value":{"bytesValue":"+/8="}}]}},` +
        '"attributes":[{"key":"i","value":{"intValue":"-1"}},{"key":"d","value":{"doubleValue":1.5}},' +
        '{"key":"nan","value":{"doubleValue":"NaN"}},{"key":"none","value":{}}]}]}]}]}',
    );
  });

  it("writes an empty batch as an empty object", () => {
    expect(batchToJson(Batch.empty("metrics"))).toBe("{}");
  });
});

describe("a limit on elements", () => {
  const attributes = [
    { key: "a", value: { intValue: 1n } },
    { key: "b", value: {} },
  ];
  const tree = { resourceLogs: [{ scopeLogs: [{ logRecords: [{}, { attributes }] }] }] } as unknown as Tree;
  const batch = encodeTree("logs", tree);

  it("counts the messages of either encoding, and refuses what has more", () => {
    // Two containers, two records, two attributes, and the one value that is not plain.
    expect(Batch.admit("logs", batch.bytes, 7).count).toBe(2);
    expect(() => Batch.admit("logs", batch.bytes, 6)).toThrow(/too many records, attributes and values/);
    // In JSON the request itself and every value count too.
    expect(batchFromJson("logs", batchToJson(batch), 9).count).toBe(2);
    expect(() => batchFromJson("logs", batchToJson(batch), 8)).toThrow(/too many records, attributes and values/);
  });
});

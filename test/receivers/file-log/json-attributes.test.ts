import fc from "fast-check";
import { expect, it } from "vitest";
import { JsonAttributes } from "../../../src/receivers/file-log/json-attributes.js";
import { encodeAttributes } from "../../../src/runtime/logs/entries/log-value.js";
import { parseJsonMap } from "../../../src/runtime/logs/parse-operators.js";
import { skip } from "../../../src/runtime/otlp/bytes/wire.js";
import { WireWriter } from "../../../src/runtime/otlp/bytes/writer.js";
import { anyCharacter } from "../../support/any-character.js";
import { runs } from "../../support/runs.js";

const TAKEN = ["log.file.name"];

/** Fields in an order of their own: JavaScript puts keys that are numbers in front. */
function sorted(bytes: Uint8Array): string[] {
  const fields: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = skip(bytes, at + 1, 2);
    fields.push(Buffer.from(bytes.subarray(at, end)).toString("hex"));
    at = end;
  }
  return fields.sort();
}

/** Returns the written attributes; undefined when the text was left to other code. */
function transcoded(text: string): string[] | undefined {
  const writer = new WireWriter();
  const bytes = Buffer.from(`[${text}]`);
  return new JsonAttributes(TAKEN).write(writer, bytes, 1, bytes.length - 1) ? sorted(writer.written()) : undefined;
}

function parsed(text: string): string[] | undefined {
  try {
    return sorted(encodeAttributes(parseJsonMap(text)));
  } catch {
    return undefined;
  }
}

it("writes what JSON.parse and the writer of values write, or nothing", () => {
  const value = fc.jsonValue({ maxDepth: 3, stringUnit: anyCharacter });
  const spaces = fc.constantFrom("", " ", "\t", "  \r\n ");
  const document = fc
    .tuple(fc.dictionary(fc.string({ unit: anyCharacter, maxLength: 8 }), value, { maxKeys: 8 }), spaces)
    .map(([object, space]) =>
      JSON.stringify(object, null, space === "" ? undefined : " ").replaceAll(":", `${space}:${space}`),
    );
  let taken = 0;
  fc.assert(
    fc.property(document, (text) => {
      const written = transcoded(text);
      if (written === undefined) return;
      taken++;
      expect(written).toEqual(parsed(text));
    }),
    runs(20_000),
  );
  expect(taken).toBeGreaterThan(runs(20_000).numRuns / 4);
});

it("accepts no text that is not JSON", () => {
  const base = '{"a":"x\\n","b":-1.5e3,"c":[true,false,null,{"d":"e"}],"f":{},"g":12345678901234567890}';
  expect(transcoded(base)).toEqual(parsed(base));
  const change = fc.tuple(
    fc.nat(base.length),
    fc.nat(3),
    fc.string({ unit: fc.constantFrom(...'{}[]",:0123-+.eEtrufalsn\\ \u0001'), maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
      let text = base;
      for (const [at, removed, inserted] of changes) text = text.slice(0, at) + inserted + text.slice(at + removed);
      const written = transcoded(text);
      if (written !== undefined) expect(written).toEqual(parsed(text));
    }),
    runs(3000),
  );
});

it.each([
  ["a key twice", '{"a":1,"a":2}'],
  ["a key that the record has", '{"log.file.name":"x"}'],
  ["a list", "[1]"],
  ["something behind it", '{"a":1} x'],
  ["too deep", `{"a":${"[".repeat(50)}${"]".repeat(50)}}`],
  ["a number with a leading zero", '{"a":01}'],
  ["an end that is missing", '{"a":tru'],
])("leaves to others: %s", (_, text) => {
  expect(transcoded(text)).toBeUndefined();
});

it("takes what most lines are", () => {
  const text =
    '{"time":"2024-05-06T07:08:09Z","n":42,"f":1.5,"ok":true,"none":null,"text":"a \\"b\\"\\n","tags":["x"],"o":{"k":1}}';
  expect(transcoded(text)).toHaveLength(8);
  expect(transcoded(text)).toEqual(parsed(text));
});

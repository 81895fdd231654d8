import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonReader, MAX_JSON_DEPTH, parseJson } from "../../../../src/runtime/text/json/door.js";
import { runs } from "../../../support/runs.js";

const reader = (json: string, bounds = { maxValues: 10, maxBytes: 100 }) =>
  new JsonReader(Buffer.from(json), (reason, at) => new Error(`${reason} at ${at}`), bounds);
const blanks = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\r"), maxLength: 3 });
const large = { maxValues: 1000, maxBytes: 1e6 };

describe("the reader of JSON", () => {
  it("reads the elements of a list, and the members of an object, as JSON.parse does", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), blanks, (list, blank) => {
        const values = reader(
          `\ufeff${blank}[${list.map((each) => blank + JSON.stringify(each) + blank).join(",")}]${blank}`,
          large,
        );
        const read = [];
        for (const _ of values.elements()) read.push(values.next());
        values.expectEnd();
        expect(read).toEqual(JSON.parse(JSON.stringify(list)));
      }),
      runs(200),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), blanks, (map, blank) => {
        const json = JSON.stringify(map, undefined, blank);
        const values = reader(json, large);
        const read: [string, unknown][] = [];
        for (const name of values.members()) read.push([name, values.next()]);
        values.expectEnd();
        expect(read).toEqual(Object.entries(JSON.parse(json)));
      }),
      runs(200),
    );
  });

  it("finds the end of a value without parsing it", () => {
    const values = reader('{"a":"}\\"]","b":[[1],{}]} 12.5e3,true');
    const found = [];
    for (; values.hasNext; values.skipComma()) {
      values.skip();
      found.push([values.start, values.end]);
    }
    expect(found).toEqual([
      [0, 25],
      [26, 32],
      [33, 37],
    ]);
  });

  it.each([
    ["[1,2", "expected a comma or the end of the list at 4"],
    ["[1,]", "expected a value at 3"],
    ["{", "expected the name of a member at 1"],
    ['{"a" 1}', "expected a colon at 5"],
    ['{"a":1,}', "expected the name of a member at 7"],
    ['{"a":"b', "the JSON ends within a text at 7"],
    ['{"a":[1', "the JSON ends within a value at 7"],
    ['{"a":tru}', "expected valid JSON at 5"],
    ["{} {}", "expected nothing after the JSON at 3"],
    ["1", "expected an object at 0"],
  ])("refuses %s and says why", (json, message) => {
    const values = reader(json);
    expect(() => {
      if (json.startsWith("[")) for (const _ of values.elements()) values.next();
      else for (const _ of values.members()) values.next();
      values.expectEnd();
    }).toThrow(message);
  });

  it("refuses what is too large, too deep or without an end before it is parsed", () => {
    const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
    expect(reader(nested(MAX_JSON_DEPTH), large).next()).toHaveLength(1);
    expect(() => reader(nested(MAX_JSON_DEPTH + 1), large).skip()).toThrow("nested more than 200 deep");
    expect(() => reader("[".repeat(1e6), large).next()).toThrow("nested more than 200 deep");
    expect(() => reader(`[${"1,".repeat(11)}1]`).next()).toThrow("more than 10 values");
    expect(() => reader(`"${"x".repeat(100)}"`).next()).toThrow("more than 100 bytes");
    expect(() => reader("1".repeat(5000), large).skip()).toThrow("a number of more than 1024 digits");
  });

  it("bounds the texts that are parsed as a whole, but for what short ones hold", () => {
    expect(() => parseJson("[".repeat(1e6))).toThrow("nested more than 200 deep, at byte 200");
    expect(() => parseJson(`[${"1,".repeat(30_000)}1]`)).toThrow("more than 20000 values");
    expect(parseJson(`${"[".repeat(300)}${"]".repeat(300)}`)).toHaveLength(1);
    expect(() => parseJson('{"a"')).toThrow(SyntaxError);
  });
});

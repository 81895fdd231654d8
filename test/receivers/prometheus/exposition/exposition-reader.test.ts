import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ExemplarText,
  ExpositionReader,
  type ExpositionSink,
  type TextFormat,
} from "../../../../src/receivers/prometheus/exposition/exposition-reader.js";
import { numberEnd, readNumber } from "../../../../src/receivers/prometheus/exposition/numbers.js";
import { parseSeries } from "../../../../src/receivers/prometheus/exposition/series-text.js";

/** Returns the content of a text, line by line. */
function read(text: string | Buffer, format: TextFormat = "prometheus", cuts: readonly number[] = []): unknown[] {
  const said: unknown[] = [];
  let current: unknown;
  const sink: ExpositionSink = {
    expected: () => -1,
    series: (b, start, end) => {
      const { name, labels } = parseSeries(b, start, end);
      current = { name, labels: Object.fromEntries(labels) };
    },
    sample: (value: number, time: number, exemplar: ExemplarText | undefined) =>
      void said.push([current, value, ...(Number.isNaN(time) ? [] : [time]), ...(exemplar ? [exemplar] : [])]),
    metadata: (kind, b, nameStart, nameEnd, start, end) =>
      void said.push([
        kind,
        Buffer.from(b.slice(nameStart, nameEnd)).toString(),
        Buffer.from(b.slice(start, end)).toString(),
      ]),
  };
  const reader = new ExpositionReader(format, sink);
  const bytes = Buffer.from(text as string);
  let from = 0;
  for (const cut of [...new Set(cuts.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b)) {
    reader.push(bytes.subarray(from, cut));
    from = cut;
  }
  reader.push(bytes.subarray(from));
  reader.end();
  return said;
}

const value = (text: string) => (read(text)[0] as [unknown, number])[1];

describe("the exposition reader", () => {
  it("reads names, labels with escapes, values and times", () => {
    expect(read('a 1\n b{} 2\n\nc_:d {x="1", y = "q\\"\\\\\\n\\z",}\t-3.5e2  1000\nd{x="}"}4')).toEqual([
      [{ name: "a", labels: {} }, 1],
      [{ name: "b", labels: {} }, 2],
      [{ name: "c_:d", labels: { x: "1", y: 'q"\\\n\\z' } }, -350, 1000],
      [{ name: "d", labels: { x: "}" } }, 4],
    ]);
  });

  it("reads names in quotation marks, as Prometheus 3 writes them", () => {
    expect(read('{"my.metric", "a.b"="c"} 1\n# TYPE "my.metric" gauge\n')).toEqual([
      [{ name: "my.metric", labels: { "a.b": "c" } }, 1],
      ["type", "my.metric", "gauge"],
    ]);
  });

  it("reads the metadata of families, and skips comments", () => {
    expect(
      read("# HELP a Some  text\n#TYPE a counter\n# TYPE a counter\n# a comment\n#\n# HELP b\n# TYPEs a\n"),
    ).toEqual([
      ["help", "a", "Some  text"],
      ["type", "a", "counter"],
      ["help", "b", ""],
    ]);
  });

  it("reads OpenMetrics: seconds, exemplars, units, and the end", () => {
    const text = '# UNIT a_seconds seconds\na_seconds 1 1.5\nb_total 2 3 # {t="x"} 0.5 1.25\nc_total 2 # {} 1\n# EOF\n';
    expect(read(text, "openmetrics")).toEqual([
      ["unit", "a_seconds", "seconds"],
      [{ name: "a_seconds", labels: {} }, 1, 1500],
      [{ name: "b_total", labels: {} }, 2, 3000, { labels: [["t", "x"]], value: 0.5, timeMs: 1250 }],
      [{ name: "c_total", labels: {} }, 2, { labels: [], value: 1, timeMs: Number.NaN }],
    ]);
    expect(() => read("a 1\n", "openmetrics")).toThrow("does not end with # EOF");
    expect(() => read("a 1\n# EOF\nb 1\n", "openmetrics")).toThrow("line 3: text follows # EOF");
    expect(() => read("\n# EOF\n", "openmetrics")).toThrow("empty lines");
  });

  it.each([
    ["a", "not a number"],
    ["a x", "not a number"],
    ["a 1x", "not a number"],
    ["a 0x10", "not a number"],
    ["a 1_0", "not a number"],
    ["a 1 2 3", "'3' follows the sample"],
    ["a 1 1.5", "whole number of milliseconds"],
    ["a 1 x", "whole number of milliseconds"],
    ["a 1 # {} 2", "follows the sample"],
    ["a\r 1", "not a number"],
    ["a 1\r", "not a whole number|not a number"],
    ["1a 1", "a name cannot have|no name"],
    ["a-b 1", "a name cannot have '-'"],
    ["ä 1", "a name cannot have|no name"],
    ["{} 1", "no name"],
    ['a{b="c} 1', "not closed"],
    ['a{b="c" 1', "no comma|not closed"],
    ["a 1 -5", "whole number of milliseconds"],
    ["a{b} 1", "no equals sign follows the label b"],
    ["a{b=c} 1", "not in quotation marks"],
    ['a{="c"} 1', "no name"],
    ['a{,b="c"} 1', "no name"],
    ['a{b="c",,} 1', "missing between two commas"],
    ['a{b-c="c"} 1', "no equals sign"],
    ['{"a","b"} 1', "two names"],
    ['a{"b"} 1', "two names"],
    ["# TYPE ", "no name follows TYPE"],
    ["# HELP 1a x", "no name follows HELP"],
    ["# TYPE a-b gauge", "a name cannot have '-'"],
  ])("says what is wrong with %j", (text, problem) => {
    expect(() => read(`fine 1\n${text}\n`)).toThrow(new RegExp(`line 2: .*(${problem})`));
  });

  it("refuses what is not UTF-8", () => {
    expect(() => read(Buffer.from('a{b="\xff"} 1\n', "latin1"))).toThrow("line 1: a text is not valid UTF-8");
  });

  it("reads the same from a text in any pieces", () => {
    const text = '# HELP a Text\n# TYPE a counter\na{x="ü\\n"} 1.5 1700000000000\nb 2\n\n# rest\nc{y="}"} +Inf';
    const whole = read(text);
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 20 }), (cuts) => {
        expect(read(text, "prometheus", cuts)).toEqual(whole);
      }),
    );
  });

  it("never throws anything but its own error, and does not hang", () => {
    const piece = fc.constantFrom(
      "a",
      "1",
      " ",
      "{",
      "}",
      '"',
      "=",
      ",",
      "\n",
      "#",
      "\\",
      "# TYPE ",
      "# EOF",
      "e",
      "-",
      ".",
      "\0",
      "ü",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.boolean(), (pieces, isOpen) => {
        try {
          read(pieces.join(""), isOpen ? "openmetrics" : "prometheus");
        } catch (error) {
          expect((error as Error).name).toBe("ExpositionError");
        }
      }),
    );
  });

  it("reads numbers as JavaScript does", () => {
    const digits = fc.stringMatching(/^[0-9]{1,25}$/);
    const decimal = fc
      .tuple(fc.constantFrom("", "-", "+"), digits, fc.option(digits), fc.option(fc.integer({ min: -340, max: 340 })))
      .map(
        ([sign, whole, fraction, exponent]) =>
          `${sign}${whole}${fraction === null ? "" : `.${fraction}`}${exponent === null ? "" : `e${exponent}`}`,
      );
    fc.assert(
      fc.property(
        fc.oneof(
          decimal,
          fc.double().map(String),
          fc.double({ noNaN: true }).map((each) => each.toExponential()),
        ),
        (text) => {
          const bytes = Buffer.from(`${text}\n`);
          expect(readNumber(bytes, 0)).toBe(Number(text));
          expect(numberEnd).toBe(bytes.length - 1);
        },
      ),
    );
    expect(["NaN", "+Inf", "-inf", "Infinity", "nan", ".5", "5."].map((text) => value(`a ${text}\n`))).toEqual([
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.POSITIVE_INFINITY,
      Number.NaN,
      0.5,
      5,
    ]);
  });
});

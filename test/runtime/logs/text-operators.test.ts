import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics } from "../../../src/runtime/contract/observability.js";
import { LogEntry } from "../../../src/runtime/logs/entries/log-entry.js";
import type { LogMap, LogValue } from "../../../src/runtime/logs/entries/log-value.js";
import { textEncoding } from "../../../src/runtime/logs/entries/text-encoding.js";
import { parseJsonWithInts } from "../../../src/runtime/logs/json-numbers.js";
import { OperatorChain } from "../../../src/runtime/logs/operator-chain.js";
import { operatorsSchema } from "../../../src/runtime/logs/operator-schema.js";
import { keepingLogger } from "../../receivers/file-log/harness.js";

/** The entry that comes out when this body goes in, and the lines that were logged. */
function run(operators: object[], body: LogValue, attributes: LogMap = {}) {
  const { logger, lines } = keepingLogger();
  const out: LogEntry[] = [];
  const context = { id: "file_log", metrics: noMetrics, logger, clock: systemClock, random: () => 0 };
  const chain = new OperatorChain(operatorsSchema.parse(operators), context, (entry) => void out.push(entry));
  chain.process(new LogEntry(body, { ...attributes }, {}, undefined));
  return { entry: out[0]!, lines };
}

describe("unquote", () => {
  const unquoted = (text: string) => run([{ type: "unquote", field: "body" }], text);

  it.each([
    ['"a\\tb\\"c"', 'a\tb"c'],
    ['"\\u00e9\\U0001F600\\x41\\101"', "é😀AA"],
    ['"\\xc3\\xa9"', "é"],
    ["`raw \\n`", "raw \\n"],
    ["'x'", "x"],
    ["'\\''", "'"],
  ])("reads %s as Go does", (quoted, text) => {
    expect(unquoted(quoted).entry.body).toBe(text);
  });

  it.each([["plain"], ['"open'], ["'ab'"], ['"a"b"'], ['"\\q"'], ['"\\\'"'], ['"'], ["`a`b`"], ['"\\ud800"']])(
    "fails on %s, which stays as it is",
    (text) => {
      const { entry, lines } = unquoted(text);
      expect(entry.body).toBe(text);
      expect(lines).toHaveLength(1);
    },
  );

  it("passes on entries without the field", () => {
    expect(run([{ type: "unquote", field: "attributes.q" }], "x").lines).toEqual([]);
  });
});

describe("regex_replace", () => {
  it("replaces all matches, with groups", () => {
    const replace = { type: "regex_replace", field: "body", regex: "(\\w+)@\\w+", replace_with: "$1@***" };
    expect(run([replace], "ann@home bob@work").entry.body).toBe("ann@*** bob@***");
  });

  it("knows the control sequences of terminals", () => {
    const replace = { type: "regex_replace", field: "body", regex_name: "ansi_control_sequences" };
    expect(run([replace], "\x1b[1;31mred\x1b[0m").entry.body).toBe("red");
  });

  it("takes either a pattern or a name", () => {
    for (const given of [{}, { regex: "a", regex_name: "ansi_control_sequences" }])
      expect(operatorsSchema.safeParse([{ type: "regex_replace", field: "body", ...given }]).success).toBe(false);
  });
});

describe("lists", () => {
  it("assign_keys turns a list into a map", () => {
    const operators = [
      { type: "json_array_parser", parse_to: "body" },
      { type: "assign_keys", field: "body", keys: ["a", "b"] },
    ];
    expect(run(operators, '["x", 2]').entry.body).toEqual({ a: "x", b: 2n });
    expect(run(operators, '["x"]').lines[0]).toContain("body has 1 items for 2 keys");
  });

  it("json_array_parser reads a list, or a map if it has a header", () => {
    const text = '[1, "x", true, null, {"o": [1]}, 2.5, 9007199254740993]';
    const list = [1n, "x", true, null, '{"o":[1]}', 2.5, 9007199254740993n];
    expect(run([{ type: "json_array_parser", parse_to: "attributes.list" }], text).entry.attributes.list).toEqual(list);
    const header = "a,b,c,d,e,f,g";
    const named = run([{ type: "json_array_parser", header }], text).entry.attributes;
    expect(Object.values(named)).toEqual(list);
    expect(Object.keys(named).join()).toBe(header);
    expect(run([{ type: "json_array_parser", header: "a" }], "[1,2]").lines).toHaveLength(1);
    expect(run([{ type: "json_array_parser", parse_to: "body" }], "[[1]]").lines).toHaveLength(1);
  });
});

describe("uri_parser", () => {
  it.each([
    [
      "HTTPS://ann:secret@example.com:8080/a%2Fb c?x=1&x=2&y=a+b%21#f",
      {
        ...{ scheme: "https", user: "ann", host: "example.com", port: "8080", path: "/a/b%20c" },
        query: { x: ["1", "2"], y: ["a b!#f"] },
      },
    ],
    ["/path/only?k", { path: "/path/only", query: { k: [""] } }],
    ["//not-a-host/x", { path: "//not-a-host/x" }],
    ["http://[::1]:80/", { scheme: "http", host: "::1", port: "80", path: "/" }],
    ["mailto:ann@example.com?subject=hi", { scheme: "mailto", query: { subject: ["hi"] } }],
    ["/a?b;c=1&d=%zz&e=1", { path: "/a", query: { e: ["1"] } }],
    ["?a=1&b=2", { query: { a: ["1"], b: ["2"] } }],
  ])("reads %s", (uri, parts) => {
    expect(run([{ type: "uri_parser" }], uri).entry.attributes).toEqual(parts);
  });

  it.each([["relative/path"], [""], ["/%zz"], ["/a\nb"], ["?a=%zz"], ["http://a b/"]])("refuses %j", (uri) => {
    expect(run([{ type: "uri_parser" }], uri).lines).toHaveLength(1);
  });
});

describe("numbers in JSON", () => {
  it("keep their form and all 64 bits with parse_ints", () => {
    const text = '{"a":9223372036854775807,"b":-9223372036854775808,"c":1.0,"d":1e3,"e":9223372036854775808}';
    expect(run([{ type: "json_parser", parse_ints: true }], text).entry.attributes).toEqual({
      ...{ a: 9223372036854775807n, b: -9223372036854775808n, c: 1, d: 1000, e: 2 ** 63 },
    });
  });

  it("are read after which only text follows, and null has no members", () => {
    expect(run([{ type: "json_parser", parse_ints: true }], '{"a":1} rest').entry.attributes).toEqual({ a: 1n });
    expect(run([{ type: "json_parser" }], "null").lines).toEqual([]);
  });

  it.each([
    ["{1:2}"],
    ["{1.5:2}"],
    ['{"a":01}'],
    ['{"a":-}'],
    ['{"a":1.}'],
    ['{"a":+1}'],
    ['{"a":.5}'],
    ['{"a":1e999}'],
  ])("that are invalid are refused: %s", (text) => {
    expect(() => parseJsonWithInts(text)).toThrow(SyntaxError);
  });

  it("are those of JSON.parse, whatever the JSON", () => {
    const asDoubles = (value: LogValue): unknown => {
      if (typeof value === "bigint") return Number(value);
      if (Array.isArray(value)) return value.map(asDoubles);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asDoubles(each as LogValue)]));
    };
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(asDoubles(parseJsonWithInts(text))).toEqual(JSON.parse(text, (_, each) => (each === 0 ? 0 : each)));
      }),
    );
  });
});

describe("as in the Collector", () => {
  const time = (settings: object, text: string) =>
    run([{ type: "time_parser", parse_from: "body", ...settings }], text).entry.timestamp;

  it("location may be Local, and abbreviations of time zones may be given places", () => {
    const layout = "%Y-%m-%d %H:%M:%S";
    const local = BigInt(new Date(2024, 0, 2, 3, 4, 5).getTime()) * 1_000_000n;
    expect(time({ layout, location: "Local" }, "2024-01-02 03:04:05")).toBe(local);
    const places = { layout: `${layout} %Z`, time_zone_locations: { IST: "Asia/Kolkata", EST: "America/New_York" } };
    expect(time(places, "2024-01-02 03:04:05 IST")).toBe(BigInt(Date.UTC(2024, 0, 1, 21, 34, 5)) * 1_000_000n);
    expect(time(places, "2024-01-02 03:04:05 EST")).toBe(BigInt(Date.UTC(2024, 0, 2, 8, 4, 5)) * 1_000_000n);
  });

  it("a location that does not exist is a problem of the config", () => {
    const settings = { type: "time_parser", parse_from: "body", layout: "%Y", location: "Atlantis" };
    expect(operatorsSchema.safeParse([settings]).error?.issues[0]?.message).toContain('no location "Atlantis"');
  });

  it("the beginning of the year 1 is no time", () => {
    expect(time({ layout_type: "gotime", layout: "2006-01-02T15:04:05Z07:00" }, "0001-01-01T00:00:00Z")).toBe(
      undefined,
    );
  });

  it("names that are not known have no value, and timestamp is the entry's time", () => {
    const operators = [
      { type: "add", field: "attributes.unknown", value: "EXPR(nothing == nil)" },
      { type: "time_parser", parse_from: "body", layout_type: "epoch", layout: "s" },
      { type: "add", field: "attributes.year", value: "EXPR(timestamp.Year())" },
      { type: "add", field: "attributes.at", value: "EXPR(timestamp)" },
    ];
    expect(run(operators, "1790000000").entry.attributes).toEqual({
      ...{ unknown: true, year: 2026n, at: "2026-09-21 14:13:20 +0000 UTC" },
    });
  });

  it("a severity may be mapped to a name that is no severity, which gives none", () => {
    const parser = { type: "severity_parser", parse_from: "body", mapping: { warning: "careful", error: "bad" } };
    expect(run([parser], "careful").entry).toMatchObject({ severityNumber: 0, severityText: "careful" });
    expect(run([parser], "bad").entry.severityNumber).toBe(17);
  });

  it("the body that a parser finds is there for the severity", () => {
    const parser = { type: "json_parser", body: "attributes.level", severity: { parse_from: "body" } };
    expect(run([parser], '{"level":"error"}').entry).toMatchObject({ body: "error", severityNumber: 17 });
  });

  it("syslog without a protocol is a message and its priority", () => {
    const parser = { type: "syslog_parser", protocol: "none", enable_octet_counting: true };
    expect(run([parser], "11 any <b>text").entry.attributes).toEqual({ message: "any <b>text" });
    const { entry } = run([parser], "<13>hello");
    expect(entry).toMatchObject({ severityNumber: 10, severityText: "notice" });
    expect(entry.attributes).toEqual({ message: "<13>hello", priority: 13n, facility: 1n, facility_text: "user" });
  });

  it("texts of Windows have their own characters, and those of Latin-1 and ASCII too", () => {
    const bytes = Uint8Array.of(0x80, 0x93, 0x81, 0xe9);
    expect(textEncoding("windows-1252")!.decode(bytes)).toBe("€“\x81é");
    expect(textEncoding("latin1")!.decode(bytes)).toBe("\x80\x93\x81é");
    expect(textEncoding("ascii")!.decode(Buffer.from("é"))).toBe("é");
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { piiSchema } from "../../../../src/processors/pii/config.js";
import { NO_LABEL } from "../../../../src/processors/pii/detect/labels/label-words.js";
import { labelBefore, mayFollowLabel } from "../../../../src/processors/pii/detect/labels/labels.js";
import { groups } from "../../../../src/processors/pii/detect/numbers/digit-groups.js";
import { findIpv4, findPlainIpv4 } from "../../../../src/processors/pii/detect/numbers/ipv4.js";
import { findInGroups, isPlainNumber } from "../../../../src/processors/pii/detect/numbers/numbers.js";
import { scan } from "../../../../src/processors/pii/detect/scan.js";
import { DETECTORS } from "../../../../src/processors/pii/detect/text/detectors.js";
import { followsWord, labelWords } from "../../../../src/processors/pii/detect/text/lookback.js";
import { areIsolated, matches } from "../../../../src/processors/pii/detect/text/matches.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { lineTexts, ordinaryLines, plantedLines } from "./corpus.js";
import floors from "./line-floors.json" with { type: "json" };

const ALL = 2 ** DETECTORS.length - 1;
const treatment = () => new PiiTreatment(piiSchema.parse({}));

/** Pieces put together without and with something in between. */
const textOf = (pieces: readonly string[], between: readonly string[]) =>
  fc
    .array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom(...between)), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.flat().join(""));

const VALUES = DETECTORS.flatMap((name) => plantedLines(name, 10, 9).flatMap(({ line, value }) => [line, value]));
const lines = textOf(
  [...VALUES, ...ordinaryLines(60, 9), "user=", "client=", "a_b=", ":80", "1.2.3.4", "203.0.113.7:8080", "****"],
  ["", " ", "=", ":", ",", " x=", ".", "\n"],
);

describe("a shortcut of a detector", () => {
  it("never skips a number after a word that identifies it", () => {
    const words = [
      "\\btel\\b",
      "tél",
      "电话",
      "steuer.?id",
      "my.?number",
      "\\bcc\\b",
      "dial(?:ed|ing)?\\b",
      "call (?:me|us)\\b",
    ];
    const set = labelWords(words);
    const before = textOf(
      [
        "tel",
        "TÉL",
        "tél",
        "电话",
        "steuer-id",
        "Steuer",
        "id",
        "my_number",
        "mynumber",
        "cc",
        "acc",
        "dialed",
        "call me",
        "é",
        "x",
      ],
      ["", " ", ":", "=", "_"],
    );
    fc.assert(
      fc.property(before, (text) => {
        const b = Buffer.from(`${text}5551234567`);
        const p = Buffer.byteLength(text);
        matches.begin(0, b.length, 0, ALL);
        const window = b
          .subarray(Math.max(0, p - 36), p)
          .toString("latin1")
          .toLowerCase();
        expect(followsWord(b, p, set)).toBe(set.pattern.test(window));
      }),
      runs(300),
    );
  });

  it("never skips a number without separators that a detector matches", () => {
    const before = textOf(
      ["tel", "card", "id", "ssn", "nhs", "n", "+", "=", "#rec", "steuer-id", "call me"],
      ["", " ", ":", "="],
    );
    const number = fc.oneof(
      fc.stringMatching(/^[0-9]{8,19}$/),
      fc.constantFrom("4111111111111111", "378282246310005", "6304000000000000", "185057800608491", "269054958815780"),
      fc.constantFrom(
        "110105199001011232",
        "078051120",
        "9434765919",
        "86095742719",
        "101010101010101",
        "0046701234567",
      ),
    );
    fc.assert(
      fc.property(before, number, fc.constantFrom("", ",", ";", "]"), (text, digits, after) => {
        const b = Buffer.from(`${text}${digits}${after}`);
        const p = Buffer.byteLength(text);
        matches.begin(0, b.length, 0, ALL);
        const isPlain = isPlainNumber(b, p, digits.length);
        groups.read(b, p, b.length);
        findInGroups(b, 0);
        if (isPlain) expect(matches.count).toBe(0);
      }),
      runs(300),
    );
  });

  it("never skips a sign after the name of a secret", () => {
    const before = textOf(
      ["password", "API_KEY", "token", "dob", "no", "account no.", "route", "x", "é", "_", "1"],
      ["", '"', "'", '\\"', " ", "\t", "."],
    );
    fc.assert(
      fc.property(before, (text) => {
        const b = Buffer.from(`${text}=x`);
        const p = Buffer.byteLength(text);
        if (labelBefore(b, p + 1, 0) !== NO_LABEL) expect(mayFollowLabel(b, p)).toBe(true);
      }),
      { ...runs(300), examples: [["dob 1 "]] },
    );
  });

  it("never misses anything when an address is read in one go", () => {
    const part = fc.oneof(fc.nat(300).map(String), fc.constantFrom("0", "00", "01", "255", "256", "1234"));
    const around = fc.constantFrom(
      "",
      " ",
      ".",
      "-",
      "/",
      "Chrome/",
      "version ",
      "v",
      "=",
      ":80",
      " 5",
      "a",
      "-b",
      "****",
    );
    fc.assert(
      fc.property(fc.tuple(part, part, part, part), around, around, (octets, before, behind) => {
        const b = Buffer.from(`${before}${octets.join(".")}${behind}`);
        const p = Buffer.byteLength(before);
        matches.begin(0, b.length, 0, ALL);
        const end = findPlainIpv4(b, p);
        if (end < 0) return;
        matches.begin(0, b.length, 0, ALL);
        groups.read(b, p, b.length);
        expect([groups.count, findIpv4(b, 0), matches.starts[0], matches.ends[0]]).toEqual([4, 4, p, end]);
      }),
      runs(400),
    );
  });

  it("never misses anything that masks could reveal", () => {
    fc.assert(
      fc.property(lines, (line) => {
        const b = Buffer.from(line);
        const count = scan(b, 0, b.length, 0, ALL);
        if (count < 1 || !areIsolated(b, true)) return;
        let masked = "";
        let from = 0;
        for (let i = 0; i < count; i++) {
          masked += `${b.toString("latin1", from, matches.starts[i])}****`;
          from = matches.ends[i]!;
        }
        const rest = Buffer.from(masked + b.toString("latin1", from), "latin1");
        expect(scan(rest, 0, rest.length, 0, ALL)).toBe(0);
      }),
      runs(400),
    );
  });

  it("sees that a mask would bring a position nearer to its label", () => {
    const line = "Kunde hat driver license: B172-9673-1498 angegeben, bitte prüfen. 89.346937, -0.820946";
    const b = Buffer.from(line);
    expect(scan(b, 0, b.length, 0, ALL)).toBe(1);
    expect(areIsolated(b, true)).toBe(false);
  });

  it("never skips a record that only partly equals the one before", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(lines, fc.boolean()), { minLength: 1, maxLength: 6 }), (texts) => {
        const records = texts.flatMap(([line, isTwice]) => (isTwice ? [line, line] : [line]));
        const alone = records.map((line) => bodies(treatment().treat(logs(line)))[0]);
        expect(bodies(treatment().treat(logs(...records)))).toEqual(alone);
      }),
      runs(60),
    );
  });

  it("never skips an attribute that differs from the one before in a single byte", () => {
    const of = (value: string) => ({ attributes: [{ key: "from", value: { stringValue: value } }] });
    const logRecords = ["client at 203.0.113.x", "client at 203.0.113.x", "client at 203.0.113.7"].map(of);
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    const treated = Buffer.from(treatment().treat(batch).bytes).toString("latin1");
    expect(treated.match(/client at [\w.*]+/g)).toEqual([
      "client at 203.0.113.x",
      "client at 203.0.113.x",
      "client at ****",
    ]);
  });
});

/** Lines of logs as they are, and pieces of them with something in between. */
const logLines = Object.keys(floors.defaults).flatMap(lineTexts);
const logPiece = fc
  .tuple(fc.constantFrom(...logLines), fc.nat(200), fc.nat(60))
  .map(([line, from, size]) => line.slice(from % line.length, (from % line.length) + size));
const mixedLine = fc
  .tuple(logPiece, fc.constantFrom("", " ", ": ", "=", "-", ", ", " ("), logPiece)
  .map((parts) => parts.join(""));

describe("a text that is clean with any digits", () => {
  const find = (text: string) => {
    const b = Buffer.from(text);
    return { count: scan(b, 0, b.length, 0, ALL), readsDigits: matches.readsDigits };
  };

  it("is a usual line of a log", () => {
    for (const line of [
      "request finished in 12 ms for route /api/v1/orders number 123",
      "user 4711 logged in from worker-3 took 35 ms",
      "duration=12 ms status=200 retries: 3/5 ratio 0.93 (12 of 13)",
    ])
      expect(find(line)).toEqual({ count: 0, readsDigits: false });
  });

  it("is none that a detector has looked at without ruling all digits out", () => {
    for (const line of ["12 mails to anna@ in 35 ms", "took 35 ms at fe80: in step 3", "order 12345678 in 3 ms"])
      expect(find(line)).toEqual({ count: 0, readsDigits: true });
  });

  it("stays clean when its digits change", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(...logLines), mixedLine),
        fc.array(fc.nat(9), { minLength: 40, maxLength: 40 }),
        (line, digits) => {
          const before = find(line);
          if (before.count !== 0 || before.readsDigits) return;
          for (let shift = 0; shift < 10; shift++) {
            let n = 0;
            const other = line.replace(/\d/g, () => String(((digits[n++ % digits.length] ?? 0) + shift) % 10));
            expect([other, find(other)]).toEqual([other, before]);
          }
        },
      ),
      runs(3000),
    );
  });
});

describe("values written to evade detection", () => {
  it.each([
    ["4111\u200b1111\u200b1111\u200b1111", "****"],
    ["4111\u00ad1111\u00ad1111\u00ad1111", "****"],
    ["4111\u00a01111\u00a01111\u00a01111", "****"],
    ["password\t=\thunter2abc", "password\t=\t****"],
    ["joe%2540example.com", "****"],
    ["YW05bFFHVjRZVzF3YkdVdVkyOXRJR2x6SUdobGNtVT0=", "****"],
    ['{"a":"{\\"password\\":\\"hunter2abc\\"}"}', '{"a":"{\\"password\\":\\"****\\"}"}'],
    ["日本joe@example.com日本 é203.0.113.7é", "日本****日本 é****é"],
    ["\u200bjoe@example.com\u200b", "\u200b****\u200b"],
    [`v1.0-6126934735ab206276b50aea-${"98355d1ab2".repeat(15)}`, "****"],
    ["/v1/things/AQVNTxydAe-DM1Sg946BBWauVzjkryxQWl17ZtOp/edit", "/v1/things/****/edit"],
    ["NzhPTcYXSShSMlSoBYcJFruHRb.GB8Ndr.ruNAjkNm8QnGCXy8yHvKQTkB5Chtu1AVOyR3Xo", "****"],
  ])("are found in %j", (line, left) => {
    expect(bodies(treatment().treat(logs(line)))).toEqual([left]);
  });

  it("leave every byte around them as it is, in any script", () => {
    const around = fc
      .string({ unit: "grapheme", maxLength: 12 })
      .map((text) => text.replace(/[^\u{80}-\u{10ffff}]/gu, ""));
    fc.assert(
      fc.property(around, around, (before, behind) => {
        const line = `${before} joe@example.com (203.0.113.7) ${behind}`;
        expect(bodies(treatment().treat(logs(line)))).toEqual([`${before} **** (****) ${behind}`]);
      }),
      runs(200),
    );
  });
});

import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, decodeTree, encodeTree, type Tree } from "../../../../src/plugin.js";
import { DETECTORS } from "../../../../src/processors/pii/detect/text/detectors.js";
import { matches } from "../../../../src/processors/pii/detect/text/matches.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import type { Strategy } from "../../../../src/processors/pii/strategies.js";
import type { PiiTreatmentSettings } from "../../../../src/processors/pii/value-treatment.js";
import { compilePattern } from "../../../../src/runtime/text/patterns/pattern.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { anyRequest } from "../../../support/telemetry/telemetry-arbitraries.js";
import { asJson } from "../pii-harness.js";
import { ordinaryLines, plantedLines } from "./corpus.js";

const KEY = "0123456789abcdef0123456789abcdef";

function treatment(strategy: Strategy, more: Partial<PiiTreatmentSettings> = {}): PiiTreatment {
  return new PiiTreatment({
    isEnforced: true,
    detectors: new Map(DETECTORS.map((name) => [name, strategy])),
    patterns: [],
    hashKey: KEY,
    fields: new Map(),
    secretKeys: strategy,
    summary: "silent",
    jsonBodies: false,
    ...more,
  });
}

/** Texts made of ordinary lines, planted values and replacements. */
const PIECES = [
  ...ordinaryLines(100, 5),
  ...DETECTORS.flatMap((name) => plantedLines(name, 12, 5).map(({ value }) => value)),
  ...[
    "****",
    "[REDACTED]",
    "hash(0123456789abcdef0123456789abcdef)",
    "phone",
    "password",
    "an****na",
    "****1111",
    "ssn",
    "Bearer",
    "日本",
    "é",
  ],
];
const text = fc
  .array(
    fc.tuple(
      fc.constantFrom(...PIECES),
      fc.constantFrom("", " ", ":", "=", "-", ".", ", ", "/", "(", ")", '"', "@", "\n"),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((pieces) => pieces.map(([piece, separator]) => piece + separator).join(""));

/** Replaces all texts of a tree. */
function withTexts(tree: unknown, texts: readonly string[], next = { i: 0 }): unknown {
  if (Array.isArray(tree)) return tree.map((item) => withTexts(item, texts, next));
  if (typeof tree !== "object" || tree === null || tree instanceof Uint8Array) return tree;
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [
      key,
      key === "stringValue" || key === "message"
        ? texts[next.i++ % texts.length]
        : key === "key" && next.i % 4 === 3
          ? "db.password"
          : withTexts(value, texts, next),
    ]),
  );
}

const batches = fc
  .tuple(anyRequest, fc.array(text, { minLength: 1, maxLength: 8 }))
  .map(([{ signal, tree }, texts]) => encodeTree(signal, withTexts(tree, texts) as Tree));

const strategies = fc.constantFrom<Strategy>("mask", "hash", "partial", "redact");

describe("a treatment", () => {
  it("changes nothing the second time, for every strategy", () => {
    fc.assert(
      fc.property(text, strategies, (line, strategy) => {
        const once = treatment(strategy).treat(logs(line));
        expect(treatment(strategy).treat(once)).toBe(once);
      }),
      runs(150),
    );
  });

  it.each(["4111111111111111 123 45 6789", "a@b.io.c@d.io", "a@b.io 1 415 555 2671", "x a@b.io,203.0.113.7 y"])(
    "leaves nothing to find in what is left of %j",
    (line) => {
      const once = treatment("mask").treat(logs(line));
      expect(treatment("mask").treat(once)).toBe(once);
    },
  );

  it("turns any request into a valid one with all records", () => {
    fc.assert(
      fc.property(batches, strategies, fc.constantFrom("silent", "info", "debug"), (batch, strategy, summary) => {
        const treated = treatment(strategy, { summary }).treat(batch);
        expect(Batch.admit(batch.signal, Buffer.from(treated.bytes)).count).toBe(batch.count);
        expect(treatment(strategy, { summary }).treat(treated)).toBe(treated);
      }),
      runs(60),
    );
  });

  it("writes a request that is whole if a magnetic stripe goes on with what could be another card", () => {
    const stripes = [
      "373390407391188=6236464851560483.B128",
      "4111111111111111=2223003122003222",
      "4111111111111111D5555555555554444",
    ];
    for (const strategy of ["mask", "hash"] as const)
      for (const stripe of stripes) {
        const treated = Batch.admit("logs", treatment(strategy).treat(logs(stripe, "next")).bytes);
        const [first, second] = bodies(treated);
        expect(first).not.toMatch(/\d{12}/);
        expect(second).toBe("next");
      }
  });

  it("treats bodies, attributes and texts in lists alike, also where lengths get shorter", () => {
    const treat = treatment("mask");
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        const records = texts.map((one) => ({
          body: { stringValue: one },
          attributes: [
            { key: "note", value: { stringValue: one } },
            { key: "list", value: { arrayValue: { values: [{ stringValue: one }, { intValue: 1n }] } } },
          ],
        }));
        const batch = encodeTree("logs", { resourceLogs: [{ scopeLogs: [{ logRecords: records }] }] } as Tree);
        const treated = asJson(Batch.admit("logs", treat.treat(batch).bytes));
        for (const i of records.keys()) {
          const { body, attributes } = treated.resourceLogs![0]!.scopeLogs![0]!.logRecords![i]!;
          expect(attributes![0]!.value).toEqual(body);
          expect(attributes![1]!.value!.arrayValue!.values![0]).toEqual(body);
        }
      }),
      runs(60),
    );
  });

  it("changes only texts", () => {
    const strip = (_: string, value: unknown) => {
      if (typeof value === "bigint") return String(value);
      return typeof value === "object" && value !== null && "stringValue" in value ? "text" : value;
    };
    fc.assert(
      fc.property(batches, (batch) => {
        const shape = (one: Batch) =>
          JSON.stringify(decodeTree(one), (key, value) => (isText(key) ? "text" : strip(key, value)));
        expect(shape(treatment("mask", { secretKeys: undefined }).treat(batch))).toBe(shape(batch));
      }),
      runs(60),
    );
  });

  it.each([
    "1    ",
    "1....",
    "12 - - ",
    "1.2.3.4 ",
    "4111 1111 1111 1111 ",
    "-----BEGIN PRIVATE KEY----------END KEY-----",
    "-----BEGIN PRIVATE KEY----------END OF KEYS-----",
    "é E-123456 ",
    "**** E-123456 ",
    "a@b.io E-123456 ",
  ])("takes time in proportion to a text, here 256 KB of %j: a sender cannot stop the agent", (piece) => {
    const patterns = [{ name: "employee", pattern: compilePattern("E-\\d{6}"), strategy: "mask" } as const];
    const batch = logs(piece.repeat((256 * 1024) / Buffer.byteLength(piece)));
    const [body] = bodies(treatment("mask", { patterns }).treat(batch));
    expect(body).not.toMatch(/E-1|PRIVATE|@|4111/);
  });

  it("treats matches of a pattern and everything they overlap with the pattern's strategy", () => {
    const place = fc
      .tuple(fc.nat(60), fc.integer({ min: 1, max: 8 }))
      .map(([from, size]) => [from, from + size] as const);
    const apart = fc.array(place, { maxLength: 12 }).map((places) => {
      const kept: (readonly [number, number])[] = [];
      for (const one of places.toSorted((a, b) => a[0] - b[0])) if ((kept.at(-1)?.[1] ?? 0) <= one[0]) kept.push(one);
      return kept;
    });
    fc.assert(
      fc.property(apart, apart, (before, found) => {
        matches.begin(0, 100, 0, 0);
        for (const [from, to] of before) matches.add(1, from, to);
        matches.merge(2, found);
        const merged = Array.from({ length: matches.count }, (_, i) => [matches.starts[i]!, matches.ends[i]!] as const);
        const covers = (places: readonly (readonly [number, number])[], at: number) =>
          places.some(([from, to]) => from <= at && at < to);
        for (let at = 0; at < 70; at++) expect(covers(merged, at)).toBe(covers(before, at) || covers(found, at));
        for (const [i, [from, to]] of merged.entries()) {
          expect(from).toBeGreaterThanOrEqual(merged[i - 1]?.[1] ?? 0);
          expect(matches.detectors[i]).toBe(found.some(([first, last]) => first < to && from < last) ? 2 : 1);
        }
      }),
      runs(70),
    );
  });

  it("returns a clean batch as the same object", () => {
    const clean = logs(
      ...ordinaryLines(300, 9).filter((line) => !line.startsWith("matrix") && !line.startsWith("snowflake")),
    );
    expect(treatment("mask").treat(clean)).toBe(clean);
  });

  it("keeps every byte around a match", () => {
    const line = Buffer.concat([Buffer.from("ü\u{1f600} "), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from(" a@b.io ")]);
    const template = logs("x".repeat(line.length));
    const bytes = Buffer.from(template.bytes);
    line.copy(bytes, bytes.indexOf("xxx"));
    const treated = Buffer.from(treatment("mask").treat(Batch.admit("logs", bytes)).bytes);
    expect(treated.includes(Buffer.concat([line.subarray(0, -7), Buffer.from("**** ")]))).toBe(true);
  });

  it("gives the same hash for the same value and key, in every place and after every restart", () => {
    const treated = bodies(
      treatment("hash").treat(logs("mail anna@example.com", "<anna@example.com>", "bob@example.com")),
    );
    const [first, second, third] = treated.map((body) => /hash\([0-9a-f]{32}\)/.exec(body)?.[0]);
    const mac = createHmac("sha256", KEY).update("anna@example.com").digest("hex");
    expect(first).toMatch(new RegExp(`^hash\\(${mac.slice(0, 20)}[0-9a-f]{12}\\)$`));
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const other = treatment("hash", { hashKey: "another key of some length" });
    expect(bodies(other.treat(logs("anna@example.com")))[0]).not.toBe(first);
  });
});

const isText = (key: string) => key === "stringValue" || key === "message" || key === "name";

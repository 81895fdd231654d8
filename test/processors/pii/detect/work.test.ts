import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scan, TOO_COSTLY } from "../../../../src/processors/pii/detect/scan.js";
import { DETECTORS } from "../../../../src/processors/pii/detect/text/detectors.js";
import { work } from "../../../../src/processors/pii/detect/text/work.js";
import { PiiTreatment } from "../../../../src/processors/pii/pii-treatment.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { logOf, readLog } from "../pii-harness.js";
import { ordinaryLines, plantedLines } from "./corpus.js";

const ALL = 2 ** DETECTORS.length - 1;

function costOf(text: string): { units: number; found: number; size: number } {
  const b = Buffer.from(text);
  work.spent = 0;
  const found = scan(b, 0, b.length, 0, ALL);
  return { units: work.spent, found, size: b.length };
}

const treatment = (patterns: [] = []) =>
  new PiiTreatment({
    isEnforced: true,
    detectors: new Map(DETECTORS.map((name) => [name, "mask"])),
    patterns,
    hashKey: undefined,
    fields: new Map(),
    secretKeys: "mask",
    summary: "silent",
    jsonBodies: false,
  });

/** Beginnings and parts of values that detectors find, and separators. */
const PIECES = [
  ...DETECTORS.flatMap((name) => plantedLines(name, 8, 11).flatMap(({ line, value }) => [line, value])),
  ..."SG. sk- ghp_ glsa_ eyJ eyJhbGciOiJI. AKIA AIza Bearer Basic token= password: secret=' auth=\" -----BEGIN ://a: :: fe80::".split(
    " ",
  ),
  ...'1 1. 1.2.3.4 4111 +49 (030) 00 DE89 @ a@ a@b.c %40 = : - _ . / \\" " \' , ; é 中 phone ssn key AccountKey= ;'.split(
    " ",
  ),
  "-----BEGIN PRIVATE KEY-----",
  "authorization: key ",
];
const hostileText = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom(...PIECES), fc.nat(40), fc.constantFrom("", " ", "\n", "a", "1")), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.integer({ min: 1, max: 60_000 }),
  )
  .map(([pieces, size]) => {
    // Cut anywhere: values that begin like a match and continue differently cost most.
    const unit = pieces.map(([piece, cut, end]) => piece.slice(0, 1 + cut) + end).join("");
    return unit.repeat(Math.ceil(size / unit.length));
  });

describe("the work of a scan", () => {
  it("is proportional to the length of the text, for every content", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const { units, size } = costOf(text);
        expect(units).toBeLessThanOrEqual(70 * size + 20_000);
      }),
      runs(150),
    );
  });

  it.each(["SG.", "sk-", "glsa_", "sntrys_", "token=", "password:", "::", "1:", "1 ", "1.", "d=", "%40", "eyJ"])(
    "is a few units per byte for %j repeated",
    (piece) => {
      const { units, size, found } = costOf(piece.repeat(300_000 / piece.length));
      expect(units / size).toBeLessThan(64);
      expect(found).toBeLessThanOrEqual(1);
    },
  );

  it.each([
    "4111 ",
    "1 ",
    "1.1.1.1 ",
    "password is x1 ",
    " -p a",
    "('a1',",
    "is is is is 1 ",
    "<password>",
    "::",
    "：",
  ])("ends within the limit of a text for four megabytes of %j", (piece) => {
    const { units } = costOf(piece.repeat((4 << 20) / Buffer.byteLength(piece)));
    expect(units).toBeLessThan(12_100_000);
  });

  it("is far below the budget for ordinary lines, one by one and together", () => {
    const lines = ordinaryLines(1000, 4);
    for (const text of [...lines, lines.join("\n")]) expect(costOf(text).found).not.toBe(TOO_COSTLY);
    const { units, size } = costOf(lines.join("\n"));
    expect(units / size).toBeLessThan(12);
  });
});

describe("a text that would take too long", () => {
  const costly = "a@b.io ".repeat(40_000);

  it("is masked as a whole, and counted", () => {
    const one = treatment();
    expect(bodies(one.treat(logs("fine", costly, "a@b.io")))).toEqual(["fine", "****", "****"]);
    const counts: Record<string, number> = {};
    one.takeCounts((i, count) => {
      counts[one.names[i]!] = count;
    });
    expect(counts).toEqual({ email: 1, too_costly: 1 });
  });
});

describe("a batch", () => {
  it("lets others have their turn when it takes long", async () => {
    const batch = logs(...Array.from({ length: 500 }, (_, i) => `a ${i} ${"token=".repeat(300)}`));
    const running = { isDone: false, turns: 0 };
    const tick = () => {
      running.turns++;
      if (!running.isDone) setImmediate(tick);
    };
    setImmediate(tick);
    const result = treatment().treatInTurns(batch);
    expect(result).toBeInstanceOf(Promise);
    expect((await result).count).toBe(500);
    running.isDone = true;
    expect(running.turns).toBeGreaterThan(5);
  });

  it("gives the same result in turns as in one go", async () => {
    const lines = Array.from({ length: 10 }, (_, i) => ordinaryLines(100, i).join(" a@b.io "));
    const batch = logs(...lines, ...lines);
    const inTurns = treatment().treatInTurns(batch);
    expect(inTurns).toBeInstanceOf(Promise);
    expect(Buffer.from((await inTurns).bytes).equals(Buffer.from(treatment().treat(batch).bytes))).toBe(true);
  });

  it("masks a value that would take more work than others may wait for", () => {
    const names = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`k${i}`, "a@b.io"]));
    const { body } = readLog(treatment().treat(logOf({ names })));
    expect(body).toBe("****");
    const { attributes } = readLog(treatment().treat(logOf("to a@b.io", { x: 1, names, y: "c@d.io" })));
    expect(attributes).toEqual({ x: 1, names: "****", y: "****" });
  });
});

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

interface Named {
  readonly name: string;
  readonly kind: string;
}
interface Measured extends Named {
  readonly value: number;
  readonly spread: number;
}
interface Cell extends Measured {
  readonly node: string;
  readonly limit: number;
}
interface Ledger {
  readonly cells: readonly Cell[];
}

const project = join(import.meta.dirname, "../..");
const load = (file: string) => import(new URL(`../../bench/ledger/${file}.js`, import.meta.url).href);
const { doubtful, toCell, failuresOf, updated } = (await load("compare")) as {
  doubtful: (ledger: Ledger, measured: readonly Measured[], planned: readonly Named[], node: string) => Named[];
  toCell: (measured: Measured, node: string) => Cell;
  failuresOf: (ledger: Ledger, measured: readonly Measured[], planned: readonly Named[], node: string) => string[];
  updated: (ledger: Ledger, cells: readonly Cell[], planned: readonly Named[]) => Ledger;
};
const { startCountingCopies, stopCountingCopies } = (await load("copies")) as {
  startCountingCopies: () => void;
  stopCountingCopies: () => number;
};
const { plannedCells } = (await load("cells")) as { plannedCells: () => (Named & { isShort: boolean })[] };

const exact = (value: number) => ({ name: "16 x 100", kind: "copied", value, spread: 0 });
const ratio = (value: number, spread = 0.05) => ({ name: "16 x 100", kind: "ratio", value, spread });
const ledger = (...cells: Measured[]) => ({ cells: cells.map((cell) => toCell(cell, "20")) });
const check = (before: Measured, now: Measured, node = "20") => failuresOf(ledger(before), [now], [now], node);

describe("the comparison with the ledger", () => {
  it("names a cell whose exact figure has risen by more than 2 %", () => {
    expect(check(exact(1000), exact(1020))).toEqual([]);
    expect(check(exact(1000), exact(1021))).toEqual(["16 x 100, copied 1000 -> 1021"]);
  });

  it("names a ratio that has risen by more than its spread and 15 %", () => {
    expect(check(ratio(1.5), ratio(1.8, 0))).toEqual([]);
    expect(check(ratio(1.5), ratio(1.81, 0))).toEqual(["16 x 100, ratio 1.5 -> 1.81"]);
  });

  it("names a ratio only if three quarters of its rounds are above the limit", () => {
    expect(check(ratio(1.5), ratio(2, 0.11))).toEqual([]);
    expect(check(ratio(1.5), ratio(2, 0.09))).toEqual(["16 x 100, ratio 1.5 -> 2"]);
  });

  it("names what has risen to be measured again", () => {
    const again = (before: Measured, now: Measured) => doubtful(ledger(before), [now], [now], "20");
    expect(again(ratio(1.5), ratio(2, 0))).toEqual([ratio(2, 0)]);
    expect(again(ratio(1.5), ratio(1.6, 0))).toEqual([]);
    expect(again(exact(1000), exact(1100))).toEqual([exact(1100)]);
  });

  it("allows no more for a spread above 10 %", () => {
    expect(check(ratio(1, 0.5), ratio(1.25, 0))).toEqual([]);
    expect(check(ratio(1, 0.5), ratio(1.26, 0))).toEqual(["16 x 100, ratio 1 -> 1.26"]);
  });

  it("accepts a figure that has fallen", () => {
    expect(check(exact(1000), exact(10))).toEqual([]);
  });

  it("does not accept a rise from nothing", () => {
    expect(check(exact(0), exact(1))).toEqual(["16 x 100, copied 0 -> 1"]);
  });

  it("names a figure that was not measured", () => {
    expect(failuresOf(ledger(exact(1)), [], [exact(1)], "20")).toEqual(["16 x 100, copied was not measured"]);
  });

  it("names a figure that the ledger does not have for this version of Node.js", () => {
    expect(check(exact(1), exact(1), "24")).toEqual([
      "16 x 100, copied is not in the ledger for Node.js 24: npm run ledger -- --write",
    ]);
  });
});

describe("writing the ledger", () => {
  it("replaces figures of the same cell, kind and version, and drops those that nothing measures", () => {
    const gone = { name: "gone", kind: "copied", value: 1, spread: 0 };
    const before = { cells: [toCell(gone, "20"), toCell(exact(1), "20"), toCell(exact(2), "24")] };
    const after = updated(before, [toCell(exact(3), "20")], [exact(3)]);
    expect(after.cells.map(({ node, value }) => [node, value])).toEqual([
      ["20", 3],
      ["24", 2],
    ]);
  });
});

describe("npm run ledger -- --diff", () => {
  it("prints the figures that differ", () => {
    const folder = mkdtempSync(join(tmpdir(), "ledger-diff-"));
    try {
      const [a, b] = [join(folder, "a.json"), join(folder, "b.json")];
      writeFileSync(a, JSON.stringify(ledger(exact(1000), ratio(1.5))));
      writeFileSync(b, JSON.stringify(ledger(exact(1500), ratio(1.5))));
      const output = execFileSync(process.execPath, ["bench/ledger/run.js", "--diff", a, b], {
        cwd: project,
        encoding: "utf8",
      });
      expect(output).toMatch(/^16 x 100, copied, Node.js 20 +1000 +1500 +\+50.0 %$/m);
      expect(output).not.toContain("ratio");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("bench/ledger.json", () => {
  const { cells } = JSON.parse(readFileSync(join(project, "bench/ledger.json"), "utf8")) as Ledger;
  const key = ({ name, kind }: Named) => `${name}, ${kind}`;
  const planned = plannedCells();

  it("has only figures that are measured, once for each version of Node.js", () => {
    const known = new Set(planned.map(key));
    expect(cells.map(key).filter((each) => !known.has(each))).toEqual([]);
    const keys = cells.map((cell) => `${key(cell)}, ${cell.node}`);
    expect(keys).toEqual([...new Set(keys)]);
  });

  it("has no value whose rounds differ by more than 10 %", () => {
    expect(cells.filter(({ spread }) => spread > 0.1)).toEqual([]);
  });

  it("has limits that follow from the values", () => {
    for (const cell of cells) expect(cell).toEqual(toCell(cell, cell.node));
  });

  it("has ten ratios in the short form", () => {
    expect(planned.filter(({ kind, isShort }) => kind === "ratio" && isShort)).toHaveLength(10);
  });
});

describe("the counter of copies", () => {
  const copied = (work: () => void): number => {
    startCountingCopies();
    work();
    return stopCountingCopies();
  };
  const source = Buffer.from("0123456789");

  it.each<[string, number, () => void]>([
    ["Buffer.concat", 20, () => Buffer.concat([source, source])],
    ["Buffer.from of a text, once", 10, () => Buffer.from("0123456789")],
    ["Buffer.from of a buffer", 10, () => Buffer.from(source)],
    ["no view of an ArrayBuffer", 0, () => Buffer.from(new ArrayBuffer(10))],
    ["copy", 5, () => source.copy(Buffer.alloc(10), 5)],
    ["set of bytes", 10, () => new Uint8Array(20).set(source)],
    ["set of numbers", 16, () => new Float64Array(4).set([1, 2])],
    ["slice of a Uint8Array", 3, () => Uint8Array.prototype.slice.call(source, 0, 3)],
    ["no slice of a Buffer", 0, () => source.subarray(0, 3)],
    ["slice of an ArrayBuffer", 4, () => new ArrayBuffer(8).slice(4)],
    ["written texts, once", 3, () => Buffer.alloc(10).write("abc")],
    ["written numbers", 4, () => Buffer.alloc(10).writeUInt32LE(1, 2)],
    ["copyWithin", 4, () => new Uint8Array(10).copyWithin(0, 6)],
  ])("counts %s", (_, bytes, work) => {
    expect(copied(work)).toBe(bytes);
  });

  it("leaves the methods as they were", () => {
    const before = [Buffer.concat, Buffer.prototype.copy, Uint8Array.prototype.set];
    copied(() => {});
    expect([Buffer.concat, Buffer.prototype.copy, Uint8Array.prototype.set]).toEqual(before);
    expect(
      copied(() => {}),
      "without work",
    ).toBe(0);
  });
});

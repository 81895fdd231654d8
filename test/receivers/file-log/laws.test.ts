import { appendFileSync, copyFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CutState, type CutterSettings, createCutter } from "../../../src/runtime/logs/entries/record-cutter.js";
import { textEncoding } from "../../../src/runtime/logs/entries/text-encoding.js";
import { compilePattern } from "../../../src/runtime/text/patterns/pattern.js";
import { runs } from "../../support/runs.js";
import { until } from "../../support/until.js";
import { LogFiles } from "./harness.js";

/** The records of a text that is written piece by piece, and read after each with a window that grows as it must. */
function cutInPieces(pieces: readonly Buffer[], settings: Partial<CutterSettings>): string[] {
  const cutter = createCutter({
    encoding: textEncoding("utf-8")!,
    maxLogSize: 1000,
    truncates: false,
    trimsLeading: false,
    trimsTrailing: false,
    ...settings,
  });
  const records: string[] = [];
  const sink = {
    takeText: (bytes: Buffer, from: number, to: number) => void records.push(bytes.toString("utf8", from, to)),
    takeBytes: (bytes: Buffer) => void records.push(bytes.toString("latin1")),
  };
  let file: Buffer = Buffer.alloc(0);
  let state: CutState = { offset: 0, isSkipping: false, records: 0 };
  const readOn = (isEnd: boolean) => {
    for (;;) {
      const done = cutter.cut(file.subarray(state.offset), state, isEnd, sink);
      state = { ...state, offset: state.offset + done };
      if (done === 0 || state.offset === file.length) return;
    }
  };
  for (const piece of pieces) {
    file = Buffer.concat([file, piece]);
    readOn(false);
  }
  readOn(true);
  return records;
}

const piecesOf = (text: Buffer, cuts: readonly number[]) => {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((end, i) => text.subarray(places[i], end));
};

const line = fc.string({ unit: fc.constantFrom("a", "b", "E", " ", "é", "𝄞", ";", "\t", "\r"), maxLength: 12 });
const text = fc.array(line, { maxLength: 30 }).map((lines) => Buffer.from(lines.join("\n")));
const cuts = fc.array(fc.nat(400), { maxLength: 8 });

describe("records do not depend on how a file was written", () => {
  it("by lines", () => {
    fc.assert(
      fc.property(text, cuts, fc.integer({ min: 4, max: 40 }), (whole, places, maxLogSize) => {
        const expected = whole
          .toString()
          .split("\n")
          .map((each, i, all) => (i + 1 < all.length ? each.replace(/\r$/, "") : each))
          .filter((each) => each !== "");
        if (Math.max(0, ...expected.map((each) => Buffer.byteLength(each))) + 8 <= maxLogSize)
          expect(cutInPieces(piecesOf(whole, places), { maxLogSize })).toEqual(expected);
        const joined = cutInPieces(piecesOf(whole, places), { maxLogSize, trimsTrailing: false }).join("");
        expect(joined.replaceAll("\r", "")).toBe(whole.toString().replaceAll(/[\r\n]/g, ""));
      }),
      runs(500),
    );
  });

  it("by a pattern for their begin, as a simple model has it", () => {
    const multiline = { pattern: compilePattern("(?m)^E"), isStart: true, omitsPattern: false };
    fc.assert(
      fc.property(text, cuts, (whole, places) => {
        const expected: string[] = [];
        for (const [index, each] of whole.toString().split("\n").entries()) {
          if (index === 0 || each.startsWith("E")) expected.push(each);
          else expected[expected.length - 1] += `\n${each}`;
        }
        const joinedLines = expected
          .map((each, i) => (i + 1 < expected.length ? `${each}\n` : each))
          .filter((each) => each !== "");
        expect(cutInPieces(piecesOf(whole, places), { multiline })).toEqual(joinedLines);
      }),
      runs(500),
    );
  });

  it("by a pattern for their end, as a simple model has it", () => {
    const multiline = { pattern: compilePattern("(?m);"), isStart: false, omitsPattern: true };
    fc.assert(
      fc.property(text, cuts, (whole, places) => {
        const expected = whole
          .toString()
          .split(";")
          .filter((each) => each !== "");
        expect(cutInPieces(piecesOf(whole, places), { multiline })).toEqual(expected);
      }),
      runs(500),
    );
  });
});

describe("lines do not depend on rotations", () => {
  const step = fc.constantFrom("write", "write", "write", "move", "copytruncate", "wait", "restart");

  it("any order of writes, rotations and restarts gives every line once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const files = new LogFiles();
        const config = { include: [files.path("*.log*")] };
        const written: string[] = [];
        let rotations = 0;
        const write = () => {
          const lines = [`line ${written.length} of it`, `line ${written.length + 1}`];
          written.push(...lines);
          appendFileSync(files.path("a.log"), `${lines.join("\n")}\n`);
        };
        writeFileSync(files.path("a.log"), "");
        await files.start(config);
        for (const each of steps) {
          if (each === "write") write();
          else if (each === "move") {
            renameSync(files.path("a.log"), files.path(`a.log.${++rotations}`));
            write();
          } else if (each === "copytruncate") {
            write();
            copyFileSync(files.path("a.log"), files.path(`a.log.${++rotations}`));
            truncateSync(files.path("a.log"));
          } else if (each === "restart") {
            await files.stop();
            await files.start(config);
          } else await until(() => expect(new Set(files.bodies)).toEqual(new Set(written)));
        }
        await until(() => expect(new Set(files.bodies)).toEqual(new Set(written)));
        await files.stop();
        expect(files.bodies.toSorted()).toEqual(written.toSorted());
      }),
      runs(15),
    );
  });
});

import { finished } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { type Batch, type Outcome, Refusal } from "../../../src/index.js";
import { LineStream } from "../../../src/runtime/pino/line-stream.js";
import { bodies } from "../../support/batches.js";

const line = (msg: string) => `${JSON.stringify({ level: 30, time: 1, msg })}\n`;
const OK: Outcome = { ok: true, rejected: 0, message: "" };
const LATER: Outcome = { ok: false, refusal: new Refusal("transient", "full") };
const NEVER: Outcome = { ok: false, refusal: new Refusal("permanent", "bad") };

/** A stream into something that answers like this, and with success when there is no answer left. */
function streamInto(answers: Outcome[], patienceMs: number) {
  const taken: string[] = [];
  const reports: string[] = [];
  let settled = 0;
  const sluice = {
    async accept(batch: Batch) {
      const outcome = answers.shift() ?? OK;
      if (outcome.ok) taken.push(...bodies(batch));
      return outcome;
    },
    stop: async () => {},
  };
  const onSettled = (lines: number) => void (settled += lines);
  const report = (text: string) => void reports.push(text);
  const stream = new LineStream({ sluice, resource: {}, patienceMs, onSettled, report });
  return { stream, taken, reports, settled: () => settled };
}

describe("LineStream", () => {
  it("takes lines however they are cut", async () => {
    const { stream, taken, settled } = streamInto([], 1000);
    const text = line("one") + line("zwei €") + line("three");
    for (const char of text) stream.write(char);
    stream.write("no JSON");
    stream.end();
    await finished(stream);
    expect(taken).toEqual(["one", "zwei €", "three", "no JSON"]);
    expect(settled()).toBe(4);
  });

  it("offers lines again while they are refused retryably", async () => {
    const { stream, taken, reports } = streamInto([LATER, LATER], 60_000);
    stream.write(line("one"));
    stream.end();
    await finished(stream);
    expect([taken, reports]).toEqual([["one"], []]);
  });

  it("reports what was lost when patience is at its end, and loses no more than it must", async () => {
    const { stream, taken, reports, settled } = streamInto([LATER, LATER, OK, NEVER], 0);
    for (const text of ["one", "two", "three", "four", "five"]) {
      await new Promise<void>((resolve) => stream.write(line(text), () => resolve()));
    }
    stream.end();
    await finished(stream);
    expect(taken).toEqual(["three", "five"]);
    expect(settled()).toBe(5);
    expect(reports).toEqual(["1 log lines were not delivered: full", "2 log lines were not delivered: bad"]);
  });
});

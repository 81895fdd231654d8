import { finished } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { LineStream } from "../../../../src/agent/embed/pino/line-stream.js";
import { Refusal } from "../../../../src/index.js";
import type { Batch, Outcome } from "../../../../src/plugin.js";
import { bodies } from "../../../support/telemetry/batches.js";

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
  const stream = new LineStream({ sluice, resource: {}, patienceMs, maxBytes: 1000, onSettled, report });
  return { stream, taken, reports, settled: () => settled };
}

describe("LineStream", () => {
  it("accepts lines that are split at any place", async () => {
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

  it("never makes the writer wait: what there is no room for is lost at once, and settled in its turn", async () => {
    let answer = (_outcome: Outcome) => {};
    const reports: string[] = [];
    const settled: number[][] = [];
    const sluice = { accept: () => new Promise<Outcome>((resolve) => void (answer = resolve)), stop: async () => {} };
    const stream = new LineStream({
      ...{ sluice, resource: {}, patienceMs: 0, maxBytes: 200 },
      onSettled: (...numbers) => void settled.push(numbers),
      report: (text) => void reports.push(text),
    });
    for (let i = 0; i < 10; i++) expect(stream.write(line("x".repeat(20)))).toBe(true);
    expect(stream.writableLength).toBe(0);
    expect(reports).toEqual(["1 log lines were not delivered: over 200 bytes of lines are waiting"]);
    let isFlushed = false;
    const flushing = stream.flush().then(() => {
      isFlushed = true;
    });
    await expect.poll(() => answer).not.toBe(undefined);
    await Promise.resolve();
    expect([settled, isFlushed]).toEqual([[], false]);
    const answering = setInterval(() => answer(OK), 1);
    await flushing;
    clearInterval(answering);
    const sum = (at: number) => settled.reduce((all, numbers) => all + numbers[at]!, 0);
    expect(sum(0)).toBe(10);
    expect(sum(1)).toBeGreaterThan(4);
    expect(settled.at(-1)).toEqual([sum(1), sum(1)]);
  });

  it("stops within the limit when asked to hurry", async () => {
    const reports: string[] = [];
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const accept = () => stopped.then((): Outcome => LATER);
    const sluice = { accept, stop: async () => stop() };
    const report = (text: string) => void reports.push(text);
    const stream = new LineStream({ sluice, resource: {}, patienceMs: 60_000, maxBytes: 1e6, report });
    stream.write(line("one").repeat(3));
    stream.setDeadline(0);
    await stream.flush();
    expect(reports).toEqual(["3 log lines were not delivered: full"]);
  });
});

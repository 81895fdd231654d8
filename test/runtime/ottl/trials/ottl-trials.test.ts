import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { OttlTrials } from "../../../../src/runtime/ottl/trials/ottl-trials.js";
import { FakeClock } from "../../../support/fake-clock.js";

const TRIAL = { record: {}, statements: [] };
const trial = (statement: string) => ({ ...TRIAL, statements: [statement] });

/** A thread that does what the first statement says, and answers with its id. */
const THREAD = `
const { parentPort, threadId } = require("node:worker_threads");
parentPort.on("message", ({ statements: [what] }) => {
  if (what === "loop") for (;;);
  const list = [];
  if (what === "fill") for (;;) list.push(new Array(100_000).fill(0.5));
  if (what === "exit") process.exit(0);
  if (what === "fail") throw new Error("broken");
  if (what !== "wait") parentPort.postMessage({ json: String(threadId) });
});`;

function startTrials(clock = new FakeClock()) {
  const trials = new OttlTrials(
    (ms, run) => clock.after(ms, run),
    () => ({ code: THREAD, eval: true }),
  );
  onTestFinished(() => trials.stop());
  return { clock, trials };
}

describe("trials of OTTL", () => {
  it("run one after the other in one thread", async () => {
    const { trials } = startTrials();
    const [first, second] = await Promise.all([trials.run(TRIAL), trials.run(TRIAL)]);
    expect(second).toBe(first);
  });

  it("end the thread when none has come for a while, and start another for the next", async () => {
    const { trials, clock } = startTrials();
    const first = await trials.run(TRIAL);
    await clock.advance(60_000);
    expect(await trials.run(TRIAL)).not.toBe(first);
  });

  it("are ended when they take too long, and others go on in another thread", async () => {
    const { trials, clock } = startTrials();
    const first = await trials.run(TRIAL);
    const [endless, next] = [trials.run(trial("loop")), trials.run(TRIAL)];
    endless.catch(() => {});
    await clock.advance(3000);
    await expect(endless).rejects.toThrow(/^the trial takes too long: more than 3000 ms$/);
    expect(await next).not.toBe(first);
  });

  it.each([
    ["fill", /^the trial needs too much memory$/],
    ["exit", /^the thread for trials ended$/],
    ["fail", /^broken$/],
  ])("fail alone when their thread ends: %s", async (what, message) => {
    const { trials } = startTrials();
    const [failed, next] = [trials.run(trial(what)), trials.run(TRIAL)];
    await expect(failed).rejects.toThrow(message);
    expect(await next).toMatch(/^\d+$/);
  });

  it("are refused while many wait", async () => {
    const { trials } = startTrials();
    const waiting = Array.from({ length: 17 }, () => trials.run(trial("wait")).catch(() => {}));
    await expect(trials.run(TRIAL)).rejects.toThrow(/^too many trials wait/);
    await trials.stop();
    await Promise.all(waiting);
  });

  it("are rejected when the agent stops", async () => {
    const { trials } = startTrials();
    const endless = trials.run(trial("loop"));
    const stopped = trials.stop();
    await expect(endless).rejects.toThrow("the agent is stopping");
    await stopped;
    await expect(trials.run(TRIAL)).rejects.toThrow("the agent is stopping");
  });

  it("answer with the results as JSON, or why there are none", async () => {
    const trials = new OttlTrials((ms, run) => systemClock.after(ms, run));
    onTestFinished(() => trials.stop());
    const record = { body: { stringValue: "a" } };
    const json = await trials.run({ context: "log", record, statements: ['set(body, "b")'] });
    expect(JSON.parse(json).results).toMatchObject([{ changed: true, record: { body: { stringValue: "b" } } }]);
    await expect(trials.run({ record, statements: ["set(body, 1)"] })).rejects.toThrow(/which signal/);
    await expect(trials.run({ context: "log", record: { body: 1 }, statements: [] })).rejects.toThrow(/body/);
  });
});

import { describe, expect, it } from "vitest";
import { numbers, type Queue, refusing, startQueue } from "../queue.js";

const STATUSES = [400, 401, 403, 404, 405, 409, 410, 413, 415, 422];

/** Calls that a bad record was in, and what became of it. */
async function callsWithBad(queue: Queue): Promise<[number, (string | undefined)[]]> {
  const calls = queue.calls.filter((bodies) => bodies.includes("bad")).length;
  return [calls, (await queue.deadLetters()).map(({ failure }) => failure?.rule)];
}

describe("a permanent refusal", () => {
  it.each(STATUSES)("needs one call when others are taken: %i", async (status) => {
    const queue = await startQueue({ backend: refusing((body) => body === "bad", status) });
    for (const body of numbers(5)) queue.send(body);
    queue.send("bad");
    for (let i = 5; i < 30; i++) {
      queue.send(`r${i}`);
      await queue.pass(2000, 500);
    }
    expect(await callsWithBad(queue)).toEqual([1, ["permanent_refusal"]]);
    expect(queue.taken.sort()).toEqual(numbers(30).sort());
    expect((await queue.deadLetters())[0]).toMatchObject({ attempts: 1, calls: 1, history: [{}] });
  });

  it.each([400, 403])("needs one call and its bisection when it has several records: %i", async (status) => {
    const queue = await startQueue({ backend: refusing((body) => body === "bad", status) });
    queue.send("bad", ...numbers(7));
    for (let i = 7; i < 30; i++) {
      await queue.pass(2000, 500);
      queue.send(`r${i}`);
    }
    await queue.pass(5000, 500);
    // Eight records, four, two, one.
    expect(await callsWithBad(queue)).toEqual([4, ["permanent_refusal"]]);
    expect(queue.taken.sort()).toEqual(numbers(30).sort());
  });

  it.each([404, 405, 410, 415])(
    "needs one call without a bisection when it is about the address: %i",
    async (status) => {
      const queue = await startQueue({ backend: refusing((body) => body === "bad", status) });
      queue.send("bad", ...numbers(7));
      await queue.pass(2000, 500);
      queue.send("r7");
      await queue.pass(5000, 500);
      expect(await callsWithBad(queue)).toEqual([1, ["permanent_refusal"]]);
      expect(queue.taken).toEqual(["r7"]);
      expect(await queue.deadLetters()).toMatchObject([{ items: 8 }]);
    },
  );

  it.each([400, 403])("takes only the bad entry of a merged request: %i", async (status) => {
    const queue = await startQueue({ batching: {}, backend: refusing((body) => body === "bad", status) });
    for (const body of ["r0", "bad", "r1", "r2"]) queue.send(body);
    for (let i = 3; i < 20; i++) {
      await queue.pass(1000, 200);
      queue.send(`r${i}`);
    }
    await queue.pass(5000, 500);
    // All four entries, two of them, one.
    expect(await callsWithBad(queue)).toEqual([3, ["permanent_refusal"]]);
    expect(queue.taken.sort()).toEqual(numbers(20).sort());
  });

  it("is tried again as often as hold_retries says", async () => {
    const settings = { retry_on_failure: { hold_retries: 3 } };
    const queue = await startQueue({ settings, backend: refusing((body) => body === "bad", 403) });
    queue.send("bad");
    for (const body of numbers(60)) {
      await queue.pass(2000, 500);
      queue.send(body);
    }
    const [calls, rules] = await callsWithBad(queue);
    expect(calls).toBeGreaterThanOrEqual(4);
    expect(rules).toEqual(["permanent_refusal"]);
  });

  it("of everything holds everything: what was refused then is sent when the backend takes again", async () => {
    let isRefusing = true;
    const queue = await startQueue({ backend: refusing(() => isRefusing, 401) });
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(300_000, 1000);
    expect(queue.outlet.status()).toMatchObject({ state: "DOWN", refused: { class: "HTTP 401" } });
    isRefusing = false;
    await queue.pass(120_000, 500);
    expect([queue.taken.length, await queue.deadLetters()]).toEqual([20, []]);
  });
});

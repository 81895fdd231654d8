import { describe, expect, it } from "vitest";
import { ReadLoop } from "../../../src/runtime/resilience/read-loop.js";
import { FakeClock } from "../../../src/testing.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the read loop", () => {
  it("reads again after each failure, and counts failures from the last time it worked", async () => {
    const clock = new FakeClock();
    const loop = new ReadLoop(clock);
    const reads: number[] = [];
    const ends: unknown[] = [];
    const running = loop.run({
      read: async (onReading) => {
        reads.push(reads.length);
        if (reads.length === 3) onReading();
        throw new Error(`failure ${reads.length}`);
      },
      onEnd: (reason) => ends.push((reason as Error).message),
      delays: (failures) => 50 * 2 ** failures,
    });
    for (const [ms, count] of [
      [0, 1],
      [99, 1],
      [1, 2],
      [199, 2],
      [1, 3],
      [99, 3],
      [1, 4],
    ] as const) {
      clock.advance(ms);
      await turn();
      expect(reads.length).toBe(count);
    }
    loop.stop();
    await running;
    expect(ends).toEqual(["failure 1", "failure 2", "failure 3", "failure 4"]);
  });

  it("reads again at once when there is nothing to wait for", async () => {
    const loop = new ReadLoop(new FakeClock());
    const failures: number[] = [];
    await loop.run({
      read: async () => failures.length,
      onEnd: (reason) => reason === 3 && loop.stop(),
      delays: (count) => {
        failures.push(count);
        return 0;
      },
    });
    expect(failures).toEqual([1, 2, 3, 4]);
  });

  it("ends pauses and does not read again when it stops, for every result of the last read", async () => {
    const loop = new ReadLoop(new FakeClock());
    const ends: unknown[] = [];
    let fail = (_: Error) => {};
    const running = loop.run({
      read: () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
      onEnd: (reason) => ends.push(reason),
      delays: () => 1,
    });
    const paused = loop.pause(1_000_000);
    loop.stop();
    await paused;
    await loop.pause(1_000_000);
    fail(new Error("the connection was closed"));
    await running;
    expect(ends).toEqual([]);
  });

  it("ends a pause between two reads when it stops, and reads no more", async () => {
    const clock = new FakeClock();
    const loop = new ReadLoop(clock);
    let reads = 0;
    const running = loop.run({ read: async () => reads++, onEnd: () => {}, delays: () => 1_000_000 });
    await turn();
    expect(clock.pending).toBe(1);
    loop.stop();
    await running;
    await loop.run({ read: async () => reads++, onEnd: () => {}, delays: () => 0 });
    expect([reads, clock.pending]).toEqual([1, 0]);
  });
});

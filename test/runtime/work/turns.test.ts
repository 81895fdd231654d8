import { setImmediate as nextLoop } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { SLICE_MS, SliceTimer, turns } from "../../../src/runtime/work/turns.js";

/** Holds the event loop for this long. */
function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe("turns of the event loop", () => {
  it("lets other work run between the slices of several jobs", async () => {
    const order: string[] = [];
    const job = async (name: string) => {
      for (let i = 0; i < 3; i++) {
        await turns.next();
        turns.run(() => order.push(`${name}${i}`));
      }
    };
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        await nextLoop();
        order.push("other");
      }
    })();
    await Promise.all([job("a"), job("b")]);
    isOver = true;
    await others;
    const slices = order.filter((each) => each !== "other");
    expect(slices).toEqual(["a0", "b0", "a1", "b1", "a2", "b2"]);
    for (let i = 1; i < slices.length; i++) {
      const between = order.slice(order.indexOf(slices[i - 1]!), order.indexOf(slices[i]!));
      expect(between).toContain("other");
    }
  });

  it("has no time for a second slice in a turn that a slice has used up", async () => {
    await nextLoop();
    expect(turns.hasTime).toBe(true);
    turns.run(() => spin(SLICE_MS + 1));
    expect(turns.hasTime).toBe(false);
    await turns.next();
    expect(turns.hasTime).toBe(true);
  });

  it("gives everybody who works in a turn one turn together", async () => {
    await nextLoop();
    const first = new SliceTimer();
    spin(SLICE_MS + 1);
    const second = new SliceTimer();
    expect([first.isOver, second.isOver]).toEqual([true, true]);
    await second.nextSlice();
    expect([first.isOver, second.isOver]).toEqual([false, false]);
  });

  it("counts slices, also those that throw", () => {
    const before = turns.slices;
    expect(() =>
      turns.run(() => {
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(turns.slices).toBe(before + 1);
  });
});

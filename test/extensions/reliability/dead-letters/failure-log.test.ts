import { describe, expect, it } from "vitest";
import { numbers, refusing, startQueue } from "../queue.js";

describe("thousands of failures", () => {
  it("make a few lines and a count, not a flood", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 409) });
    for (const body of numbers(2000)) queue.send(body);
    for (let i = 0; i < 30; i++) await queue.settle();
    await queue.outlet.drain();
    await queue.outlet.stop();
    const told = queue.lines.filter(({ level }) => level === "warn");
    expect(told.length).toBe(21);
    expect(told.at(-1)?.fields).toEqual({ suppressed: 1980 });
  });
});

import { describe, expect, it } from "vitest";
import { numbers, refusing, startQueue } from "../queue.js";

describe("thousands of failures", () => {
  it("make a few lines and a count, not a flood", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 409) });
    for (const body of numbers(500)) queue.send(body);
    for (let i = 0; i < 30; i++) await queue.settle();
    await queue.outlet.drain();
    await queue.outlet.stop();
    const told = queue.lines.filter(({ level }) => level === "warn");
    expect(told.length).toBe(21);
    expect(told.at(-1)?.fields).toEqual({ suppressed: 480 });
  });

  it("are all logged or counted within ten seconds, while the agent runs on", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 409) });
    for (const body of numbers(100)) queue.send(body);
    for (let i = 0; i < 5; i++) await queue.settle();
    await queue.pass(10_000, 1000);
    const suppressed = queue.lines.map(({ fields }) => fields["suppressed"]).filter((count) => count !== undefined);
    expect(suppressed).toEqual([80]);
    expect(queue.clock.pending).toBe(0);
  });

  it.each([
    [3, 4],
    [0, 30],
  ])("make as many lines as the config allows: %i", async (max_log_lines, lines) => {
    const settings = { dead_letter: { max_log_lines } };
    const queue = await startQueue({ backend: refusing(() => true, 409), settings });
    for (const body of numbers(30)) queue.send(body);
    for (let i = 0; i < 5; i++) await queue.settle();
    await queue.pass(10_000, 5000);
    expect(queue.lines.filter(({ level }) => level === "warn")).toHaveLength(lines);
  });
});

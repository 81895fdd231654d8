import type { StatsFs } from "node:fs";
import { describe, expect, it } from "vitest";
import { MountUsage } from "../../../src/receivers/host-metrics/device-scrapers.js";
import { FakeClock } from "../../support/fake-clock.js";

describe("the use of mounted file systems", () => {
  it("is what the machine says, and nothing where there is none", async () => {
    const mounts = new MountUsage(new FakeClock());
    expect((await mounts.of("/"))!.blocks).toBeGreaterThan(0);
    expect(await mounts.of("/no/such/folder")).toBeUndefined();
  });

  it("is known of others while one does not answer, which is asked once, and again when it has", async () => {
    const clock = new FakeClock();
    const asked: string[] = [];
    const answers = new Map<string, (usage: StatsFs) => void>();
    const usage = { blocks: 1 } as StatsFs;
    const mounts = new MountUsage(clock, (path) => {
      asked.push(path);
      return path.startsWith("/dead") ? new Promise((resolve) => answers.set(path, resolve)) : Promise.resolve(usage);
    });
    const late = async (path: string) => {
      const answer = mounts.of(path);
      clock.advance(5000);
      return answer;
    };
    await expect(late("/dead")).rejects.toThrow("/dead does not answer");
    await expect(mounts.of("/dead")).rejects.toThrow("/dead does not answer");
    expect(await mounts.of("/")).toBe(usage);
    await expect(late("/dead2")).rejects.toThrow("/dead2 does not answer");
    await expect(mounts.of("/")).rejects.toThrow("/ is not asked while /dead and /dead2 do not answer");
    expect(asked).toEqual(["/dead", "/", "/dead2"]);
    answers.get("/dead")!(usage);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await mounts.of("/")).toBe(usage);
    const again = mounts.of("/dead");
    answers.get("/dead")!(usage);
    expect(await again).toBe(usage);
    expect(clock.pending).toBe(0);
  });
});

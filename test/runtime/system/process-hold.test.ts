import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { holdName } from "../../../src/runtime/system/process-hold.js";

const name = (part: string) => `sluice-test-${process.pid}-${part}`;

describe("a hold", () => {
  it("is for one at a time, and says who has it since when", async () => {
    const hold = await holdName(name("one"));
    expect(await holdName(name("one"))).toEqual({ heldBy: { pid: process.pid, since: expect.any(String) } });
    if ("heldBy" in hold) return expect.unreachable();
    await hold.release();
    const next = await holdName(name("one"));
    expect(next).not.toHaveProperty("heldBy");
    if (!("heldBy" in next)) await next.release();
  });

  it.runIf(process.platform === "linux")("says which process has it that is stopped and does not answer", async () => {
    const address = JSON.stringify(`\0${name("stopped")}`.padEnd(108, "-"));
    const code = `require("node:net").createServer().listen(${address}, () => console.log("holding"))`;
    const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    child.kill("SIGSTOP");
    await expect.poll(() => readFileSync(`/proc/${child.pid}/stat`, "utf8")).toContain(") T ");
    expect(await holdName(name("stopped"))).toEqual({ heldBy: { pid: child.pid } });
  });
});

import { appendFileSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { bodies } from "../../support/telemetry/batches.js";
import { until } from "../../support/until.js";
import { LogFiles } from "./harness.js";

describe("the file_log receiver", () => {
  it("cuts a line of 100 MB, and passes over a hole of half a gigabyte, with bounded memory", async () => {
    const files = new LogFiles();
    const part = "x".repeat(20 * 1024 * 1024);
    for (let i = 0; i < 5; i++) appendFileSync(files.path("long.log"), part);
    appendFileSync(files.path("long.log"), "\nbehind the line\n");
    writeFileSync(files.path("hole.log"), "");
    truncateSync(files.path("hole.log"), 512 * 1024 * 1024);
    appendFileSync(files.path("hole.log"), "behind the hole\n");
    let [bytes, most] = [0, 0];
    const last: unknown[] = [];
    files.intake.accept = async (batch) => {
      bytes += batch.byteLength;
      most = Math.max(most, process.memoryUsage().arrayBuffers);
      if (batch.byteLength < 1000) last.push(...bodies(batch));
      return ACCEPTED;
    };
    const before = process.memoryUsage().arrayBuffers;
    await files.start();
    await until(() => expect(last.toSorted()).toEqual(["behind the hole", "behind the line"]));
    expect(bytes).toBeGreaterThan(100 * 1024 * 1024);
    // Uncollected garbage counts too, and a busy machine has more of it. The files are 612 MiB.
    expect(most - before).toBeLessThan(128 * 1024 * 1024);
  });

  it("reads thousands of files with few of them open", async () => {
    const files = new LogFiles();
    for (let i = 0; i < 1500; i++) writeFileSync(files.path(`${i}.log`), `line of ${i}\n`);
    await files.start({ max_concurrent_files: 10 });
    await until(() => expect(files.bodies).toHaveLength(1500));
    appendFileSync(files.path("1234.log"), "more\n");
    await until(() => expect(files.bodies.at(-1)).toBe("more"));
    expect(files.bodies).toHaveLength(1501);
  });
});

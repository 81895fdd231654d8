import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startQueue } from "./queue.js";

const page = readFileSync("docs/reliability.md", "utf8");

describe("docs/reliability.md", () => {
  it("names every metric a queue has", async () => {
    const { metrics } = await startQueue();
    const missing = [...metrics.names]
      .map((name) => name.replace(/_(log_records|spans|metric_points)$/, "_{"))
      .filter((name) => !page.includes(name));
    expect(missing).toEqual([]);
  });
});

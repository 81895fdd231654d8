import { expect, it } from "vitest";
import { startQueue } from "../../runtime/queue/queue.js";
import type { Page } from "../pages.js";

export function reliability({ text }: Page): void {
  it("names every metric a queue has", async () => {
    const { metrics } = await startQueue();
    const missing = [...metrics.names]
      .map((name) => name.replace(/_(log_records|spans|metric_points)$/, "_{"))
      .filter((name) => !text.includes(name));
    expect(missing).toEqual([]);
  });
}

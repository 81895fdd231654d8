import { describe, expect, it } from "vitest";
import { down, hangs, startQueue } from "../queue.js";

describe("the metrics of a queue", () => {
  it("tell how long retries wait, and how many do", async () => {
    const queue = await startQueue({ settings: { retry_on_failure: { jitter: "none" } }, backend: down });
    queue.send("a");
    queue.send("b");
    await queue.settle();
    expect(queue.metrics.value("sluice_exporter_waiting_retries")).toBe(2);
    expect(queue.metrics.value("sluice_exporter_retry_delay")).toBe(2);
    await queue.pass(1000);
    expect(queue.metrics.value("sluice_exporter_retry_delay")).toBe(4);
  });

  it("name its signal where there is one, count by its sizer, and know no limit of 0", async () => {
    const items = { sizer: "items", queue_size: 100 };
    for (const [settings, signals, type, size, capacity] of [
      [{}, ["logs", "traces"], "all", 1, undefined],
      [{ sending_queue: items }, ["logs"], "logs", 3, 100],
    ] as const) {
      const queue = await startQueue({ settings, signals, backend: hangs });
      queue.send("a", "b", "c");
      await queue.settle();
      expect(queue.metrics.value("otelcol_exporter_queue_size", { data_type: type })).toBe(size);
      expect(queue.metrics.names.has("otelcol_exporter_queue_capacity")).toBe(capacity !== undefined);
      expect(queue.metrics.value("otelcol_exporter_queue_capacity", { data_type: type })).toBe(capacity ?? 0);
    }
  });
});

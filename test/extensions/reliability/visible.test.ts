import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../src/plugin.js";
import { refusalOfHttp } from "../../../src/runtime/kit.js";
import { owed } from "../../support/deliveries.js";
import { startQueue } from "./queue.js";

const http = (status: number) => refusalOfHttp(status, "no", undefined);

describe("the breaker of a queue", () => {
  it("shows its state, its changes and what met it while it was open, in metrics and log", async () => {
    let isDown = true;
    const queue = await startQueue({
      backend: async () => {
        if (isDown) throw http(503);
        return undefined;
      },
    });
    const value = (name: string) => queue.metrics.value(`sluice_breaker_${name}`);
    for (let i = 0; i < 5; i++) queue.send("a");
    await queue.settle();
    expect([value("state"), value("opened"), value("closed"), value("rejected")]).toEqual([2, 1, 0, 0]);
    queue.send("b");
    queue.send("c");
    await queue.settle();
    expect(value("rejected")).toBe(2);
    isDown = false;
    await queue.pass(60_000, 1000);
    expect([value("state"), value("opened"), value("closed")]).toEqual([0, 1, 1]);
    const told = queue.lines.filter(({ message }) => message.startsWith("circuit breaker"));
    expect(told.map(({ level, message, fields }) => [level, message, fields.from, fields.to])).toEqual([
      ["warn", "circuit breaker: open", "closed", "open"],
      ["info", "circuit breaker: half open", "open", "half_open"],
      ["info", "circuit breaker: closed", "half_open", "closed"],
    ]);
    expect(told[0]?.fields).toMatchObject({ error: "HTTP 503", message: "HTTP 503: no" });
  });
});

describe("a call that fails", () => {
  it("is told at once, then at most every ten seconds, and by the breaker once that is open", async () => {
    const queue = await startQueue({
      settings: { retry_on_failure: { initial_interval: "4s", multiplier: 1, jitter: "none" } },
      backend: async () => {
        throw http(503);
      },
    });
    queue.send("private");
    await queue.settle();
    const first = { error: "HTTP 503", message: "HTTP 503: no", retryInMs: 4000, suppressed: 0 };
    const message = "sending failed; it stays in the queue and is tried again";
    expect(queue.lines).toEqual([{ level: "warn", message, fields: first }]);
    await queue.pass(12_000, 500);
    expect(queue.lines.slice(1)).toEqual([{ level: "warn", message, fields: { ...first, suppressed: 2 } }]);
    await queue.pass(60_000, 500);
    expect(queue.lines.filter((line) => line.message === message)).toHaveLength(2);
    expect(queue.lines[2]?.message).toBe("circuit breaker: open");
  });
});

describe("an entry that becomes a dead letter", () => {
  it("is told once, with its id, exporter, events, last error and attempts, and never its records", async () => {
    const queue = await startQueue({
      settings: { circuit_breaker: { enabled: false }, retry_on_failure: { max_retries: 2 } },
      backend: async () => {
        throw http(503);
      },
    });
    const logRecords = [{ eventName: "order.paid", body: { stringValue: "private" } }];
    const batch = batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
    queue.outlet.accept(owed(batch).delivery, "logs/orders");
    await queue.pass(30_000, 500);
    const [entry] = await queue.deadLetters();
    const told = queue.lines.filter(({ fields }) => fields.id === entry?.id);
    expect(told).toEqual([
      {
        level: "warn",
        message: "could not be delivered: kept as a dead letter",
        fields: {
          id: entry?.id,
          exporter: "out",
          pipeline: "logs/orders",
          reason: "retry_exhausted",
          category: "downstream_error",
          error: "HTTP 503",
          message: "HTTP 503: no",
          events: ["order.paid"],
          items: 1,
          attempts: 3,
          calls: 3,
        },
      },
    ]);
    expect(JSON.stringify(queue.lines)).not.toContain("private");
    expect(queue.metrics.value("sluice_dead_letter_attempts")).toBe(1);
    expect(queue.metrics.value("sluice_dead_letters_bytes")).toBe(entry?.bytes);
    queue.clock.advance(60_000);
    expect(queue.metrics.value("sluice_dead_letters_oldest_age")).toBeGreaterThanOrEqual(60);
  });

  it("remembers its last attempts, with time, error and wait, and no more than sixteen", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        retry_on_failure: { max_retries: 29, initial_interval: "1s", max_interval: "2s", jitter: "none" },
      },
      backend: async () => {
        throw http(503);
      },
    });
    queue.send("a");
    await queue.pass(120_000, 1000);
    const [entry] = await queue.deadLetters();
    expect(entry).toMatchObject({ attempts: 30, calls: 30 });
    expect(entry?.history).toHaveLength(16);
    expect(entry?.history[0]).toMatchObject({ error: "HTTP 503", delayMs: 2000 });
    const times = entry!.history.map(({ at }) => at);
    expect(times.slice(1).map((at, i) => at - times[i]!)).toEqual(Array(15).fill(2000));
  });
});

import { describe, expect, it } from "vitest";
import { refusalOfHttp } from "../../../../src/runtime/net/otlp/refusals.js";
import { http, startQueue } from "../queue.js";

describe("an entry that becomes a dead letter", () => {
  it("remembers its last attempts, with time, error and wait, and no more than sixteen", async () => {
    const queue = await startQueue({
      settings: {
        circuit_breaker: { enabled: false },
        retry_on_failure: { max_retries: 29, initial_interval: "1s", max_interval: "2s", jitter: "none" },
      },
      backend: async () => {
        throw http(500);
      },
    });
    queue.send("a");
    await queue.pass(120_000, 1000);
    const [entry] = await queue.deadLetters();
    expect(entry).toMatchObject({ attempts: 30, calls: 30 });
    expect(entry?.history).toHaveLength(16);
    expect(entry?.history[0]).toMatchObject({ error: "HTTP 500", delayMs: 2000 });
    const times = entry!.history.map(({ at }) => at);
    expect(times.slice(1).map((at, i) => at - times[i]!)).toEqual(Array(15).fill(2000));
  });

  it("remembers the beginning of what the other side said at each attempt", async () => {
    const queue = await startQueue({
      settings: { retry_on_failure: { enabled: false } },
      backend: async () => {
        throw refusalOfHttp(400, `no such order ${"x".repeat(5000)}`, undefined);
      },
    });
    queue.send("a");
    await queue.settle();
    const [entry] = await queue.deadLetters();
    expect(entry?.history[0]?.message).toMatch(/^HTTP 400: no such order x+$/);
    expect(entry?.history[0]?.message).toHaveLength(200);
  });
});

import { describe, expect, it } from "vitest";
import { http, startQueue } from "../queue.js";

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
  it("is logged at once, then at most every ten seconds, and by the breaker once that is open", async () => {
    const queue = await startQueue({
      settings: { retry_on_failure: { initial_interval: "4s", multiplier: 1, jitter: "none" } },
      backend: async () => {
        throw http(503);
      },
    });
    queue.send("private");
    await queue.settle();
    const first = { error: "HTTP 503", blame: "backend", message: "HTTP 503: no", retryInMs: 4000, suppressed: 0 };
    const message = "sending failed; the data stays in the queue and is retried";
    expect(queue.lines).toEqual([{ level: "warn", message, fields: first }]);
    await queue.pass(12_000, 500);
    expect(queue.lines.slice(1)).toEqual([{ level: "warn", message, fields: { ...first, suppressed: 2 } }]);
    await queue.pass(60_000, 500);
    expect(queue.lines.filter((line) => line.message === message)).toHaveLength(2);
    expect(queue.lines[2]?.message).toBe("circuit breaker: open");
  });
});

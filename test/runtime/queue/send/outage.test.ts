import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../support/fake-clock.js";
import { down, http, numbers, startQueue } from "../queue.js";

describe("an outage", () => {
  it("of days opens the breaker, spends no attempts, and ends in a drained queue without dead letters", async () => {
    let isDown = true;
    const queue = await startQueue({
      backend: async () => {
        if (isDown) throw http(503);
        return undefined;
      },
    });
    for (const body of numbers(30)) queue.send(body);
    await queue.pass(2 * 24 * 3_600_000, 3_600_000);
    expect(queue.outlet.status()).toMatchObject({ state: "DOWN", breaker: { state: "open" }, queue: { entries: 30 } });
    isDown = false;
    await queue.pass(60_000, 500);
    expect(queue.taken.sort()).toEqual(numbers(30).sort());
    expect(await queue.deadLetters()).toEqual([]);
    expect(queue.outlet.status().state).toBe("UP");
    expect(queue.metrics.value("sluice_breaker_opened")).toBeGreaterThan(1);
    expect(queue.lines.map(({ message }) => message)).toContain("circuit breaker: open");
  });

  /** A queue whose backend took 50 entries a second, then failed until its breaker was open. 1000 entries wait. */
  async function afterOutage(settings: Record<string, unknown>, perSecond: number) {
    let isDown = false;
    const clock = new FakeClock();
    const sent: { readonly at: number; readonly entries: number }[] = [];
    const queue = await startQueue({
      clock,
      settings: { replay: { ramp: "10s" }, ...settings },
      backend: async (bodies) => {
        if (isDown) throw http(503);
        sent.push({ at: clock.monotonic(), entries: bodies.length });
        return undefined;
      },
    });
    for (const body of numbers(perSecond)) queue.send(`before ${body}`);
    await queue.pass(1000);
    isDown = true;
    for (const body of numbers(1000)) queue.send(body);
    await queue.pass(5000, 1000);
    expect(queue.outlet.status().breaker.state).toBe("open");
    isDown = false;
    for (let i = 0; i < 6000 && queue.outlet.status().breaker.state !== "closed"; i++) await queue.pass(10);
    const closedAt = clock.monotonic();
    sent.length = 0;
    for (let i = 0; i < 6000 && queue.taken.length < 1000 + perSecond; i++) await queue.pass(10);
    expect(queue.taken.toSorted()).toEqual(
      [...numbers(perSecond).map((b) => `before ${b}`), ...numbers(1000)].toSorted(),
    );
    const takenWithin = (ms: number) =>
      sent.filter(({ at }) => at - closedAt < ms).reduce((sum, { entries }) => sum + entries, 0);
    return { takenWithin, sent };
  }

  it.each([true, false])(
    "is followed by a ramp, with merged requests (%s): no stampede, twice as fast with every second",
    async (merge_backlog) => {
      const { takenWithin } = await afterOutage({ sending_queue: { merge_backlog } }, 3);
      for (let second = 1; second <= 6; second++) {
        const allowed = 10 * (2 ** second - 1);
        expect(takenWithin(second * 1000)).toBeLessThanOrEqual(allowed + 10);
      }
      expect(takenWithin(10_000)).toBe(takenWithin(Number.POSITIVE_INFINITY));
    },
  );

  it("is followed by a ramp that starts where the backend was", async () => {
    const { takenWithin } = await afterOutage({}, 300);
    expect(takenWithin(1000)).toBeGreaterThan(250);
    expect(takenWithin(1000)).toBeLessThanOrEqual(330);
  });

  it("tells when the backend is tried next, unless an operator holds the breaker", async () => {
    const clock = new FakeClock();
    const queue = await startQueue({ clock, settings: { circuit_breaker: { reset_timeout: "30s" } }, backend: down });
    expect(queue.outlet.status().breaker.probeAt).toBeUndefined();
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(10_000, 100);
    const { state, since, probeAt } = queue.outlet.status().breaker;
    expect([state, probeAt! - since]).toEqual(["open", 30_000]);
    queue.outlet.forceBreaker("open");
    expect(queue.outlet.status().breaker.probeAt).toBeUndefined();
  });

  it("tells how many wait for their retry, and when the next is due", async () => {
    const clock = new FakeClock();
    const settings = { retry_on_failure: { initial_interval: "10m", max_interval: "10m", randomization_factor: 0 } };
    const queue = await startQueue({ clock, settings, backend: down });
    expect(queue.outlet.status().queue.retries).toBeUndefined();
    for (const body of numbers(2)) queue.send(body);
    await queue.pass(1000, 100);
    const { entries, nextAt } = queue.outlet.status().queue.retries!;
    expect(entries).toBe(2);
    expect(nextAt - clock.now()).toBeGreaterThan(9 * 60_000);
    expect(nextAt - clock.now()).toBeLessThanOrEqual(10 * 60_000);
    queue.outlet.retryNow();
    expect(queue.outlet.status().queue.retries?.nextAt ?? clock.now()).toBeLessThanOrEqual(clock.now());
  });

  it("can make dead letters at once instead", async () => {
    const queue = await startQueue({ settings: { circuit_breaker: { on_open: "dead_letter" } }, backend: down });
    for (const body of numbers(20)) queue.send(body);
    await queue.pass(1000, 100);
    const dead = await queue.deadLetters();
    expect(dead.length).toBeGreaterThan(5);
    expect(new Set(dead.map(({ failure }) => failure?.reason))).toEqual(new Set(["circuit_open"]));
    const unsent = dead.filter(({ calls }) => calls === 0).map(({ failure }) => failure?.error.message);
    expect(new Set(unsent)).toEqual(new Set(["the circuit breaker is open; the last call failed with HTTP 503: no"]));
  });

  it("ends on its own if the exporter has a health check: nothing is sent before it succeeds", async () => {
    let isDown = true;
    let checks = 0;
    const queue = await startQueue({
      backend: async () => {
        if (isDown) throw http(503);
        return undefined;
      },
      check: async () => {
        checks += 1;
        if (isDown) throw new Error("down");
      },
    });
    for (const body of numbers(5)) queue.send(body);
    await queue.settle();
    expect([queue.outlet.status().breaker.state, queue.calls.length]).toEqual(["open", 5]);
    await queue.pass(65_000, 1000);
    expect([checks, queue.calls.length]).toEqual([2, 5]);
    isDown = false;
    await queue.pass(30_000, 1000);
    expect(checks).toBe(3);
    expect(queue.outlet.status().breaker.state).toBe("closed");
    expect(queue.taken.sort()).toEqual(numbers(5));
    expect(queue.metrics.value("sluice_exporter_health_checks", { result: "well" })).toBe(1);
  });

  it("continues while the exporter is healthy but takes nothing: entries decide, and lose no attempts", async () => {
    const queue = await startQueue({ backend: down, check: async () => {}, settings: { timeout: "0s" } });
    for (const body of numbers(5)) queue.send(body);
    await queue.pass(3_600_000, 10_000);
    expect(queue.outlet.status().breaker.state).not.toBe("closed");
    expect(await queue.deadLetters()).toEqual([]);
    const attempts = (await queue.store.pending(undefined, 10)).map(({ entry }) => entry.attempts);
    expect(Math.max(...attempts)).toBeLessThanOrEqual(1);
  });

  it("counts every entry that meets an open breaker once, whether it waits for it or not", async () => {
    for (const on_open of ["hold", "dead_letter"]) {
      const settings = { circuit_breaker: { on_open, failure_threshold: 1 } };
      const queue = await startQueue({ backend: down, settings });
      queue.send("first");
      await queue.settle();
      for (const body of numbers(3)) queue.send(body);
      await queue.settle();
      expect(queue.metrics.value("sluice_breaker_rejected")).toBe(3);
    }
  });

  it("ends on its own even if no entries wait for it", async () => {
    let isDown = true;
    const queue = await startQueue({
      settings: { circuit_breaker: { on_open: "dead_letter" }, retry_on_failure: { enabled: false } },
      backend: down,
      check: async () => {
        if (isDown) throw new Error("down");
      },
    });
    for (const body of numbers(6)) queue.send(body);
    await queue.pass(65_000, 1000);
    expect([queue.outlet.status().breaker.state, await queue.pending()]).toEqual(["open", []]);
    expect(queue.metrics.value("sluice_exporter_health_checks", { result: "ill" })).toBe(2);
    isDown = false;
    await queue.pass(30_000, 1000);
    expect(queue.outlet.status().breaker.state).toBe("closed");
  });

  it("is not prolonged by one bad entry: probes prefer entries that have not failed", async () => {
    const queue = await startQueue({
      backend: async ([body]) => {
        if (body === "bad") throw http(500);
        return undefined;
      },
    });
    queue.send("bad");
    await queue.pass(25_000, 500);
    expect(queue.outlet.status().breaker.state).toBe("open");
    queue.send("a");
    queue.send("b");
    queue.send("c");
    await queue.pass(31_000, 500);
    expect(queue.taken.sort()).toEqual(["a", "b", "c"]);
  });
});

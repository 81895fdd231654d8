import { afterEach, describe, expect, it } from "vitest";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startSink } from "../../../support/otlp-sink.js";
import { cleanUp, startWrapped } from "../agent.js";
import { type Backend, down, hangs, numbers, startQueue } from "../queue.js";

afterEach(cleanUp);

/** A queue that was stopped with so many entries in it after its backend did `before`, started again with one that works. */
async function restarted(entries: number, before: Backend, settings: Record<string, unknown> = {}) {
  const clock = new FakeClock();
  const store = new MemoryStore({ exporter: "out" });
  const first = await startQueue({ clock, store, settings, backend: before });
  for (const body of numbers(entries)) first.send(body);
  await first.pass(5000, 100);
  first.outlet.abort();
  await first.outlet.stop();
  clock.advance(60_000);
  const startedAt = clock.now();
  const times: number[] = [];
  const backend: Backend = async (bodies) => {
    times.push(...bodies.map(() => clock.now() - startedAt));
    return undefined;
  };
  const queue = await startQueue({ clock, store, settings, backend });
  return { queue, clock, times };
}

describe("a restart", () => {
  it.each([true, false])("is no reason to slow down when the backend worked (merge_backlog: %s)", async (merge) => {
    const { queue, times } = await restarted(1000, hangs, {
      sending_queue: { merge_backlog: merge },
      timeout: "0s",
    });
    for (let i = 0; i < 60; i++) await queue.settle();
    expect(queue.taken.toSorted()).toEqual(numbers(1000).toSorted());
    expect(new Set(times)).toEqual(new Set([0]));
  });

  it("in an outage is followed by a ramp when the backend works again", async () => {
    const { queue, times } = await restarted(1000, down, { replay: { ramp: "10s" } });
    expect(queue.outlet.status().breaker.state).not.toBe("closed");
    for (let i = 0; i < 6000 && queue.taken.length < 1000; i++) await queue.pass(10);
    expect(queue.taken.toSorted()).toEqual(numbers(1000).toSorted());
    const [first] = times;
    for (let second = 1; second <= 6; second++) {
      const within = times.filter((time) => time - first! < second * 1000).length;
      expect(within).toBeLessThanOrEqual(10 * (2 ** second - 1) + 10);
    }
    expect(times.filter((time) => time - first! < 1000).length).toBeGreaterThan(1);
  });

  it("in an outage remembers how fast the backend was, and starts there", async () => {
    let taken = 0;
    const { queue, times } = await restarted(
      1400,
      async (bodies, ...rest) => {
        if (taken >= 400) return down(bodies, ...rest);
        taken += bodies.length;
        return undefined;
      },
      { replay: { ramp: "10s" } },
    );
    expect(queue.outlet.status().breaker.state).not.toBe("closed");
    for (let i = 0; i < 6000 && queue.taken.length < 1400 - taken; i++) await queue.pass(10);
    const [first] = times;
    const within = times.filter((time) => time - first! < 1000).length;
    expect(within).toBeGreaterThan(350);
    expect(within).toBeLessThan(900);
  });

  it("of an agent brings a thousand entries to a backend that works without a pause", async () => {
    const [silent, sink] = [await startSink(), await startSink()];
    const exporter = (url: string) =>
      `  otlp_http: {endpoint: "${url}", durability: process, replay: {ramp: 1h}, sending_queue: {merge_backlog: false}}\n`;
    silent.decide(() => undefined);
    const before = await startWrapped(exporter(silent.url));
    await Promise.all(numbers(1000).map((body) => before.send(body)));
    await before.agent.stop(0);
    await silent.close();
    await startWrapped(exporter(sink.url), { directory: before.directory });
    // With a ramp of an hour this would take days.
    await expect.poll(() => sink.count).toBe(1000);
    await sink.close();
  });
});

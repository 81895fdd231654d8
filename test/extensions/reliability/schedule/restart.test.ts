import { afterEach, describe, expect, it } from "vitest";
import { allowedRequests } from "../../../../src/extensions/reliability/schedule/ramp.js";
import { MemoryStore } from "../../../../src/extensions/reliability/store/memory-store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { startSink } from "../../../support/otlp-sink.js";
import { cleanUp, startWrapped } from "../agent.js";
import { hangs, numbers, type Queue, startQueue } from "../queue.js";

afterEach(cleanUp);

const RAMP_MS = 30_000;

/** A queue that was stopped with so many entries in it, started again. `times` are those of its requests since. */
async function restarted(entries: number, ramp = `${RAMP_MS}ms`) {
  const clock = new FakeClock();
  const store = new MemoryStore({ exporter: "out" });
  const before = await startQueue({ clock, store, backend: hangs });
  for (const body of numbers(entries)) before.send(body);
  await before.settle();
  before.outlet.abort();
  await before.outlet.stop();
  clock.advance(60_000);
  const times: number[] = [];
  const startedAt = clock.now();
  const backend = async () => {
    times.push(clock.now() - startedAt);
    return undefined;
  };
  const queue = await startQueue({ clock, store, settings: { replay: { ramp } }, backend });
  return { queue, clock, times };
}

async function passUntilTaken(queue: Queue, count: number): Promise<void> {
  for (let ms = 0; ms < 2 * RAMP_MS && queue.taken.length < count; ms += 10) await queue.pass(10);
}

describe("a restart", () => {
  it("with a thousand entries sends them no faster than the ramp allows, and all of them", async () => {
    const { queue, times } = await restarted(1000);
    await passUntilTaken(queue, 1000);
    expect(new Set(queue.taken)).toEqual(new Set(numbers(1000)));
    times.forEach((time, i) => {
      expect(i).toBeLessThanOrEqual(allowedRequests(time, RAMP_MS) + 1);
    });
    expect(times.filter((time) => time <= 1000).length).toBeLessThanOrEqual(12);
  });

  it("slows nobody down when few entries are left", async () => {
    const { queue, times } = await restarted(11);
    for (const body of numbers(500)) queue.send(`live ${body}`);
    await queue.settle();
    await queue.settle();
    expect(queue.taken).toHaveLength(511);
    expect(new Set(times)).toEqual(new Set([0]));
  });

  it("slows what has come since only until what was left is sent", async () => {
    const { queue, times } = await restarted(50);
    await queue.pass(10);
    for (const body of numbers(500)) queue.send(`live ${body}`);
    await passUntilTaken(queue, 550);
    expect(queue.taken.slice(0, 50)).toEqual(numbers(50));
    expect(queue.taken).toHaveLength(550);
    expect(times[550 - 1]).toBeLessThan(times[50]! + 50);
    expect(allowedRequests(times[550 - 1]!, RAMP_MS)).toBeLessThan(100);
  });

  it("sends as fast as it can without a ramp", async () => {
    const { queue, times } = await restarted(300, "0s");
    for (let i = 0; i < 10; i++) await queue.settle();
    expect(queue.taken).toHaveLength(300);
    expect(new Set(times)).toEqual(new Set([0]));
  });

  it("of an agent brings a thousand entries to its backend by the ramp", async () => {
    const [silent, sink] = [await startSink(), await startSink()];
    const exporter = (url: string) => `  otlp_http: {endpoint: "${url}", durability: process, replay: {ramp: 1s}}\n`;
    silent.decide(() => undefined);
    const before = await startWrapped(exporter(silent.url));
    await Promise.all(numbers(1000).map((body) => before.send(body)));
    await before.agent.stop(0);
    await silent.close();
    const times: number[] = [];
    const startedAt = performance.now();
    sink.decide(() => {
      times.push(performance.now() - startedAt);
      return 200;
    });
    await startWrapped(exporter(sink.url), { directory: before.directory });
    await expect.poll(() => sink.count).toBe(1000);
    times.forEach((time, i) => {
      if (time < 1000) expect(i).toBeLessThanOrEqual(allowedRequests(time, 1000) + 1);
    });
    await sink.close();
  });
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import type { QueueStore } from "../../../../src/runtime/queue/store/store.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { type Backend, down, http, numbers, type Queue, type QueueOptions, startQueue } from "../queue.js";

const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

async function levelStore(): Promise<() => QueueStore> {
  const parent = await mkdtemp(join(tmpdir(), "sluice-"));
  directories.push(parent);
  // A queue keeps its summary beside its directory.
  const directory = join(parent, "queue");
  return () => new LevelStore({ exporter: "out", directory, durability: "process", intervalMs: 100 });
}

async function stop({ outlet }: Queue): Promise<void> {
  outlet.abort();
  await outlet.stop();
}

/** A queue whose breaker an outage has opened, and which was stopped ten seconds later. */
async function stoppedInOutage(store: QueueStore, clock: FakeClock, settings = {}): Promise<void> {
  const queue = await startQueue({ clock, store, backend: down, settings });
  const outcomes = numbers(8).map((body) => queue.send(body));
  await expect.poll(() => outcomes.flat().length).toBe(8);
  await expect.poll(() => queue.outlet.status().breaker.state).toBe("open");
  await queue.pass(10_000);
  await stop(queue);
}

async function restarted(options: QueueOptions & { readonly offMs?: number }, before = {}): Promise<Queue> {
  const { offMs = 5000, ...own } = options;
  const clock = new FakeClock();
  const store = new MemoryStore({ exporter: "out" });
  await stoppedInOutage(store, clock, before);
  clock.advance(offMs);
  return startQueue({ clock, store, ...own });
}

describe("what a queue remembers about its backend", () => {
  it("keeps an open breaker open over a restart during an outage, with one probe at the start", async () => {
    const makeStore = await levelStore();
    const clock = new FakeClock();
    await stoppedInOutage(makeStore(), clock);
    clock.advance(5000);
    const queue = await startQueue({ clock, store: makeStore(), backend: down });
    await expect.poll(() => queue.calls.length).toBe(1);
    await expect.poll(() => queue.outlet.status().breaker.state).toBe("open");
    expect(queue.outlet.status().lastError?.class).toBe("HTTP 503");
    expect(queue.lines).toContainEqual(
      expect.objectContaining({
        message: "circuit breaker: still open after the restart; the backend is tried now",
        fields: expect.objectContaining({ since: new Date(clock.now() - 15_000).toISOString(), error: "HTTP 503" }),
      }),
    );
    await queue.pass(29_000, 1000);
    expect(queue.calls).toHaveLength(1);
    await stop(queue);
  });

  it("delivers everything at once after a restart when the outage is over", async () => {
    const makeStore = await levelStore();
    const clock = new FakeClock();
    await stoppedInOutage(makeStore(), clock, { replay: { ramp: "0s" } });
    const queue = await startQueue({ clock, store: makeStore(), settings: { replay: { ramp: "0s" } } });
    await expect
      .poll(async () => {
        await queue.settle();
        return queue.taken.sort();
      })
      .toEqual(numbers(8));
    await stop(queue);
    const again = await startQueue({ clock, store: makeStore() });
    expect(again.outlet.status().breaker.state).toBe("closed");
    await stop(again);
  });

  it("remembers an open breaker after a kill", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    const killed = await startQueue({ clock, store, backend: down });
    for (const body of numbers(8)) killed.send(body);
    await killed.settle();
    killed.outlet.abort();
    await store.close();
    clock.advance(5000);
    const queue = await startQueue({ clock, store, backend: down });
    await expect.poll(() => queue.calls.length).toBe(1);
    await queue.settle();
    expect([queue.outlet.status().breaker.state, queue.calls.length]).toEqual(["open", 1]);
  });

  it("counts failures in a row over a restart", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    const before = await startQueue({ clock, store, backend: down });
    for (const body of numbers(3)) before.send(body);
    await before.settle();
    await stop(before);
    const queue = await startQueue({ clock, store, backend: down });
    queue.send("one");
    await queue.settle();
    expect(queue.outlet.status().breaker.state).toBe("closed");
    queue.send("two");
    await queue.settle();
    expect(queue.outlet.status().breaker.state).toBe("open");
  });

  it("forgets the breaker when the config has none any more", async () => {
    const queue = await restarted({ settings: { circuit_breaker: { enabled: false } } });
    expect(queue.outlet.status().breaker.state).toBe("closed");
  });

  it("forgets a breaker that an operator held", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    const before = await startQueue({ clock, store });
    before.outlet.forceBreaker("open");
    await stop(before);
    const queue = await startQueue({ clock, store });
    expect(queue.outlet.status().breaker.state).toBe("closed");
  });

  it("shows no start of an outage in the future when the clock was set back", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    await stoppedInOutage(store, clock);
    clock.set(clock.now() - 86_400_000);
    const queue = await startQueue({ clock, store, backend: down });
    expect(queue.outlet.status().breaker).toMatchObject({ since: clock.now() });
  });

  it("writes when something changes, not with every call", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    let writes = 0;
    const { notes } = store;
    const add = notes.add.bind(notes);
    notes.add = (note) => {
      writes += 1;
      return add(note);
    };
    let failing = false;
    const backend: Backend = async () => {
      if (failing) throw http(503);
      return undefined;
    };
    const settings = { circuit_breaker: { enabled: false }, sending_queue: { merge_backlog: false } };
    const queue = await startQueue({ clock, store, backend, settings });
    for (const body of numbers(200)) queue.send(body);
    await queue.pass(1000, 100);
    expect([queue.calls.length, writes]).toEqual([200, 0]);
    failing = true;
    for (const body of numbers(200)) queue.send(`again ${body}`);
    await queue.pass(60_000, 1000);
    expect(queue.calls.length).toBeGreaterThan(600);
    expect(writes).toBe(1);
    failing = false;
    await queue.pass(120_000, 1000);
    expect([await queue.pending(), await notes.load()]).toEqual([[], []]);
  });

  it("forgets an open breaker when the config has none any more", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    await stoppedInOutage(store, clock);
    const without = await startQueue({ clock, store, settings: { circuit_breaker: { enabled: false } } });
    await without.pass(120_000, 5000);
    expect(without.taken).toHaveLength(8);
    await stop(without);
    const again = await startQueue({ clock, store });
    expect(again.outlet.status().breaker.state).toBe("closed");
    expect(again.lines).toEqual([]);
  });
});

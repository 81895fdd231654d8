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
  const directory = await mkdtemp(join(tmpdir(), "sluice-"));
  directories.push(directory);
  return () => new LevelStore({ exporter: "out", directory, durability: "process", intervalMs: 100 });
}

async function stop({ outlet }: Queue): Promise<void> {
  outlet.abort();
  await outlet.stop();
}

/** A queue whose breaker an outage has opened, and which was stopped ten seconds later. */
async function stoppedInOutage(store: QueueStore, clock: FakeClock, settings = {}): Promise<void> {
  const queue = await startQueue({ clock, store, backend: down, settings });
  for (const body of numbers(8)) queue.send(body);
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
  it("keeps an open breaker open over a restart, until the time of its next probe", async () => {
    const makeStore = await levelStore();
    const clock = new FakeClock();
    await stoppedInOutage(makeStore(), clock);
    clock.advance(5000);
    const queue = await startQueue({ clock, store: makeStore() });
    await queue.settle();
    const { breaker, lastError } = queue.outlet.status();
    expect([breaker.state, breaker.probeAt! - clock.now(), lastError?.class]).toEqual(["open", 15_000, "HTTP 503"]);
    expect(breaker.since).toBe(clock.now() - 15_000);
    expect(queue.lines.map(({ message }) => message)).toContain("circuit breaker: still open after the restart");
    await queue.pass(14_000, 1000);
    expect(queue.calls).toEqual([]);
    await expect
      .poll(async () => {
        await queue.pass(1000);
        return queue.taken.sort();
      })
      .toEqual(numbers(8));
    await stop(queue);
    const again = await startQueue({ clock, store: makeStore() });
    expect(again.outlet.status().breaker.state).toBe("closed");
    await stop(again);
  });

  it("remembers an open breaker that nobody had time to stop properly", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    const killed = await startQueue({ clock, store, backend: down });
    for (const body of numbers(8)) killed.send(body);
    await killed.settle();
    killed.outlet.abort();
    await store.close();
    const queue = await startQueue({ clock, store });
    await queue.settle();
    expect([queue.outlet.status().breaker.state, queue.calls]).toEqual(["open", []]);
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

  it("tries the backend at once when the config has changed", async () => {
    const queue = await restarted({ generation: "2" });
    await queue.settle();
    expect(queue.taken.length).toBeGreaterThanOrEqual(2);
    expect(queue.outlet.status().breaker.state).toBe("closed");
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

  it("waits no longer than reset_timeout, whatever the clock says", async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ exporter: "out" });
    await stoppedInOutage(store, clock);
    clock.set(clock.now() - 86_400_000);
    const queue = await startQueue({ clock, store, settings: { circuit_breaker: { reset_timeout: "12s" } } });
    const { probeAt, since } = queue.outlet.status().breaker;
    expect([probeAt! - clock.now(), since]).toEqual([12_000, clock.now()]);
  });

  it("probes at once when the agent was off for longer than that", async () => {
    const queue = await restarted({ offMs: 3_600_000 });
    await queue.settle();
    expect(queue.taken.length).toBeGreaterThan(0);
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
});

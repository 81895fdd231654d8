import { afterAll, describe, expect, it } from "vitest";
import { Delivery } from "../../../../src/plugin.js";
import { Debt } from "../../../../src/runtime/kit.js";
import { logs } from "../../../support/telemetry/batches.js";
import { type Queue, type QueueOptions, startQueue } from "../queue.js";
import { makePlace, type Place } from "../store/level-harness.js";

const places: Place[] = [];
afterAll(async () => {
  for (const place of places) await place.remove();
});

async function startOnDisk(options: QueueOptions = {}): Promise<Queue> {
  const place = makePlace();
  places.push(place);
  return startQueue({ ...options, store: place.store({ durability: "fsync" }) });
}

/** Hands in one record; resolves as soon as its client is answered, as a receiver is told. */
function answered(queue: Queue, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const debt = new Debt((outcome) => (outcome.ok ? resolve() : reject(outcome.refusal)));
    queue.outlet.accept(new Delivery(logs(body), { receiver: "otlp", transport: "http" }, debt), "logs");
  });
}

describe("what a store on disk has taken", () => {
  it("is sent on after its client is answered, while the store writes what comes next", async () => {
    const events: string[] = [];
    const queue = await startOnDisk({ backend: async ([body]) => void events.push(`${body} sent`) });
    for (const [body, next] of [
      ["a", "b"],
      ["c", "d"],
    ] as const) {
      await answered(queue, body);
      events.push(`${body} answered`);
      await answered(queue, next);
      events.push(`${next} answered`);
      await expect.poll(() => events).toContain(`${next} sent`);
    }
    expect(events).toEqual(
      ["a answered", "a sent", "b answered", "b sent"].concat(["c answered", "c sent", "d answered", "d sent"]),
    );
    await queue.outlet.drain();
    await queue.outlet.stop();
  });

  it("is sent on though nothing more comes", async () => {
    const queue = await startOnDisk();
    await answered(queue, "alone");
    await expect.poll(() => queue.taken).toEqual(["alone"]);
    await queue.outlet.drain();
    await queue.outlet.stop();
  });

  it("is sent before a drain ends, and not after", async () => {
    const queue = await startOnDisk();
    await answered(queue, "last");
    await queue.outlet.drain();
    expect(queue.taken).toEqual(["last"]);
    await queue.outlet.stop();
  });

  it("is sent at once when its client waits for the result", async () => {
    const settings = { sending_queue: { wait_for_result: true } };
    const queue = await startOnDisk({ settings });
    await answered(queue, "waiting");
    expect(queue.taken).toEqual(["waiting"]);
    await queue.outlet.drain();
    await queue.outlet.stop();
  });

  it("stays there when the queue is aborted in the moment before it is sent", async () => {
    const queue = await startOnDisk();
    await answered(queue, "kept");
    queue.outlet.abort();
    await queue.settle();
    expect(queue.taken).toEqual([]);
    expect(await queue.pending()).toEqual(["kept"]);
    await queue.outlet.stop();
  });
});

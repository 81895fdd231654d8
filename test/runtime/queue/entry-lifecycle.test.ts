import { afterEach, describe, expect, it } from "vitest";
import { MemoryStore } from "../../../src/runtime/queue/store/memory-store.js";
import { startSink } from "../../support/otlp-sink.js";
import { cleanUp, startWrapped } from "./agent.js";
import { hangs, numbers, startQueue } from "./queue.js";

describe("a stop", () => {
  it("waits for what is being sent", async () => {
    let finish = () => {};
    const queue = await startQueue({
      backend: () =>
        new Promise((resolve) => {
          finish = () => resolve(undefined);
        }),
    });
    queue.send("a");
    await queue.settle();
    let isDrained = false;
    void queue.outlet.drain().then(() => {
      isDrained = true;
    });
    await queue.settle();
    expect(isDrained).toBe(false);
    finish();
    await queue.settle();
    expect([isDrained, queue.taken]).toEqual([true, ["a"]]);
  });

  it("that is aborted keeps everything in the queue", async () => {
    const queue = await startQueue({ backend: hangs });
    for (const body of numbers(30)) queue.send(body);
    await queue.settle();
    const drained = queue.outlet.drain();
    queue.outlet.abort();
    await drained;
    expect(await queue.pending()).toEqual(numbers(30));
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(0);
    await queue.outlet.stop();
  });

  it("that aborts a call uses up no attempt of its entry", async () => {
    const queue = await startQueue({ backend: hangs });
    queue.send("a");
    await queue.settle();
    queue.outlet.abort();
    await queue.settle();
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry).toMatchObject({ attempts: 0, calls: 0, history: [] });
    expect(queue.outlet.status()).toMatchObject({ lastError: undefined, failureRate: 0, queue: { inFlight: 0 } });
    expect(queue.lines).toEqual([]);
  });
});

describe("a client that waits for the result when the agent stops", () => {
  afterEach(cleanUp);

  it("gets a success for data in the queue, although the backend has not answered in time", async () => {
    const sink = await startSink();
    sink.decide(() => undefined);
    const exporter = `
  otlp_http: {endpoint: ${sink.url}, sending_queue: {wait_for_result: true}}`;
    const { agent, send, directory } = await startWrapped(exporter);
    const answered = send("a");
    await expect.poll(() => sink.requests.length).toBe(1);
    await agent.stop(0);
    expect(await answered).toMatchObject({ ok: true });
    sink.decide(() => 200);
    await startWrapped(exporter, { directory });
    await expect.poll(() => sink.count).toBe(1);
    await cleanUp();
    await sink.close();
  });
});

describe("an entry whose payload is being read", () => {
  it("is not sent any more when the queue is broken off meanwhile", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const payload = store.payload.bind(store);
    let read = () => {};
    store.payload = async (ref) => {
      await new Promise<void>((resolve) => (read = resolve));
      return payload(ref);
    };
    const queue = await startQueue({ store, limits: { entries: 10, waiting: 10, bytes: 0 } });
    queue.send("a");
    await queue.settle();
    queue.outlet.abort();
    read();
    await queue.settle();
    expect(queue.calls).toEqual([]);
    expect(queue.outlet.status().queue).toMatchObject({ entries: 1, inFlight: 0 });
  });
});

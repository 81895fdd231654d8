import { describe, expect, it } from "vitest";
import { entriesOfKey } from "../../../../../src/runtime/contract/calls/group-key.js";
import { MemoryStore } from "../../../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../../../src/runtime/queue/store/store.js";
import { type Backend, down, hangs, http, numbers, type Queue, refusing, startQueue } from "../../queue.js";

/** Sends each of these as an entry of its own. */
async function sendEach(queue: Queue, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) queue.send(body);
  await queue.settle();
}

const deadBodies = async (queue: Queue) => {
  const found = await queue.store.failed(undefined, 1e6, "oldest");
  const batches = await Promise.all(found.map(({ ref }) => queue.store.payload(ref)));
  return batches.map((batch) => /r\d+/.exec(Buffer.from(batch.bytes).toString("latin1"))![0]);
};

describe("a queue whose pipeline wants larger requests", () => {
  it("accepts at once, and sends what has come in one request when its time is up", async () => {
    const queue = await startQueue({ batching: {} });
    const outcomes = [queue.send("a"), queue.send("b", "c")];
    await queue.settle();
    expect(outcomes).toMatchObject([[{ ok: true }], [{ ok: true }]]);
    expect(queue.calls).toEqual([]);
    await queue.pass(199);
    expect(queue.calls).toEqual([]);
    await queue.pass(1);
    expect(queue.calls).toEqual([["a", "b", "c"]]);
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(3);
  });

  it("does not wait when enough has come", async () => {
    const queue = await startQueue({ batching: { minSize: 3 } });
    await sendEach(queue, numbers(4));
    expect(queue.calls).toEqual([["r0", "r1", "r2"]]);
  });

  it("counts the time of the first, not of the last", async () => {
    const queue = await startQueue({ batching: {} });
    queue.send("a");
    await queue.pass(150);
    queue.send("b");
    await queue.pass(50);
    expect(queue.calls).toEqual([["a", "b"]]);
  });

  it("never makes a request larger than the maximum", async () => {
    const queue = await startQueue({ batching: { maxSize: 5, minSize: 5 } });
    for (const entry of [["a", "b"], ["c", "d"], ["e", "f"], ["g"]]) queue.send(...entry);
    await queue.pass(200);
    expect(queue.calls).toEqual([
      ["a", "b", "c", "d"],
      ["e", "f", "g"],
    ]);
  });

  it("stays under the usual limit of gRPC", async () => {
    const queue = await startQueue({ batching: {} });
    const large = "x".repeat(2 * 1024 * 1024);
    for (const body of ["a", large, large, "b"]) queue.send(body);
    await queue.pass(200);
    expect(queue.calls).toEqual([
      ["a", large],
      [large, "b"],
    ]);
  });

  it("keeps clients with different metadata apart, even after a restart, and shows none of it", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const batching = { metadataKeys: ["tenant"] };
    const first = await startQueue({ store, batching, backend: hangs });
    first.sendFrom("acme", "a1");
    first.sendFrom("other", "b1");
    first.sendFrom("acme", "a2");
    await first.settle();
    expect(JSON.stringify(await store.pending(undefined, 10))).not.toContain("acme");
    first.outlet.abort();
    await first.outlet.stop();
    const queue = await startQueue({ store, batching, clock: first.clock });
    await queue.pass(200);
    expect(queue.calls).toEqual([["a1", "a2"], ["b1"]]);
  });

  it("follows sending_queue.batch before the pipeline's own wish", async () => {
    const settings = { sending_queue: { batch: { flush_timeout: "1s", min_size: 2 } } };
    const queue = await startQueue({ settings, batching: { metadataKeys: ["tenant"], minSize: 1 } });
    queue.sendFrom("acme", "a");
    queue.sendFrom("other", "b");
    queue.sendFrom("acme", "c");
    await queue.settle();
    expect(queue.calls).toEqual([["a", "c"]]);
  });

  it("sends what waits when the agent stops", async () => {
    const queue = await startQueue({ batching: {} });
    await sendEach(queue, ["a", "b"]);
    await queue.outlet.drain();
    expect(queue.calls).toEqual([["a", "b"]]);
  });

  it("does not wait for more while more is in the store than in memory", async () => {
    const limits = { entries: 4, waiting: 10, bytes: 1000 };
    const queue = await startQueue({ batching: {}, limits });
    await sendEach(queue, numbers(50));
    expect(queue.taken.length).toBeGreaterThan(40);
    await queue.pass(200);
    expect(queue.taken).toEqual(numbers(50));
    expect(queue.calls.length).toBeLessThan(25);
  });

  it("names every entry of a request in its key", async () => {
    const queue = await startQueue({ batching: {} });
    queue.send("a", "b");
    queue.send("c");
    await queue.settle();
    const stored = await queue.store.pending(undefined, 10);
    await queue.pass(200);
    expect(entriesOfKey(queue.keys[0]!, 3)).toEqual(stored.map(({ entry: { id, items } }) => ({ id, items })));
  });
});

describe("a merged request that is refused for good", () => {
  it("is sent again in halves along its entries: only the bad entries die", async () => {
    const queue = await startQueue({ batching: {}, backend: refusing((body) => ["r3", "r17"].includes(body)) });
    await sendEach(queue, numbers(32));
    await queue.pass(200);
    expect(queue.taken.toSorted()).toEqual(
      numbers(32)
        .filter((body) => !["r3", "r17"].includes(body))
        .toSorted(),
    );
    expect((await deadBodies(queue)).toSorted()).toEqual(["r17", "r3"]);
    expect((await queue.deadLetters()).map(({ attempts, parent }) => ({ attempts, parent }))).toEqual([
      { attempts: 1, parent: undefined },
      { attempts: 1, parent: undefined },
    ]);
    expect(queue.calls.length).toBeLessThan(25);
  });

  it("does not lose good entries to a limit of refusals, with bad ones everywhere and several consumers", async () => {
    const bad = (body: string) => Number(body.slice(1)) % 50 === 7;
    const refuse = refusing(bad);
    const backend: Backend = async (...call) => {
      await new Promise(setImmediate);
      return refuse(...call);
    };
    const queue = await startQueue({ batching: {}, backend, settings: { sending_queue: { num_consumers: 10 } } });
    await sendEach(queue, numbers(400));
    await queue.pass(200);
    await queue.pass(30, 1);
    expect((await deadBodies(queue)).toSorted()).toEqual(numbers(400).filter(bad).toSorted());
    expect(queue.taken.length).toBe(392);
  });

  it("releases its entries when they are too old, whatever was refused after it", async () => {
    const answers: (() => void)[] = [];
    const backend: Backend = () => new Promise((_resolve, reject) => answers.push(() => reject(http(400))));
    const settings = { sending_queue: { max_age: "10s", num_consumers: 2 } };
    const queue = await startQueue({ batching: { minSize: 4 }, backend, settings });
    await sendEach(queue, numbers(4));
    await queue.pass(5000);
    await sendEach(queue, ["y1", "y2", "y3", "y4"]);
    queue.outlet.pause();
    for (const answer of answers) answer();
    await queue.pass(5500);
    expect((await deadBodies(queue)).toSorted()).toEqual(numbers(4));
    expect((await queue.deadLetters()).map(({ failure }) => failure?.reason)).toEqual(Array(4).fill("expired"));
  });

  it("makes room for what comes later when the oldest has to go", async () => {
    const backend: Backend = (bodies) => (bodies.length === 4 ? Promise.reject(http(400)) : new Promise(() => {}));
    const settings = { sending_queue: { queue_size: 4, num_consumers: 1, on_full: "drop_oldest" } };
    const queue = await startQueue({ batching: { minSize: 4 }, backend, settings });
    await sendEach(queue, numbers(4));
    const outcomes = queue.send("new");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(await deadBodies(queue)).toEqual(["r2"]);
  });

  it("is then taken apart inside the bad entry", async () => {
    const queue = await startQueue({ batching: {}, backend: refusing((body) => body === "r5") });
    queue.send("r0", "r1", "r2");
    queue.send("r3", "r4", "r5");
    queue.send("r6");
    await queue.pass(200);
    expect(queue.taken.toSorted()).toEqual(["r0", "r1", "r2", "r3", "r4", "r6"]);
    expect(await deadBodies(queue)).toEqual(["r5"]);
  });

  it("is taken apart inside every entry when each of them has a bad record", async () => {
    const bad = (body: string) => Number(body.slice(1)) % 5 === 2;
    const queue = await startQueue({ batching: {}, backend: refusing(bad) });
    for (let first = 0; first < 200; first += 5) queue.send(...numbers(200).slice(first, first + 5));
    for (let i = 0; i < 20; i++) await queue.pass(200);
    expect((await deadBodies(queue)).toSorted()).toEqual(numbers(200).filter(bad).toSorted());
    expect(queue.taken.length).toBe(160);
  });

  it("is given up after some refusals by a backend that takes nothing", async () => {
    const queue = await startQueue({ batching: {}, backend: refusing(() => true) });
    await sendEach(queue, numbers(500));
    await queue.pass(200);
    expect((await queue.deadLetters()).length).toBe(500);
    expect(queue.calls.length).toBeLessThan(40);
    const shown = (await queue.deadLetters()).map(({ failure, history }) => [
      failure!.requestItems,
      failure!.error.message,
      history.at(-1)!.requestItems,
    ]);
    for (const [requestItems, message, last] of shown) {
      expect(requestItems).toBe(last);
      expect(message).toMatch(/^HTTP 400: bad record/);
    }
    expect(shown.filter(([requestItems]) => requestItems === undefined)).toHaveLength(16);
    expect(queue.outlet.status().queue.inFlight).toBe(0);
  });

  it("finds good entries behind many bad ones at the front", async () => {
    const bad = (body: string) => Number(body.slice(1)) < 20;
    const queue = await startQueue({ batching: {}, backend: refusing(bad) });
    await sendEach(queue, numbers(256));
    await queue.pass(200);
    expect(queue.taken.length).toBe(236);
    expect((await queue.deadLetters()).length).toBe(20);
  });

  it("finds a good entry among thousands, though bad ones are in front and in both halves", async () => {
    const bad = (body: string) => ["r0", "r1", "r1100"].includes(body);
    const queue = await startQueue({ batching: {}, backend: refusing(bad) });
    await sendEach(queue, numbers(2000));
    await queue.pass(200);
    expect(queue.taken.length).toBe(1997);
  });

  it("dies whole when no part of it can be taken", async () => {
    const queue = await startQueue({
      batching: {},
      backend: async () => {
        throw http(409);
      },
    });
    await sendEach(queue, numbers(8));
    await queue.pass(200);
    expect(queue.calls.length).toBe(1);
    expect((await queue.deadLetters()).map(({ failure }) => failure?.requestItems)).toEqual(Array(8).fill(8));
  });
});

describe("a merged request that fails", () => {
  it("is sent again whole", async () => {
    let isDown = true;
    const backend: Backend = async () => {
      if (isDown) throw http(503);
      return undefined;
    };
    const queue = await startQueue({ batching: {}, backend });
    await sendEach(queue, numbers(10));
    await queue.pass(200);
    expect(queue.calls.length).toBe(1);
    isDown = false;
    await queue.pass(2000);
    expect(queue.calls).toEqual([numbers(10), numbers(10)]);
  });

  it.each<[string, object]>([
    ["their number", {}],
    ["their time", { max_elapsed_time: "3s", jitter: "none" }],
    ["one retry", { max_retries: 1 }],
  ])("takes no other entry into death: the last attempt is made for each alone, when %s ends", async (_what, retry) => {
    const backend: Backend = async (bodies) => {
      if (bodies.includes("r7")) throw http(500);
      return undefined;
    };
    const settings = { circuit_breaker: { enabled: false }, retry_on_failure: retry };
    const queue = await startQueue({ batching: {}, backend, settings });
    await sendEach(queue, numbers(20));
    await queue.pass(300_000, 500);
    expect(queue.taken.toSorted()).toEqual(
      numbers(20)
        .filter((body) => body !== "r7")
        .toSorted(),
    );
    expect(await deadBodies(queue)).toEqual(["r7"]);
  });

  it("needs one turn of the retry limiter, not one for each entry", async () => {
    const retry_on_failure = { initial_interval: "1ms", jitter: "none", rate_limit: { per_second: 1, burst: 1 } };
    let calls = 0;
    const backend: Backend = async () => {
      if (++calls === 1) throw http(503);
      return undefined;
    };
    const queue = await startQueue({ batching: {}, backend, settings: { retry_on_failure } });
    await sendEach(queue, numbers(100));
    await queue.pass(250, 50);
    expect(queue.calls).toEqual([numbers(100), numbers(100)]);
  });

  it("is counted with everything in it when nothing answers", async () => {
    const queue = await startQueue({ batching: {}, backend: down });
    await sendEach(queue, numbers(5));
    await queue.pass(200);
    const found = await queue.store.pending(undefined, 10);
    expect(found.map(({ entry }) => entry.calls)).toEqual([1, 1, 1, 1, 1]);
  });
});

describe("a merged request of which some records are rejected", () => {
  it("is kept as a whole, because the backend does not say which, and counts each rejected record once", async () => {
    const backend: Backend = async () => ({ rejected: 3, message: "too old" });
    const queue = await startQueue({ batching: {}, backend, settings: { sending_queue: { wait_for_result: true } } });
    const outcomes = [queue.send("r0", "r1"), queue.send("r2", "r3"), queue.send("r4")];
    await queue.pass(200);
    const message = "3 of 5 records, sent as 3 entries in one request, were rejected: too old";
    const dead = await queue.deadLetters();
    expect(dead.map(({ failure }) => failure)).toMatchObject(
      Array(3).fill({ error: { message }, rejected: 3, requestItems: 5 }),
    );
    expect(outcomes.flat()).toMatchObject(Array(3).fill({ ok: true, rejected: 0, message }));
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(2);
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(3);
    expect(queue.metrics.value("sluice_exporter_partial_success")).toBe(1);
    expect(queue.lines.filter(({ message }) => message === "the backend rejected some records")).toMatchObject([
      { fields: { rejected: 3, message: "too old", suppressed: 0 } },
    ]);
  });
});

describe("a merged request with an entry that cannot be read", () => {
  it("keeps its turn of the retry limit", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const read = store.payload.bind(store);
    let calls = 0;
    store.payload = async (ref) => {
      if (ref === 2 && calls > 0) throw new StoreError("corrupt", "bad checksum");
      return read(ref);
    };
    const backend: Backend = async () => {
      if (++calls === 1) throw http(503);
      return undefined;
    };
    const rate_limit = { per_second: 0.001, burst: 1, on_excess: "drop" };
    const settings = { retry_on_failure: { jitter: "none", rate_limit } };
    const limits = { entries: 100, waiting: 10, bytes: 0 };
    const queue = await startQueue({ store, limits, batching: {}, backend, settings });
    await sendEach(queue, ["a", "b", "c"]);
    await queue.pass(2000, 100);
    expect(queue.taken).toEqual(["a", "c"]);
  });

  it("continues without it", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const read = store.payload.bind(store);
    store.payload = async (ref) => {
      if (ref === 2) throw new StoreError("corrupt", "bad checksum");
      return read(ref);
    };
    const limits = { entries: 100, waiting: 10, bytes: 0 };
    const queue = await startQueue({ store, limits, batching: {} });
    await sendEach(queue, ["a", "b", "c"]);
    await queue.pass(200);
    expect(queue.calls).toEqual([["a", "c"]]);
    expect(queue.outlet.status().queue.inFlight).toBe(0);
  });
});

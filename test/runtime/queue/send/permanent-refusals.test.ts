import { describe, expect, it } from "vitest";
import { Refusal } from "../../../../src/plugin.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../../src/runtime/queue/store/store.js";
import { http, numbers, refusing, startQueue } from "../queue.js";

describe("permanent refusals", () => {
  it("get exactly one call and never open the breaker", async () => {
    const queue = await startQueue({ backend: refusing(() => true, 409) });
    for (const body of numbers(20)) queue.send(body, `${body}x`);
    await queue.pass(100_000, 10_000);
    expect(queue.calls).toHaveLength(20);
    expect(await queue.deadLetters()).toHaveLength(20);
    expect((await queue.deadLetters())[0]).toMatchObject({
      attempts: 1,
      calls: 1,
      failure: { reason: "permanent", category: "integration" },
    });
    expect(queue.outlet.status().breaker.state).toBe("closed");
    expect(queue.metrics.value("sluice_exporter_permanent_failures")).toBe(20);
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(40);
  });

  it("of a few bad records among a thousand leave the others delivered once, each bad one with its own error", async () => {
    const bad = new Set(["r3", "r500", "r999"]);
    const queue = await startQueue({ backend: refusing((body) => bad.has(body)) });
    queue.send(...numbers(1000));
    await queue.settle();
    await queue.settle();
    expect(queue.taken.sort()).toEqual(
      numbers(1000)
        .filter((body) => !bad.has(body))
        .sort(),
    );
    const dead = await queue.deadLetters();
    expect(dead.map(({ items, lastError }) => [items, lastError?.message]).sort()).toEqual(
      [...bad].map((body) => [1, `HTTP 400: bad record ${body}`]).sort(),
    );
    expect(new Set(dead.map(({ parent }) => parent))).toEqual(new Set([queue.keys[0]]));
    expect(await queue.pending()).toEqual([]);
    expect(queue.calls.length).toBeLessThan(70);
  });

  it.each([
    ["that lie together", (i: number) => i < 40],
    ["every thirtieth", (i: number) => i % 30 === 0],
  ])("of bad records %s are told apart", async (_how, isBad) => {
    const queue = await startQueue({ backend: refusing((body) => isBad(Number(body.slice(1)))) });
    queue.send(...numbers(1000));
    for (let i = 0; i < 20; i++) await queue.settle();
    const bad = numbers(1000).filter((_, i) => isBad(i)).length;
    expect([queue.taken.length, (await queue.deadLetters()).length]).toEqual([1000 - bad, bad]);
  });

  it("of everything cost a few calls, not two for each record", async () => {
    const queue = await startQueue({ backend: refusing(() => true) });
    queue.send(...numbers(1000));
    await queue.settle();
    expect(queue.calls.length).toBeLessThanOrEqual(40);
    const dead = await queue.deadLetters();
    expect(dead.reduce((sum, { items }) => sum + items, 0)).toBe(1000);
    for (const { items, calls, history, failure } of dead) {
      // An entry that was refused together with others shows that refusal, and how many entries it concerned.
      const last = history.at(-1)!;
      expect(failure).toMatchObject({ error: { message: last.message } });
      expect(failure!.requestItems).toBe(calls === 0 ? last.requestItems : undefined);
      if (calls === 0) expect(last.requestItems).toBeGreaterThan(items);
    }
    expect(await queue.pending()).toEqual([]);
  });

  it("of many take little more than a call for each record, and leave no good one behind", async () => {
    const queue = await startQueue({ backend: refusing((body) => Number(body.slice(1)) % 2 === 0) });
    queue.send(...numbers(200));
    for (let i = 0; i < 20; i++) await queue.settle();
    expect([queue.taken.length, (await queue.deadLetters()).length]).toEqual([100, 100]);
    expect(queue.calls.length).toBeLessThan(240);
  });

  it("are shown with those of every entry that the record was part of, and the time of the first", async () => {
    const queue = await startQueue({ backend: refusing((body) => body === "r5") });
    queue.send(...numbers(8));
    await queue.pass(0);
    const [dead] = await queue.deadLetters();
    const shown = dead!.history.map(({ requestItems, message }) => [requestItems, message]);
    const message = "HTTP 400: bad record r5";
    expect(shown).toEqual([
      [8, message],
      [4, message],
      [2, message],
      [undefined, message],
    ]);
    expect(dead).toMatchObject({ calls: 1, attempts: 1, firstFailedAt: dead!.history[0]!.at });
    expect(dead!.failure!.requestItems).toBeUndefined();
  });

  it("keep no credentials that the backend echoes", async () => {
    const echo = "no: Authorization: Bearer abcdef0123456789 password=hunter2 token: expired http://u:p@h/";
    const queue = await startQueue({
      backend: async () => {
        throw new Refusal("permanent", echo, { category: "schema" });
      },
    });
    queue.send("a");
    await queue.settle();
    const [dead] = await queue.deadLetters();
    const texts = [dead!.failure!.error.message, dead!.history[0]!.message];
    for (const text of texts) expect(text).toMatch(/^no: .*token: expired/);
    expect(JSON.stringify(dead)).not.toMatch(/abcdef|hunter2|u:p/);
  });

  it("for size are cut until they fit", async () => {
    const queue = await startQueue({
      backend: async (bodies) => {
        if (bodies.length > 100) throw http(413);
        return undefined;
      },
    });
    queue.send(...numbers(1000));
    await queue.settle();
    expect(queue.taken).toHaveLength(1000);
    expect(await queue.deadLetters()).toEqual([]);
  });

  it("in the middle of taking apart survive a crash: every record is delivered, dead or pending", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const backend = refusing((body) => body === "r7");
    const first = await startQueue({ store, backend });
    first.send(...numbers(64));
    while (first.calls.length < 4) await new Promise(setImmediate);
    first.outlet.abort();
    await first.outlet.stop();
    const second = await startQueue({ store, backend });
    await second.settle();
    expect([...first.taken, ...second.taken].sort()).toEqual(
      numbers(64)
        .filter((body) => body !== "r7")
        .sort(),
    );
    expect(await second.deadLetters()).toMatchObject([{ items: 1, lastError: { message: "HTTP 400: bad record r7" } }]);
  });

  it("of some records (partial success) keep the batch as a dead letter", async () => {
    const queue = await startQueue({ backend: async () => ({ rejected: 2, message: "too old" }) });
    const outcomes = queue.send("a", "b", "c");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(1);
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(2);
    expect(await queue.deadLetters()).toMatchObject([
      {
        failure: {
          reason: "partial_success",
          rejected: 2,
          error: { message: "2 of 3 records were rejected: too old" },
        },
      },
    ]);
  });

  it("of some records are counted once when the dead letter can be written only later", async () => {
    const store = failingOnce();
    const queue = await startQueue({ store, backend: async () => ({ rejected: 2, message: "too old" }) });
    queue.send("a", "b", "c");
    await queue.pass(6000, 1000);
    expect(await queue.deadLetters()).toMatchObject([{ failure: { reason: "partial_success" } }]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(1);
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(2);
  });

  it("of some records stay the reason when the queue is full before the dead letter could be written", async () => {
    const queue = await startQueue({
      store: failingOnce(),
      settings: { sending_queue: { queue_size: 1, on_full: "drop_oldest" } },
      backend: async () => ({ rejected: 1, message: "too old" }),
    });
    queue.send("a", "b");
    await queue.settle();
    queue.send("c", "d");
    await queue.settle();
    const reasons = (await queue.deadLetters()).map(({ failure }) => failure?.reason);
    expect(reasons).toEqual(["partial_success", "partial_success"]);
  });
});

/** A store that cannot write the first dead letter. */
function failingOnce(): MemoryStore {
  const store = new MemoryStore({ exporter: "out" });
  const fail = store.fail.bind(store);
  store.fail = async () => {
    store.fail = fail;
    throw new StoreError("io", "cannot sync");
  };
  return store;
}

describe("an entry that was taken apart by a write that was said to have failed", () => {
  it("is not sent again as a whole forever, but its parts are sent", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const replace = store.replace.bind(store);
    let replaced = 0;
    store.replace = async (...args) => {
      const parts = await replace(...args);
      if (replaced++ === 0) throw new StoreError("io", "cannot sync");
      return parts;
    };
    const queue = await startQueue({
      store,
      backend: async (bodies) => {
        if (bodies.includes("bad")) throw new Refusal("permanent", "no", { category: "schema" });
        return undefined;
      },
    });
    queue.send("bad", "good");
    await queue.settle();
    queue.outlet.onReplayed([]);
    await queue.pass(60_000, 1000);
    expect(queue.taken).toEqual(["good"]);
    expect(await queue.deadLetters()).toHaveLength(1);
    expect(queue.calls.filter((bodies) => bodies.length === 2)).toHaveLength(2);
    expect(queue.outlet.status().queue).toMatchObject({ entries: 0, inFlight: 0 });
  });
});

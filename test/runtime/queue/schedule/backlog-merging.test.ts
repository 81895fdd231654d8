import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { builtins } from "../../../../src/agent/builtins/builtins.js";
import { defineHandler, type ExporterFactory } from "../../../../src/plugin.js";
import { entriesOfKey } from "../../../../src/runtime/contract/calls/group-key.js";
import { refusalOfConnection } from "../../../../src/runtime/net/otlp/refusals.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { startSink } from "../../../support/otlp-sink.js";
import { runs } from "../../../support/runs.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { cleanUp, startWrapped } from "../agent.js";
import { type Backend, hangs, http, numbers, type Queue, type QueueOptions, refusing, startQueue } from "../queue.js";

afterEach(cleanUp);

const withCode = (code: string) => Object.assign(new Error(code), { code });

/**
 * Returns the requests since the restart, each as the bodies of its entries. There is one slot, so the order is known.
 */
async function restarted(fill: (queue: Queue) => void, options: QueueOptions = {}): Promise<Queue> {
  const store = options.store ?? new MemoryStore({ exporter: "out" });
  const before = await startQueue({ ...options, store, backend: hangs });
  fill(before);
  await before.settle();
  before.outlet.abort();
  await before.outlet.stop();
  const { sending_queue = {}, ...settings } = options.settings ?? {};
  const slots = { num_consumers: 1, ...(sending_queue as object) };
  const queue = await startQueue({ ...options, settings: { ...settings, sending_queue: slots }, store });
  for (let i = 0; i < 10; i++) await queue.settle();
  return queue;
}

const sendAll =
  (texts: readonly string[]) =>
  (queue: Queue): void => {
    for (const text of texts) queue.send(text);
  };

const deadBodies = async ({ store }: Queue) => {
  const found = await store.failed(undefined, 1e6, "oldest");
  const batches = await Promise.all(found.map(({ ref }) => store.payload(ref)));
  return batches.flatMap(bodies);
};

describe("a backlog", () => {
  it("is sent in requests that double in size, in order, and every entry once", async () => {
    const queue = await restarted(sendAll(numbers(1000)));
    expect(queue.taken).toEqual(numbers(1000));
    expect(queue.calls.map(({ length }) => length)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 489]);
    expect(await queue.pending()).toEqual([]);
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(1000);
  });

  it("is sent in small requests when the backend resets connections over large ones", async () => {
    const backend: Backend = async (texts) => {
      if (texts.length > 4) throw refusalOfConnection("http://backend", withCode("ECONNRESET"));
      return undefined;
    };
    const queue = await restarted(sendAll(numbers(2000)), { backend });
    await queue.pass(300_000, 100);
    expect(queue.taken.length).toBe(2000);
    const opened = queue.lines.filter(({ message }) => message === "circuit breaker: open");
    expect(opened.length).toBeLessThanOrEqual(3);
    for (const body of numbers(2000)) queue.send(`more ${body}`);
    await queue.pass(300_000, 100);
    expect(queue.taken.length).toBe(4000);
  });

  it("is sent in large requests after an outage, in which small ones failed too", async () => {
    let isDown = false;
    const backend: Backend = async () => {
      if (isDown) throw http(503);
      return undefined;
    };
    const queue = await restarted(sendAll(numbers(1000)), { backend });
    for (let outage = 0; outage < 3; outage++) {
      isDown = true;
      for (const body of numbers(1000)) queue.send(`${outage} ${body}`);
      await queue.pass(120_000, 500);
      isDown = false;
      await queue.pass(120_000, 100);
      expect(Math.max(...queue.calls.slice(-20).map(({ length }) => length))).toBeGreaterThan(64);
    }
    expect(queue.taken.length).toBe(4000);
  });

  it("has keys that name every entry of a request", async () => {
    const queue = await restarted(sendAll(numbers(20)));
    const named = queue.keys.flatMap(
      (key, i) => entriesOfKey(key, queue.calls[i]!.length) ?? [{ id: key, items: queue.calls[i]!.length }],
    );
    expect(named.map(({ items }) => items)).toEqual(numbers(20).map(() => 1));
    expect(new Set(named.map(({ id }) => id)).size).toBe(20);
  });

  it("is sent entry by entry when merge_backlog is false, or nothing is retried", async () => {
    const alone = [{ sending_queue: { merge_backlog: false } }, { retry_on_failure: { max_retries: 0 } }];
    for (const settings of [...alone, { retry_on_failure: { enabled: false } }]) {
      const queue = await restarted(sendAll(numbers(30)), { settings });
      expect(queue.calls).toEqual(numbers(30).map((body) => [body]));
    }
  });

  it("keeps pipelines, and what differs in headers that travel with the request, apart", async () => {
    const queue = await restarted(
      (before) => {
        for (const body of numbers(40)) before.sendThrough(`logs/${Number(body.slice(1)) % 2}`, body);
      },
      { metadataKeys: ["tenant"] },
    );
    const tenants = await restarted(
      (before) => {
        for (const body of numbers(40)) before.sendFrom(`t${Number(body.slice(1)) % 2}`, body);
      },
      { metadataKeys: ["tenant"] },
    );
    for (const { calls, taken } of [queue, tenants]) {
      expect(taken.toSorted()).toEqual(numbers(40).toSorted());
      expect(Math.max(...calls.map(({ length }) => length))).toBeGreaterThan(4);
      for (const call of calls) expect(new Set(call.map((body) => Number(body.slice(1)) % 2)).size).toBe(1);
    }
  });

  it("makes no request above 1 MiB, and sends a larger entry alone", async () => {
    const large = "x".repeat(400_000);
    const larger = "y".repeat(2_000_000);
    const queue = await restarted(sendAll([...numbers(7), large, large, large, larger, "z"]));
    expect(queue.calls.map(({ length }) => length)).toEqual([1, 2, 4, 2, 1, 1, 1]);
    expect(queue.taken).toEqual([...numbers(7), large, large, large, larger, "z"]);
  });

  it("brings all but the bad records of a merged request to the backend, once", async () => {
    const bad = ["r50", "r51", "r300", "r777"];
    const backend = refusing((body) => bad.includes(body));
    const queue = await restarted(sendAll(numbers(1000)), { backend });
    expect(queue.taken.toSorted()).toEqual(
      numbers(1000)
        .filter((body) => !bad.includes(body))
        .toSorted(),
    );
    expect((await deadBodies(queue)).toSorted()).toEqual(bad.toSorted());
    for (const { attempts, failure } of await queue.deadLetters()) {
      expect(failure).toMatchObject({ reason: "permanent" });
      expect(attempts).toBeGreaterThan(0);
    }
  });

  it("is sent in smaller requests once one was too large, and larger ones are tried again later", async () => {
    const backend: Backend = async (texts) => {
      if (texts.length > 10) throw http(413);
      return undefined;
    };
    const queue = await restarted(sendAll(numbers(3000)), { backend });
    expect(queue.taken.toSorted()).toEqual(numbers(3000).toSorted());
    expect(await queue.deadLetters()).toEqual([]);
    const tooLarge = queue.calls.filter(({ length }) => length > 10).length;
    expect(tooLarge).toBeGreaterThan(1);
    expect(tooLarge).toBeLessThan(10);
  });

  it("is sent entry by entry after the backend rejected a record without saying which", async () => {
    const backend: Backend = async (texts) => (texts.includes("r5") ? { rejected: 1, message: "some" } : undefined);
    const queue = await restarted(sendAll(numbers(150)), { backend });
    const sizes = queue.calls.map(({ length }) => length);
    expect(sizes).toEqual([1, 2, 4, ...Array.from({ length: 100 }, () => 1), 2, ...sizes.slice(104)]);
    expect(await deadBodies(queue)).toEqual(["r3", "r4", "r5", "r6"]);
  });

  it("merges no replayed entry with others", async () => {
    let isRefusing = true;
    const backend: Backend = async () => {
      if (isRefusing) throw http(400);
      return undefined;
    };
    const queue = await startQueue({ backend, settings: { sending_queue: { num_consumers: 1 } } });
    for (const body of numbers(10)) queue.send(body);
    await queue.settle();
    isRefusing = false;
    queue.calls.length = 0;
    await queue.replayAll();
    await queue.settle();
    expect(queue.calls).toEqual(numbers(10).map((body) => [body]));
  });

  it("of an agent on disk needs few requests after a restart", async () => {
    const [silent, sink] = [await startSink(), await startSink()];
    const exporter = (url: string) => `  otlp_http: {endpoint: "${url}", durability: process, replay: {ramp: 0s}}\n`;
    silent.decide(() => undefined);
    const before = await startWrapped(exporter(silent.url));
    await Promise.all(numbers(1000).map((body) => before.send(body)));
    await before.agent.stop(0);
    await silent.close();
    await startWrapped(exporter(sink.url), { directory: before.directory });
    await expect.poll(() => sink.count).toBe(1000);
    expect(sink.batches.flatMap(bodies).toSorted()).toEqual(numbers(1000).toSorted());
    expect(sink.requests.length).toBeLessThan(50);
    await sink.close();
  });
});

describe("an entry that comes while a slot is free", () => {
  it("is sent at once and alone, even while others are being sent", async () => {
    const queue = await startQueue({ backend: hangs, settings: { sending_queue: { num_consumers: 4 } } });
    for (const [i, body] of numbers(4).entries()) {
      queue.send(body);
      await queue.settle();
      expect(queue.calls).toHaveLength(i + 1);
    }
    queue.send("r4");
    await queue.settle();
    expect(queue.calls).toEqual(numbers(4).map((body) => [body]));
  });
});

describe("entries that wait", () => {
  it("arrive in order and once each, for all sizes and any number of restarts", async () => {
    const sizes = fc.array(fc.constantFrom(1, 1, 2, 7, 5000, 300_000), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(fc.nat(8), { maxLength: 4 }), async (lengths, restarts) => {
        const store = new MemoryStore({ exporter: "out" });
        const texts = lengths.map((length, i) => `${i} `.padEnd(length, "x"));
        const settings = { sending_queue: { num_consumers: 1 }, replay: { ramp: "0s" } };
        const limits = { entries: 20, waiting: 20, bytes: 600_000 };
        const taken: string[] = [];
        let callsLeft = 0;
        const backend: Backend = async (given, batch, abort) => {
          if (callsLeft-- <= 0) return hangs(given, batch, abort);
          taken.push(...given);
          return undefined;
        };
        let queue = await startQueue({ store, settings, limits, backend });
        for (const text of texts) queue.send(text);
        for (const calls of [...restarts, Number.POSITIVE_INFINITY]) {
          await queue.settle();
          queue.outlet.abort();
          await queue.outlet.stop();
          callsLeft = calls;
          queue = await startQueue({ store, settings, limits, backend });
          for (let i = 0; i < 10; i++) await queue.settle();
        }
        expect(taken).toEqual(texts);
        expect(await queue.pending()).toEqual([]);
      }),
      runs(20),
    );
  });
});

describe("exporters whose requests are told apart by their keys, or are a message each", () => {
  it("send what waits entry by entry unless the config says otherwise", async () => {
    const all = await builtins();
    const exporters = all.filter((factory): factory is ExporterFactory => factory.kind === "exporter");
    const mergesNothing = ({ defaults = {} }: ExporterFactory) =>
      (defaults["sending_queue"] as { merge_backlog?: boolean } | undefined)?.merge_backlog === false;
    expect(
      exporters
        .filter(mergesNothing)
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(["aws_sqs", "clickhouse", "kafka", "nats", "rabbitmq", "redis_stream", "sentry", "webhook"]);
    const handle = async () => {};
    expect(mergesNothing(defineHandler({ type: "ship", handle }))).toBe(true);
    const merging = { sending_queue: { merge_backlog: true, num_consumers: 2 } };
    expect(defineHandler({ type: "ship", handle, defaults: merging }).defaults).toEqual(merging);
  });
});

import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import {
  type Batch,
  type ComponentFactory,
  decodeTree,
  defineExporter,
  defineProcessor,
  defineReceiver,
  eachBatch,
  encodeTree,
  Refusal,
  type Tree,
} from "../../../../src/plugin.js";

import { cleanUp } from "../../../support/fed-agent.js";
import { runs } from "../../../support/runs.js";
import { logs } from "../../../support/telemetry/batches.js";
import { listOf, recordsOf } from "../../../support/telemetry/trees.js";
import { until } from "../../../support/until.js";
import {
  type FedWorker,
  removeSocketDirectories,
  socketDirectory,
  startWorker,
  startWorkers,
} from "./start-workers.js";

afterEach(async () => {
  await cleanUp();
  removeSocketDirectories();
});

/** Spans named by trace and number, all of one resource. */
function spans(service: string, ...names: readonly string[]): Batch {
  const all = names.map((name): Tree => {
    const [trace = ""] = name.split(".");
    const status = name.endsWith("!") ? { code: 2 } : {};
    return { traceId: traceId(trace), spanId: new Uint8Array(8).fill(1), name, status };
  });
  const resource = { attributes: [{ key: "service.name", value: { stringValue: service } }] };
  return encodeTree("traces", { resourceSpans: [{ resource, scopeSpans: [{ spans: all }] }] });
}

function traceId(trace: string): Uint8Array {
  const id = new Uint8Array(16);
  Buffer.from(trace).copy(id, 3);
  return id;
}

function names(batches: readonly Batch[]): string[] {
  return batches
    .flatMap((batch) => recordsOf(batch.signal, decodeTree(batch)).map(({ record }) => String(record.name)))
    .sort();
}

const traceOf = (name: string) => name.split(".")[0]!;

/** A processor that keeps what it gets, as a component of one worker. */
function seeing(workers: "trace" | "series" | "one"): { readonly factory: ComponentFactory; readonly seen: Batch[] } {
  const seen: Batch[] = [];
  const create = () =>
    eachBatch((batch: Batch) => {
      seen.push(batch);
      return batch;
    });
  return { factory: defineProcessor({ type: "seeing", workers, create }) as ComponentFactory, seen };
}

const PIPELINE = (processors: string) => `
processors: { ${processors} }
exporters: { collect: { sending_queue: { enabled: false } } }
service:
  pipelines:
    traces: { receivers: [hand], processors: [${processors.split(":")[0]}], exporters: [collect] }
`;

describe("traces", () => {
  it("are decided as a whole by tail_sampling, wherever their spans arrive", async () => {
    const workers = await startWorkers(
      3,
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
processors:
  tail_sampling:
    decision_wait: 2s
    policies: [{ name: errors, type: status_code, status_code: { status_codes: [ERROR] } }]
exporters: { collect: {} }
service:
  pipelines:
    traces: { receivers: [hand], processors: [tail_sampling], exporters: [collect] }
`,
    );
    const traces = Array.from({ length: 12 }, (_, i) => `t${i}`);
    const failing = new Set(traces.filter((_, i) => i % 3 === 0));
    const outcomes = await Promise.all(
      workers.map(({ hand }, i) =>
        hand(spans("shop", ...traces.map((trace) => `${trace}.${i}${i === 2 && failing.has(trace) ? "!" : ""}`))),
      ),
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, true]);
    const kept = () => names(workers.flatMap(({ collected }) => collected.batches));
    await until(() => expect(kept().length).toBe(3 * failing.size));
    expect(new Set(kept().map(traceOf))).toEqual(failing);
  });

  it("are each in one worker, and nothing is missing or twice", async () => {
    const views = [seeing("trace"), seeing("trace"), seeing("trace")];
    const workers = await startWorkers(
      3,
      () => PIPELINE("seeing: {}"),
      (number) => ({
        components: [views[number - 1]!.factory],
      }),
    );
    const request = fc.record({ worker: fc.nat(2), traces: fc.array(fc.nat(40), { minLength: 1, maxLength: 30 }) });
    let serial = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), async (requests) => {
        for (const { seen } of views) seen.length = 0;
        const sent: string[] = [];
        const outcomes = await Promise.all(
          requests.map(({ worker, traces }) => {
            const all = traces.map((trace) => `t${trace}.${serial++}`);
            sent.push(...all);
            return workers[worker]!.hand(spans(`s${worker}`, ...all));
          }),
        );
        expect(outcomes.every(({ ok }) => ok)).toBe(true);
        expect(names(views.flatMap(({ seen }) => seen))).toEqual(sent.sort());
        const traces = views.map(({ seen }) => new Set(names(seen).map(traceOf)));
        expect(new Set(traces.flatMap((each) => [...each])).size).toBe(traces.reduce((sum, { size }) => sum + size, 0));
      }),
      runs(50),
    );
  });
});

describe("series", () => {
  it("of a resource come to one worker, whatever the order of its attributes", async () => {
    const views = [seeing("series"), seeing("series")];
    const workers = await startWorkers(
      2,
      () => `
processors: { seeing: {} }
exporters: { collect: { sending_queue: { enabled: false } } }
service:
  pipelines:
    metrics: { receivers: [hand], processors: [seeing], exporters: [collect] }
`,
      (number) => ({ components: [views[number - 1]!.factory] }),
    );
    for (const [i, { hand }] of workers.entries()) {
      for (let pod = 0; pod < 20; pod++) expect((await hand(gauge(pod, i === 1))).ok).toBe(true);
    }
    const pods = views.map(({ seen }) => seen.flatMap(podsIn));
    expect(pods.map(({ length }) => length).reduce((a, b) => a + b)).toBe(40);
    expect(pods.every(({ length }) => length > 4)).toBe(true);
    for (const pod of pods[0]!) expect(pods[1]).not.toContain(pod);
  });
});

function gauge(pod: number, isReversed: boolean): Batch {
  const attributes = [
    { key: "service.name", value: { stringValue: `pod-${pod}` } },
    { key: "k8s.pod.name", value: { stringValue: `pod-${pod}` } },
  ];
  const metrics = [{ name: "temperature", gauge: { dataPoints: [{ asDouble: 1 }] } }];
  const resource = { attributes: isReversed ? attributes.reverse() : attributes };
  return encodeTree("metrics", { resourceMetrics: [{ resource, scopeMetrics: [{ metrics }] }] });
}

function podsIn(batch: Batch): string[] {
  return listOf(decodeTree(batch), "resourceMetrics").map(({ resource }) => {
    const found = listOf(resource as Tree, "attributes").find(({ key }) => key === "k8s.pod.name");
    return String((found!.value as Tree).stringValue);
  });
}

describe("a component of one worker", () => {
  it("gets everything, and the others do not create it", async () => {
    const created: number[] = [];
    const sent: Batch[] = [];
    const only = (number: number) =>
      defineExporter({
        type: "only",
        workers: "one",
        create: () => {
          created.push(number);
          return { send: async (batch) => void sent.push(batch) };
        },
      });
    const workers = await startWorkers(
      2,
      () => `
exporters: { only: { sending_queue: { enabled: false } }, collect: { sending_queue: { enabled: false } } }
service:
  pipelines:
    traces: { receivers: [hand], exporters: [only, collect] }
`,
      (number) => ({ components: [only(number)] }),
    );
    for (const { hand } of workers) expect((await hand(spans("shop", "a.1", "b.1"))).ok).toBe(true);
    expect(created).toEqual([1]);
    expect(names(sent)).toEqual(["a.1", "a.1", "b.1", "b.1"]);
    expect(workers.map(({ collected }) => collected.count)).toEqual([2, 2]);
  });

  it("gets the dead letters that every worker forwards to it, and has the whole limit of its queue", async () => {
    const bad = defineExporter({
      type: "bad",
      create: () => ({ send: () => Promise.reject(new Refusal("permanent", "no such table")) }),
    });
    const sent: Batch[] = [];
    const isOpen = { now: false };
    const only = defineExporter({
      type: "only",
      workers: "one",
      create: () => ({
        async send(batch) {
          if (!isOpen.now) throw new Refusal("transient", "closed");
          sent.push(batch);
        },
      }),
    });
    const workers = await startWorkers(
      2,
      (directory) => `
extensions: { reliability: { directory: ${directory} } }
exporters:
  bad: { dead_letter: { forward_to: only } }
  only: { sending_queue: { sizer: requests, queue_size: 5 }, retry_on_failure: { initial_interval: 5ms, max_interval: 5ms }, circuit_breaker: { reset_timeout: 2s } }
service:
  extensions: [reliability]
  pipelines:
    traces: { receivers: [hand], exporters: [bad] }
    logs: { receivers: [hand], exporters: [only] }
`,
      (number) => ({ components: [bad, only], worker: { number, count: 2 } }),
    );
    for (const [index, { hand }] of workers.entries()) expect((await hand(spans("shop", `${index}.1`))).ok).toBe(true);
    const waiting = () => workers[0]!.agent.admin!.exporters().find(({ id }) => id === "only")!.queue.entries;
    await expect.poll(waiting).toBe(2);
    for (let record = 1; record <= 3; record++) expect((await workers[0]!.hand(logs("mine"))).ok).toBe(true);
    expect((await workers[0]!.hand(logs("too many"))).ok).toBe(false);
    isOpen.now = true;
    await expect.poll(() => names(sent.filter(({ signal }) => signal === "traces")).sort()).toEqual(["0.1", "1.1"]);
  });

  it("starts in one worker if it is a receiver", async () => {
    const started: string[] = [];
    const source = (number: number) =>
      defineReceiver({
        type: "source",
        workers: "one",
        create: (_config, { id }) => ({
          start: async () => void started.push(`${id} in ${number}`),
          stop: async () => {},
        }),
      });
    const workers = await startWorkers(
      2,
      () => `
exporters: { collect: {} }
service:
  pipelines:
    traces: { receivers: [hand, source/1, source/2], exporters: [collect] }
`,
      (number) => ({ components: [source(number)], receivers: { "source/1": {}, "source/2": {} } }),
    );
    expect(started.sort()).toEqual(["source/1 in 2", "source/2 in 1"]);
    expect(workers.map(({ agent }) => agent.receivers().map(({ id }) => id))).toEqual([
      ["hand", "source/2"],
      ["hand", "source/1"],
    ]);
  });
});

describe("an answer", () => {
  it("carries the refusal of the other worker", async () => {
    const refusal = new Refusal("throttled", "slowly, please", { code: "ORDERS_BUSY", retryAfterMs: 1234 });
    const refusing = defineProcessor({
      type: "seeing",
      workers: "one",
      create: () =>
        eachBatch(() => {
          throw refusal;
        }),
    });
    const workers = await startWorkers(
      2,
      () => PIPELINE("seeing: {}"),
      () => ({ components: [refusing] }),
    );
    const outcome = await workers[1]!.hand(spans("shop", "a.1"));
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { kind: "throttled", message: "slowly, please", code: "ORDERS_BUSY", retryAfterMs: 1234 },
    });
  });

  it("comes when the other worker has the data, not before", async () => {
    const workers = await startWorkers(
      2,
      () => PIPELINE("seeing: {}"),
      () => ({ components: [seeing("one").factory] }),
    );
    workers[0]!.collected.shut();
    let isAnswered = false;
    const answer = workers[1]!.hand(spans("shop", "a.1")).then((outcome) => {
      isAnswered = true;
      return outcome;
    });
    await until(() => expect(workers[0]!.collected.waiting).toBe(1));
    expect(isAnswered).toBe(false);
    workers[0]!.collected.open();
    expect((await answer).ok).toBe(true);
  });
});

describe("a worker that ends", () => {
  it("makes others refuse what is under way, and gets the next data when it is back", async () => {
    const sockets = socketDirectory();
    const options = () => ({ components: [seeing("one").factory] });
    const start = (number: number) => startWorker(number, 2, sockets, () => PIPELINE("seeing: {}"), options());
    const [first, second] = (await Promise.all([start(1), start(2)])) as [FedWorker, FedWorker];
    first.collected.shut();
    const answer = second.hand(spans("shop", "a.1"));
    await until(() => expect(first.collected.waiting).toBe(1));
    await first.exchange.stop(); // ends its connections at once, as a kill does
    expect(await answer).toMatchObject({ ok: false, refusal: { kind: "transient", code: "SLUICE_WORKER_GONE" } });
    const waiting = second.hand(spans("shop", "b.1"));
    const again = await start(1);
    expect((await waiting).ok).toBe(true);
    expect(names(again.collected.batches)).toEqual(["b.1"]);
    first.collected.open();
  });
});

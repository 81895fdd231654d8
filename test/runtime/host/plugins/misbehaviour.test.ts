import { filter, map, NEVER, Observable, share } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";
import { collectGarbage } from "../../../../src/agent/cli/v8.js";
import {
  batchFromJson,
  type ComponentFactory,
  type Delivery,
  deadLetter,
  defineConnector,
  defineExporter,
  defineProcessor,
  defineReceiver,
  eachBatch,
  eachRecord,
  type Intake,
  type Logger,
  type LogRecordView,
  type Processor,
} from "../../../../src/plugin.js";
import { silentLogger } from "../../../../src/runtime/contract/observability.js";
import { FakeClock, logs, type RunPipelineOptions, runPipeline, type TestPipeline } from "../../../../src/testing.js";

const running: TestPipeline[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((pipeline) => pipeline.stop()));
});

/** A pipeline with the component in its place. */
async function run(plugin: ComponentFactory, options: RunPipelineOptions = {}): Promise<TestPipeline> {
  const { kind, type } = plugin;
  const at = (wanted: string, otherwise: string) => (kind === wanted ? `[${type}]` : otherwise);
  const yaml = `${kind}s: {${type}: }
service: {pipelines: {logs: {receivers: ${at("receiver", "[memory]")}, processors: ${at("processor", "[]")}, exporters: ${at("exporter", "[memory]")}}}}`;
  const pipeline = await runPipeline(yaml, { plugins: [plugin], ...options });
  running.push(pipeline);
  return pipeline;
}

const processor = (create: () => unknown) => defineProcessor({ type: "mine", create: create as never });

/** A log that keeps its messages, with the component it is bound to. */
function keptLog() {
  const lines: string[] = [];
  const bound = (component: string): Logger => {
    const say = (_fields: object, message: string) => void lines.push(`${component}: ${message}`);
    const child = (fields: Record<string, unknown>) => bound(String(fields["component"] ?? component));
    return { ...silentLogger, error: say, warn: say, child };
  };
  return { lines, logger: bound("") };
}

describe("a plugin's create", () => {
  it.each([
    ["nothing", () => undefined, /create returned nothing; expected an operator: return eachRecord/],
    ["a promise", async () => map((x) => x), /create must not be asynchronous/],
    ["an object", () => ({}), /create returned an object; expected an operator/],
  ])("learns what to return when it returns %s", async (_what, create, words) => {
    await expect(run(processor(create))).rejects.toThrow(words);
  });

  it("learns which methods an exporter and a receiver have", async () => {
    const create = (() => ({ start: async () => {} })) as never;
    await expect(run(defineExporter({ type: "mine", create }))).rejects.toThrow(/an object without send\(\)/);
    await expect(run(defineReceiver({ type: "mine", create }))).rejects.toThrow(/an object without stop\(\)/);
  });

  it("learns to wrap a plain function", async () => {
    const { lines, logger } = keptLog();
    const pipeline = await run(
      processor(() => () => undefined),
      { logger },
    );
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { message: expect.stringMatching(/processor mine failed: .*wrap it: eachRecord/) },
    });
    expect(lines).toEqual(["processor mine: the processor failed and was restarted"]);
  });
});

describe("a plugin's processor", () => {
  it("is named in the log and in the answer when it throws, and goes on with the next batch", async () => {
    const { lines, logger } = keptLog();
    const plugin = processor(() =>
      eachRecord((record: LogRecordView) => {
        if (record.body === "bad") throw new Error("bang");
      }),
    );
    const pipeline = await run(plugin, { logger });
    expect(await pipeline.send(logs("bad"))).toMatchObject({
      ok: false,
      refusal: { kind: "transient", message: "processor mine failed: bang" },
    });
    expect(await pipeline.send(logs("good"))).toMatchObject({ ok: true });
    expect(lines).toEqual(["processor mine: the processor failed: bang"]);
    expect(pipeline.records()).toMatchObject([{ body: "good" }]);
  });

  it("is named when its answer does not come", async () => {
    const pipeline = await run(processor(() => eachRecord(() => new Promise(() => {}), { timeoutMs: 10 })));
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { code: "SLUICE_TIMEOUT", message: "processor mine failed: the function did not finish within 10 ms" },
    });
  });

  it("delays no shutdown although it keeps its deliveries", async () => {
    const pipeline = await run(processor(() => () => NEVER));
    const outcome = pipeline.send(logs("a"));
    await pipeline.stop(1);
    expect(await outcome).toMatchObject({ ok: false, refusal: { kind: "transient" } });
  });

  it("is named when it lets go of a batch, and the sender is answered", { timeout: 60_000 }, async () => {
    const { lines, logger } = keptLog();
    const pipeline = await run(
      processor(() => filter(() => false)),
      { logger, collectGarbage },
    );
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: {
        kind: "transient",
        code: "SLUICE_DELIVERY_LOST",
        message: expect.stringContaining("processor mine failed"),
      },
    });
    expect(lines).toEqual([expect.stringMatching(/^processor mine: the processor lost a delivery: .*drop\(\)/)]);
  });

  it("is watched while its code runs, and only then", async () => {
    const events: string[] = [];
    let current = 0;
    const watch = {
      register: (name: string) => events.push(name),
      enter(component: number) {
        const before = current;
        current = component;
        events.push(String(component));
        return before;
      },
    };
    const plugin = processor(() => eachRecord(() => void events.push(`runs in ${current}`)));
    const pipeline = await run(plugin, { pluginTracker: watch });
    await pipeline.send(logs("a"));
    expect(events).toEqual(["processor mine", "1", "runs in 1", "0", "1", "0"]);
  });
});

/** An operator written by hand, as one that holds data back is. */
const byHand = (next: (delivery: Delivery) => unknown, complete: () => void = () => {}): Processor => {
  return (source) =>
    new Observable((out) =>
      source.subscribe({
        next: (delivery) => out.next(next(delivery) as Delivery),
        complete() {
          complete();
          out.complete();
        },
      }),
    );
};

/** One that subscribes by hand to a stream that it shares. */
const shared = (next: (delivery: Delivery) => unknown): Processor => {
  return (source) => {
    const stream = source.pipe(share());
    return new Observable((out) => stream.subscribe((delivery) => out.next(next(delivery) as Delivery)));
  };
};

const throwing = (thrown: unknown) => () => {
  throw thrown;
};

const metrics = batchFromJson(
  "metrics",
  '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":"1"}]}}]}]}]}',
);

const WORDLESS: readonly unknown[] = [
  Object.create(null),
  { toString: throwing(new Error("not even that")) },
  Object.defineProperty(new Error(), "message", { get: throwing(new Error("nor that")) }),
  Object.assign(new Error(), { message: Symbol("odd") }),
  Object.assign(Object.create(null), { [Symbol.for("sluice.refusal")]: true }),
];

const THEN = "then";

/** Invalid answers of a plugin, and the error that its author gets. */
const NONSENSE: readonly [string, () => unknown, RegExp][] = [
  ["throws in a stream of its own", () => byHand(throwing(new Error("bang"))), /mine failed: bang/],
  ["throws behind its own share()", () => shared(throwing(new Error("bang"))), /mine failed: bang/],
  [
    "throws behind an operator of rxjs",
    () => (source: Observable<Delivery>) =>
      new Observable((out) =>
        source
          .pipe(map((x) => x))
          .subscribe(throwing(new Error("bang")) as never)
          .add(out),
      ),
    /mine failed: bang/,
  ],
  [
    "throws inside its own share(), where only another subscriber listens",
    () => (source: Observable<Delivery>) => {
      const failing = source.pipe(map(throwing(new Error("bang"))), share());
      return new Observable<Delivery>(() => failing.subscribe());
    },
    /mine failed: bang/,
  ],
  ["hands on nothing", () => byHand(() => undefined), /not a delivery/],
  ["hands on an object", () => byHand(() => ({})), /not a delivery/],
  ["hands on a batch", () => byHand(({ batch }) => batch), /not a delivery/],
  ["hands on a copy of a delivery", () => byHand((delivery) => ({ ...delivery })), /not a delivery/],
  ["hands on a delivery without a batch", () => byHand((d) => d.with(undefined as never)), /not a batch of logs/],
  ["hands on another signal", () => byHand((delivery) => delivery.with(metrics)), /not a batch of logs/],
  ["returns another signal", () => eachBatch(() => metrics), /not a batch of logs/],
  ["returns its delivery", () => eachBatch((_batch, delivery) => delivery as never), /returned no batch/],
  ["returns what looks like a batch", () => eachBatch(() => ({ chunks: 1 }) as never), /returned no batch/],
  ["dead-letters nothing", () => eachBatch(() => deadLetter(undefined as never, {} as never)), /returned no batch/],
  [
    "returns a promise that throws",
    () => eachBatch(() => Object.fromEntries([[THEN, throwing(new Error("no promise"))]]) as never),
    /mine failed: no promise/,
  ],
  ["is no observable", () => () => ({ subscribe: () => 5 }), /wrap it: eachRecord/],
];

describe("a plugin's processor that does what its types forbid", () => {
  it.each(NONSENSE)("and %s is named, and holds nothing", async (_what, create, words) => {
    const { lines, logger } = keptLog();
    const pipeline = await run(processor(create), { logger });
    for (let i = 0; i < 2; i++) {
      expect(await pipeline.send(logs("a"))).toMatchObject({
        ok: false,
        refusal: { kind: "transient", message: expect.stringMatching(words) },
      });
    }
    expect(lines).toEqual([expect.stringMatching(/^processor mine: the processor failed/)]);
    expect(pipeline.exported).toEqual([]);
    await pipeline.stop();
  });

  it.each([
    ["throws", (thrown: unknown) => eachBatch(throwing(thrown))],
    ["rejects with", (thrown: unknown) => eachRecord(() => Promise.reject(thrown))],
    ["ends its stream with", (thrown: unknown) => () => new Observable((out) => out.error(thrown))],
  ])("and %s what cannot be put into words settles all the same", async (_how, create) => {
    for (const thrown of WORDLESS) {
      const pipeline = await run(processor(() => create(thrown)));
      expect(await pipeline.send(logs("a"))).toMatchObject({ ok: false, refusal: { kind: "transient" } });
    }
  });

  it("and throws when its input ends, or when it is let go, does not hold up the end", async () => {
    const { lines, logger } = keptLog();
    const atEnd = await run(
      processor(() => byHand((delivery) => delivery, throwing(new Error("at the end")))),
      { logger },
    );
    expect(await atEnd.send(logs("a"))).toMatchObject({ ok: true });
    await atEnd.stop();
    const letGo = (source: Observable<Delivery>) =>
      new Observable<Delivery>((out) => {
        source.subscribe(out);
        return throwing(new Error("let go"));
      });
    const atTeardown = await run(
      processor(() => letGo),
      { logger },
    );
    expect(await atTeardown.send(logs("a"))).toMatchObject({ ok: true });
    await atTeardown.stop();
    expect(lines).toEqual([
      "processor mine: the processor failed and was restarted",
      "processor mine: the processor failed while it was stopped",
    ]);
  });

  it.each([
    ["nothing", undefined, "the processor gave no reason"],
    ["a number", 5, "5"],
    ["an integer that JSON has not", { message: 10n, reason: "because", code: [], category: 7 }, "10"],
    ["more than anybody reads", "x".repeat(5_000_000), "x".repeat(1000)],
  ])("and gives %s as the reason of a dead letter keeps the records", async (_what, why, message) => {
    for (const create of [
      () => eachRecord(() => ({ deadLetter: why as never })),
      () => eachBatch((batch) => deadLetter(batch, (typeof why === "object" ? why : { message: why }) as never)),
    ]) {
      const pipeline = await run(processor(create), { queue: "memory" });
      expect(await pipeline.send(logs("a"))).toMatchObject({ ok: true });
      expect(await pipeline.deadLetters()).toMatchObject([
        {
          reason: "rejected",
          message,
          entry: { failure: { category: "rejected", error: { code: "SLUICE_REJECTED" } } },
        },
      ]);
      expect(pipeline.exported).toEqual([]);
    }
  });
});

describe("a plugin's exporter", () => {
  const exporter = (send: () => unknown) => defineExporter({ type: "mine", create: () => ({ send }) as never });

  it.each([
    ["nothing", () => undefined],
    ["a response", async () => ({ status: 200 })],
  ])("may answer with %s", async (_what, send) => {
    const pipeline = await run(exporter(send));
    expect(await pipeline.send(logs("a"))).toEqual({ ok: true, rejected: 0, message: "" });
  });

  it.each([
    [
      "throws at once",
      (): never => {
        throw new Error("bang");
      },
    ],
    ["rejects", () => Promise.reject(new Error("bang"))],
  ])("refuses, retryably, when it %s", async (_what, send) => {
    const { lines, logger } = keptLog();
    const pipeline = await run(exporter(send), { logger });
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { kind: "transient", message: "bang" },
    });
    expect(lines).toEqual(["exporter mine: the exporter failed: bang", "exporter mine: export failed"]);
  });
});

describe("a plugin's exporter that cannot be understood", () => {
  it.each([
    ["whose words are none", { rejected: 1, message: WORDLESS[0] }, 1],
    ["that throws when it is read", Object.defineProperty({}, "rejected", { get: throwing(new Error("no")) }), 0],
  ])("gives an answer %s, and nothing is sent twice", async (_what, answer, rejected) => {
    const plugin = defineExporter({ type: "mine", create: () => ({ send: async () => answer as never }) });
    expect(await (await run(plugin)).send(logs("a", "b"))).toMatchObject({ ok: true, rejected });
  });

  it.each(WORDLESS.slice(0, 3))("is named when its start fails with a value without a message", async (thrown) => {
    const create = () => ({ start: () => Promise.reject(thrown), send: async () => undefined });
    await expect(run(defineExporter({ type: "mine", create }))).rejects.toThrow(/exporters\.mine: .*without a message/);
  });

  it("is named when it does not start", async () => {
    const { lines, logger } = keptLog();
    const clock = new FakeClock();
    let begin: (() => void) | undefined;
    const start = () => new Promise<void>((resolve) => (begin = resolve));
    const plugin = defineExporter({ type: "mine", create: () => ({ start, send: async () => undefined }) });
    const starting = run(plugin, { logger, clock });
    await expect.poll(() => begin).toBeDefined();
    await clock.pass(11_000);
    expect(lines).toEqual([": exporters.mine has not started after 10 s"]);
    begin!();
    await starting;
  });
});

describe("a plugin's processor that chooses pipelines", () => {
  it.each([[[]], [["logs/2"]]])("loses nothing when it chooses %j: that is for connectors", async (choice) => {
    const plugin = processor(() => map((delivery: Delivery) => delivery.to(choice)));
    const yaml = `processors: {mine: }
connectors: {forward: }
service: {pipelines: {
  logs: {receivers: [memory], processors: [mine], exporters: [forward]},
  logs/2: {receivers: [forward], exporters: [memory]}}}`;
    const pipeline = await runPipeline(yaml, { plugins: [plugin] });
    running.push(pipeline);
    expect(await pipeline.send(logs("a"))).toMatchObject({ ok: false, refusal: { code: "SLUICE_NO_ROUTE" } });
  });
});

describe("a plugin's connector", () => {
  it.each([["elsewhere"], 5, "logs/2"])("loses nothing when it chooses %j, which it does not feed", async (choice) => {
    const plugin = defineConnector({
      type: "mine",
      routes: [{ from: "logs", to: "logs" }],
      create: () => map((delivery) => delivery.to(choice as never)),
    });
    const yaml = `connectors: {mine: }
service: {pipelines: {logs: {receivers: [memory], exporters: [mine]}, logs/2: {receivers: [mine], exporters: [memory]}}}`;
    const pipeline = await runPipeline(yaml, { plugins: [plugin] });
    running.push(pipeline);
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { kind: "transient", message: expect.stringContaining("it feeds logs/2") },
    });
  });
});

describe("a plugin's receiver", () => {
  it.each([undefined, {}, "logs", Buffer.from("x")])("is refused when it hands in %j", async (junk) => {
    let intake: Intake | undefined;
    await run(
      defineReceiver({
        type: "mine",
        create: (_config, { intakes }) => {
          intake = intakes.logs;
          return { start: async () => {}, stop: async () => {} };
        },
      }),
    );
    expect(await intake!.accept(junk as never)).toMatchObject({
      ok: false,
      refusal: { kind: "permanent", message: "receiver mine handed in a value that is not a batch of logs" },
    });
  });
});

import { map, NEVER } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";
import {
  type ComponentFactory,
  defineExporter,
  defineProcessor,
  defineReceiver,
  eachRecord,
  type Intake,
  type Logger,
  type LogRecordView,
  silentLogger,
} from "../../../src/plugin.js";
import { logs, type RunPipelineOptions, runPipeline, type TestPipeline } from "../../../src/testing.js";

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

/** A log that keeps what is said, with the component it is bound to. */
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
    ["a promise", async () => map((x) => x), /create is asynchronous/],
    ["an object", () => ({}), /create returned an object; expected an operator/],
  ])("is told what to return when it returns %s", async (_what, create, words) => {
    await expect(run(processor(create))).rejects.toThrow(words);
  });

  it("is told which methods an exporter and a receiver have", async () => {
    const create = (() => ({ start: async () => {} })) as never;
    await expect(run(defineExporter({ type: "mine", create }))).rejects.toThrow(/an object without send\(\)/);
    await expect(run(defineReceiver({ type: "mine", create }))).rejects.toThrow(/an object without stop\(\)/);
  });

  it("is told to wrap a plain function", async () => {
    const { lines, logger } = keptLog();
    const pipeline = await run(
      processor(() => () => undefined),
      { logger },
    );
    expect(await pipeline.send(logs("a"))).toMatchObject({
      ok: false,
      refusal: { message: expect.stringMatching(/processor mine failed: .*wrap it: eachRecord/) },
    });
    expect(lines).toEqual(["processor mine: the processor failed and was started anew"]);
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
      refusal: { code: "SLUICE_TIMEOUT", message: "processor mine failed: the function did not answer within 10 ms" },
    });
  });

  it("holds nobody up at the end though it holds on to what it got", async () => {
    const pipeline = await run(processor(() => () => NEVER));
    const outcome = pipeline.send(logs("a"));
    await pipeline.stop(1);
    expect(await outcome).toMatchObject({ ok: false, refusal: { kind: "transient" } });
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
    const pipeline = await run(plugin, { watch });
    await pipeline.send(logs("a"));
    expect(events).toEqual(["processor mine", "1", "runs in 1", "0", "1", "0"]);
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
    expect(lines).toEqual(["exporter mine: export failed"]);
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
      refusal: { kind: "permanent", message: "receiver mine handed in something that is no batch of logs" },
    });
  });
});

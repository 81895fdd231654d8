import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lastingStores } from "../../../../src/agent/testing/component-inputs.js";
import { defineHandler, type HandlerMessage, Refusal } from "../../../../src/plugin.js";
import { runPipeline, type TestPipeline } from "../../../../src/testing.js";
import { runs } from "../../../support/runs.js";
import { until } from "../../../support/until.js";
import { ModelBroker, type Published } from "./broker-model.js";

/** What the handler does in one call. */
type Call = "ok" | "fails before" | "fails after" | "refuses";

/** A message to publish, or an end of the agent: in order, or as if it were killed. */
type Step = { readonly body: string; readonly key: string | undefined } | "restart" | "kill";

interface Story {
  readonly steps: readonly Step[];
  readonly calls: readonly Call[];
  readonly lost: readonly boolean[];
  readonly hasQueue: boolean;
  readonly isIdOfDelivery: boolean;
}

const bodies = fc.constantFrom("a", "b", "");
const keys = fc.option(fc.constantFrom("", "k1", "k2"), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ body: bodies, key: keys }) },
  { weight: 1, arbitrary: fc.constantFrom("restart", "kill") },
);
const story: fc.Arbitrary<Story> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  calls: fc.array(fc.constantFrom<Call>("ok", "ok", "fails before", "fails after", "refuses"), { maxLength: 8 }),
  lost: fc.array(fc.boolean(), { maxLength: 4 }),
  hasQueue: fc.boolean(),
  isIdOfDelivery: fc.boolean(),
});

/** A service that a handler calls. It remembers the keys of its calls, over restarts, and carries out each key once. */
class Service {
  readonly done: string[] = [];
  /** The serials of messages by key, and the keys by serial. */
  readonly serials = new Map<string, Set<string>>();
  readonly keys = new Map<string, Set<string>>();
  private readonly carriedOut = new Set<string>();

  call({ idempotencyKey, headers }: HandlerMessage): void {
    const serial = String(headers["serial"]);
    this.note(idempotencyKey, serial);
    if (!this.carriedOut.has(idempotencyKey)) this.done.push(serial);
    this.carriedOut.add(idempotencyKey);
  }

  note(key: string, serial: string): void {
    this.serials.set(key, (this.serials.get(key) ?? new Set()).add(serial));
    this.keys.set(serial, (this.keys.get(serial) ?? new Set()).add(key));
  }
}

function handlerOf(service: Service, calls: readonly Call[]) {
  const plan = calls.values();
  return defineHandler({
    type: "book",
    async handle(message) {
      const call: Call = plan.next().value ?? "ok";
      if (call === "fails before") throw new Error("not yet");
      if (call === "refuses") throw new Refusal("permanent", "never");
      service.call(message);
      if (call === "fails after") throw new Error("the answer got lost");
    },
  });
}

function configOf(hasQueue: boolean): string {
  const queue = hasQueue ? {} : { sending_queue: { enabled: false } };
  const retries = {
    retry_on_failure: { initial_interval: "1ms", max_interval: "2ms", max_retries: 20 },
    circuit_breaker: { enabled: false },
  };
  return JSON.stringify({
    receivers: { model: {} },
    exporters: { book: { ...queue, ...(hasQueue && retries) } },
    service: { pipelines: { logs: { receivers: ["model"], exporters: ["book"] } } },
  });
}

/** Messages with the same key of their sender are one message; every other message is one of its own. */
function publishedAs(number: number, { body, key }: Exclude<Step, string>): Published {
  return key === undefined || key === "" ? { serial: `#${number}`, body, key } : { serial: key, body: key, key };
}

/** Tells the story to an agent, and returns the serials of all messages once each was acknowledged. */
async function run({ steps, calls, lost, hasQueue, isIdOfDelivery }: Story, service: Service) {
  const losses = lost.values();
  const broker = new ModelBroker(() => losses.next().value ?? false, isIdOfDelivery);
  const plugins = [broker.receiver(), handlerOf(service, calls)];
  const queue = lastingStores();
  const start = () => runPipeline(configOf(hasQueue), { plugins, queue });
  const published: Published[] = [];
  let pipeline: TestPipeline = await start();
  const restart = async (timeoutMs?: number) => {
    await pipeline.stop(timeoutMs);
    pipeline = await start();
  };
  try {
    for (const each of steps) {
      if (typeof each === "string") await restart(each === "kill" ? 0 : undefined);
      else {
        published.push(publishedAs(published.length, each));
        broker.publish(published.at(-1)!);
      }
    }
    while (!broker.isDone) {
      await until(() => expect(broker.isIdle).toBe(true));
      if (!broker.isDone) await restart();
    }
    const dead = hasQueue ? await settledDeadLetters(pipeline) : [];
    return {
      serials: new Set(published.map(({ serial }) => serial)),
      notHandled: [...dead, ...broker.refused.map(({ serial }) => serial)],
    };
  } finally {
    await pipeline.stop(0);
  }
}

/** The serials of dead letters, when nothing is on its way to the handler any more. */
async function settledDeadLetters(pipeline: TestPipeline): Promise<string[]> {
  await until(() => expect(pipeline.admin.exporters()[0]!.queue).toMatchObject({ entries: 0, inFlight: 0 }));
  const letters = await pipeline.deadLetters();
  return letters.flatMap(({ records }) =>
    records.map(({ attributes }) => String(attributes["messaging.header.serial"])),
  );
}

describe("messages with and without keys, through restarts, with and without a queue", () => {
  it("are all handled or dead letters when they are acknowledged, and once where their source knows them", async () => {
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        const service = new Service();
        const { serials, notHandled } = await run(told, service);
        for (const serial of serials) expect([...service.done, ...notHandled]).toContain(serial);
        for (const [key, named] of service.serials) expect([key, named.size]).toEqual([expect.stringMatching(/./), 1]);
        for (const [serial, own] of service.keys) {
          const isKnown = !told.isIdOfDelivery || !serial.startsWith("#");
          if (isKnown) expect([serial, own.size]).toEqual([serial, 1]);
          if (isKnown) expect(service.done.filter((each) => each === serial)).toEqual([serial]);
        }
      }),
      // Shrinking starts many agents, and the stories are short.
      { ...runs(40), endOnFailure: true },
    );
  });
});

import fc from "fast-check";
import { defer, finalize } from "rxjs";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { reliability } from "../../../../src/extensions/reliability/component.js";
import { defineExporter, defineProcessor, type Intake, type Processor } from "../../../../src/plugin.js";
import { defineBuiltInExtension, defineBuiltInReceiver } from "../../../../src/runtime/contract/built-in/define.js";
import { type Logger, silentLogger } from "../../../../src/runtime/contract/observability.js";
import type { Agent } from "../../../../src/runtime/host/agent.js";
import { Swap } from "../../../../src/runtime/host/reload/swap.js";
import { agentOf, resolve } from "../../../support/agent.js";
import { FIRST_CASE, runs, STRIDE } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { temporaryFolder } from "../../../support/temporary-folder.js";

/** The versions of the parts of a config; a part with another version is replaced. */
interface Versions {
  readonly extension: number;
  /** Starts when its predecessor has stopped. */
  readonly plain: number;
  /** Runs beside its predecessor. */
  readonly handing: number;
  readonly front: number;
  /** Holds deliveries, so a journal is in front of it. */
  readonly held: number;
  /** An exporter whose queue runs on when it is replaced. */
  readonly sender: number;
  /** Consumers of the queue of the other exporter, which is opened anew for them. */
  readonly consumers: number;
  /** Whether there are a receiver, a pipeline with a journal, and an exporter more. */
  readonly more: boolean;
}

const FIRST: Versions = {
  ...{ extension: 1, plain: 1, handing: 1, front: 1, held: 1, sender: 1, consumers: 1 },
  more: false,
};
const ALL_CHANGED: Versions = {
  ...{ extension: 2, plain: 2, handing: 2, front: 2, held: 2, sender: 2, consumers: 2 },
  more: true,
};

function yamlOf(versions: Versions, directory: string): string {
  const { extension, plain, handing, front, held, sender, consumers, more } = versions;
  const ifMore = (text: string) => (more ? text : "");
  return `
receivers: {plain: {v: ${plain}}, handing: {v: ${handing}}${ifMore(", plain/more: {v: 1}, handing/more: {v: 1}")}}
processors: {front: {v: ${front}}, held: {v: ${held}}${ifMore(", held/more: {v: 1}")}}
exporters:
  sink/queue: {v: 1, sending_queue: {num_consumers: ${consumers}}}
  sink/sender: {v: ${sender}}
${ifMore("  sink/more: {v: 1}")}
extensions:
  ext: {v: ${extension}}
  reliability: {directory: ${JSON.stringify(directory)}, durability: process}
service:
  extensions: [reliability, ext]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [plain, handing], processors: [front, held], exporters: [sink/queue, sink/sender]}
${ifMore("    logs/more: {receivers: [plain/more, handing/more], processors: [held/more], exporters: [sink/more]}")}
`;
}

/** What runs with this config. */
function partsOf({ extension, plain, handing, front, held, sender, more }: Versions): string[] {
  const parts = [`ext ${extension}`, `plain ${plain}`, `handing ${handing}`, `front ${front}`, `held ${held}`];
  const others = ["plain/more 1", "handing/more 1", "held/more 1", "sink/more 1"];
  return [...parts, "sink/queue 1", `sink/sender ${sender}`, ...(more ? others : [])].sort();
}

/** An instance of a component. */
interface Instance {
  readonly name: string;
  starts: number;
  stops: number;
}

/** Components that note when they start and stop, and what passes them. */
class Parts {
  readonly instances: Instance[] = [];
  readonly intakes = new Map<string, Intake>();
  /** Bodies of records, by the exporter that got them. */
  readonly seen: string[] = [];

  get running(): string[] {
    return this.instances
      .filter(({ starts, stops }) => starts > stops)
      .map(({ name }) => name)
      .sort();
  }

  /** Instances that were stopped twice, or without a start. */
  get wronglyStopped(): Instance[] {
    return this.instances.filter(({ starts, stops }) => starts > 1 || stops > starts);
  }

  readonly factories = (() => {
    const schema = z.strictObject({ v: z.number() });
    const receiver = (type: string, handsOver: boolean) =>
      defineBuiltInReceiver({
        ...{ type, schema, ...(handsOver && { handsOver: () => true }) },
        signals: ["logs"],
        create: ({ v }, { id, intakes }) => {
          const name = `${id} ${v}`;
          return this.lifecycle(name, () => this.intakes.set(name, intakes.logs!));
        },
      });
    return [
      reliability,
      defineBuiltInExtension({ type: "ext", schema, create: ({ v }, { id }) => this.lifecycle(`${id} ${v}`) }),
      ...[receiver("plain", false), receiver("handing", true)],
      defineProcessor({ type: "front", schema, create: ({ v }, { id }) => this.processor(`${id} ${v}`) }),
      defineProcessor({
        ...{ type: "held", schema, maxHeldBytes: () => ({ bytes: 1024, path: [] }) },
        create: ({ v }, { id }) => this.processor(`${id} ${v}`),
      }),
      defineExporter({
        ...{ type: "sink", schema },
        create: ({ v }, { id }) => ({
          ...this.lifecycle(`${id} ${v}`),
          send: async (batch) => void this.seen.push(...bodies(batch).map((body) => `${id} ${v}: ${body}`)),
        }),
      }),
    ];
  })();

  private lifecycle(name: string, onStart = () => {}) {
    const instance = this.add(name);
    const start = async () => {
      instance.starts += 1;
      onStart();
    };
    return { start, stop: async () => void (instance.stops += 1) };
  }

  private processor(name: string): Processor {
    const instance = this.add(name);
    return (input) =>
      defer(() => {
        instance.starts += 1;
        return input.pipe(finalize(() => (instance.stops += 1)));
      });
  }

  private add(name: string): Instance {
    const instance = { name, starts: 0, stops: 0 };
    this.instances.push(instance);
    return instance;
  }
}

/** What happens at a step, besides a record for each receiver. Only a throw takes its place. */
type Fault = "throws" | "stops the agent" | "stops the agent at once" | "aborts the agent" | "gets a record";

class Scene {
  readonly parts = new Parts();
  readonly agent: Agent;
  /** Steps that were done and can be undone, and those that were undone, each in order. */
  readonly done: string[] = [];
  readonly undone: string[] = [];
  /** A step that cannot be undone. */
  stuck: string | undefined;
  readonly errors: unknown[] = [];
  readonly sent: { readonly body: string; readonly isTaken: Promise<boolean> }[] = [];
  private readonly directory = temporaryFolder();

  constructor(versions: Versions) {
    const error = ({ step }: { step?: string }, message: string) => {
      if (step !== undefined) this.errors.push([step, message]);
    };
    const logger: Logger = { ...silentLogger, error, child: () => logger };
    this.agent = agentOf(yamlOf(versions, this.directory), { components: this.parts.factories, logger });
  }

  /** Hands in a record at every receiver that runs. */
  send(text: string): void {
    for (const receiver of this.parts.running) {
      const intake = this.parts.intakes.get(receiver);
      const body = `${text} from ${receiver}`;
      if (intake !== undefined) this.sent.push({ body, isTaken: intake.accept(logs(body)).then(({ ok }) => ok) });
    }
  }

  /** Resolves with whether the new config is used. */
  async reload(after: Versions, fault: Fault, at: number): Promise<boolean> {
    const restore = this.watchSteps(fault, at);
    const config = resolve(yamlOf(after, this.directory), this.parts.factories);
    return this.agent
      .reload(config)
      .then(
        () => true,
        () => false,
      )
      .finally(restore);
  }

  private watchSteps(fault: Fault, at: number): () => void {
    const { done, undone, stuck } = this;
    const happen = () => this.happen(fault);
    const original = Swap.prototype["steps"];
    Swap.prototype["steps"] = function* () {
      let i = 0;
      for (const { name, ...step } of original.call(this)) {
        const isFaulty = i++ === at;
        const act = async () => {
          if (isFaulty) happen();
          await step.do();
          if (step.undo !== undefined) done.push(name);
        };
        const undo = async () => {
          if (name === stuck) throw new Error("it is stuck");
          undone.push(name);
          await step.undo!();
        };
        yield { name, do: act, ...(step.undo && { undo }) };
      }
    };
    return () => {
      Swap.prototype["steps"] = original;
    };
  }

  private happen(fault: Fault): void {
    this.send("during");
    if (fault === "throws") throw new Error("this step fails");
    if (fault === "stops the agent") void this.agent.stop(500);
    if (fault === "stops the agent at once") void this.agent.stop(0);
    if (fault === "aborts the agent") this.agent.abort();
  }

  /** Exactly these parts run, everything else was stopped once, and records go through them. */
  async expectRunning(versions: Versions): Promise<void> {
    const { parts, sent } = this;
    // A processor starts with the first record.
    const besideProcessors = (names: string[]) => names.filter((name) => !/^(front|held)/.test(name));
    await expect.poll(() => besideProcessors(parts.running)).toEqual(besideProcessors(partsOf(versions)));
    this.send("after");
    const ends = ({ body }: { readonly body: string }) =>
      (body.includes("/more") ? ["sink/more 1"] : ["sink/queue 1", `sink/sender ${versions.sender}`]).map(
        (end) => `${end}: ${body}`,
      );
    const after = sent.filter(({ body }) => body.startsWith("after"));
    // A pipeline that comes or goes refuses what is inside when it is not used.
    const refused = new Set<string>();
    for (const { body, isTaken } of sent) if (!(await isTaken)) refused.add(body);
    expect([...refused].filter((body) => !/^during from .*\/more/.test(body))).toEqual([]);
    const seen = () => parts.seen.filter((line) => line.includes(": after")).sort();
    await expect.poll(seen).toEqual(after.flatMap(ends).sort());
    for (const { body } of sent.filter((each) => !refused.has(each.body)))
      await expect.poll(() => parts.seen.some((line) => line.endsWith(body))).toBe(true);
    await expect.poll(() => parts.running).toEqual(partsOf(versions));
    expect(parts.wronglyStopped).toEqual([]);
  }

  /** Everything was stopped once, and everybody has an answer. */
  async expectStopped(): Promise<void> {
    await this.agent.stop(500);
    await Promise.all(this.sent.map(({ isTaken }) => isTaken));
    await expect.poll(() => this.parts.running).toEqual([]);
    expect(this.parts.wronglyStopped).toEqual([]);
  }
}

async function started(versions: Versions): Promise<Scene> {
  const scene = new Scene(versions);
  await scene.agent.start();
  onTestFinished(() => scene.agent.stop(0));
  return scene;
}

/** Tries a fault at a step; false if the reload has fewer steps. */
async function tryFault(before: Versions, after: Versions, fault: Fault, at: number): Promise<boolean> {
  const scene = await started(before);
  const isUsed = await scene.reload(after, fault, at);
  const hasHappened = scene.sent.length > 0;
  expect(scene.undone).toEqual(isUsed ? [] : scene.done.toReversed());
  if (fault === "throws") expect(isUsed).toBe(!hasHappened);
  if (fault === "gets a record") expect(isUsed).toBe(true);
  if (fault === "throws" || fault === "gets a record") await scene.expectRunning(isUsed ? after : before);
  await scene.expectStopped();
  return hasHappened;
}

describe("a reload", () => {
  const faults: readonly Fault[] = [
    "throws",
    "stops the agent",
    "stops the agent at once",
    "aborts the agent",
    "gets a record",
  ];

  it.each(faults)("of every kind of part runs the old config or the new one, whole, if a step %s", async (fault) => {
    for (const [before, after] of [
      [FIRST, ALL_CHANGED],
      [ALL_CHANGED, FIRST],
    ] as const) {
      let at = FIRST_CASE;
      while (await tryFault(before, after, fault, at)) at += STRIDE;
      expect(at).toBeGreaterThan(12);
    }
  });

  it("undoes the other steps if one cannot be undone, and logs its name", async () => {
    const scene = await started(FIRST);
    scene.stuck = "reconfigure";
    expect(await scene.reload(ALL_CHANGED, "throws", 12)).toBe(false);
    expect(scene.undone).toEqual(scene.done.filter((name) => name !== scene.stuck).toReversed());
    expect(scene.errors).toEqual([[scene.stuck, "a step of the failed reload could not be undone"]]);
    await scene.expectRunning(FIRST);
  });

  it("of some parts runs the old config or the new one, whole, whatever happens at any step", async () => {
    const version = fc.constantFrom(1, 2);
    const versions = fc.record({
      ...{ extension: version, plain: version, handing: version, front: version, held: version },
      ...{ sender: version, consumers: version, more: fc.boolean() },
    });
    const law = fc.asyncProperty(versions, versions, fc.constantFrom(...faults), fc.nat(25), async (...settings) => {
      await tryFault(...settings);
    });
    await fc.assert(law, runs(30));
  });
});

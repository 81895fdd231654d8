import * as rxjs from "rxjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Batch, Delivery, type Logger, type Outcome, type Processor } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { FakeClock, logs, runPipeline, type TestPipeline } from "../../../src/testing.js";
import { countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { sketch } from "../../support/plan.js";
import { bodies, logs as logsOf } from "../../support/telemetry/batches.js";
import type { Page } from "../pages.js";
import { folderOf } from "../project.js";

/** What the operators in the page's tables use. */
const NAMES = {
  ...rxjs,
  edited: (delivery: Delivery) => delivery.with(delivery.batch),
  lookUp: (delivery: Delivery) => rxjs.timer(20).pipe(rxjs.map(() => delivery)),
  isFilled: (held: readonly Delivery[]) => held.length > 0,
  merged: (held: [Delivery, ...Delivery[]]) => Delivery.merge(held, Batch.merge(held.map(({ batch }) => batch))),
  keyOf: ({ origin }: Delivery) => origin.receiver,
  isWanted: ({ batch }: Delivery) => !bodies(batch).includes("unwanted"),
  isSame: (one: Delivery, other: Delivery) => `${bodies(one.batch)}` === `${bodies(other.batch)}`,
};

/** The operators in the first column of the tables under a heading. */
function operatorsUnder(heading: string, { text }: Page): string[] {
  const section = text.split(/^## /m).find((each) => each.startsWith(heading))!;
  const cells = [...section.matchAll(/^\| (`.*?`) \|/gm)].map((match) => match[1]!);
  return cells.flatMap((cell) => cell.split("`, `")).map((code) => code.replaceAll("`", ""));
}

function processorOf(code: string): Processor {
  const evaluate = new Function(...Object.keys(NAMES), `return pipe(${code})`);
  return evaluate(...Object.values(NAMES)) as Processor;
}

/** A logger that keeps what is said, without the fields. */
function listener() {
  const said: string[] = [];
  const say = (_fields: object, message: string) => void said.push(message);
  const logger: Logger = { ...silentLogger, warn: say, error: say, child: () => logger };
  return { said, logger };
}

/** A pipeline with these operators between a receiver and an exporter. */
function pipelineOf(code: string) {
  const clock = new FakeClock();
  const { said, logger } = listener();
  const exported: string[] = [];
  const send = async (batch: Batch) => void exported.push(...bodies(batch));
  const pipelines = { logs: { receivers: ["in"], processors: ["mine"], exporters: ["out"] } };
  const description = { processors: { mine: () => processorOf(code) }, exporters: { out: { send } }, pipelines };
  const { graph, intake } = sketch(description, { plugins: true, clock, logger });
  const sendAll = (...texts: string[]) => Promise.all(texts.map((text) => intake("in").accept(logsOf(text))));
  /** Lets time pass until all are answered. */
  const answered = async (outcomes: Promise<Outcome[]>) => {
    let isOver = false;
    void outcomes.then(() => (isOver = true));
    while (!isOver) await clock.pass(1000);
    return outcomes;
  };
  return { graph, sendAll, answered, clock, said, exported };
}

const OK = { ok: true };
const refusedWith = (code: string) => ({ ok: false, refusal: { kind: "transient", code } });
const FAILED = refusedWith("SLUICE_COMPONENT_FAILED");
const RESTARTED = "the processor failed and was restarted";

/** The operators of the tables run in a graph, and every block is a module with a processor, which runs in a pipeline. */
export function streamProcessors(page: Page): void {
  describe("errors", () => errors(page));

  describe.each(operatorsUnder("Hold and drain", page))("%s", (code) => {
    it("keeps every delivery, and hands all of them on when the input ends", async () => {
      const { graph, sendAll, said, exported } = pipelineOf(code);
      const outcomes = sendAll("a", "b", "c");
      await graph.drain();
      expect(await outcomes).toMatchObject([OK, OK, OK]);
      expect({ exported: exported.sort(), said }).toEqual({ exported: ["a", "b", "c"], said: [] });
    });

    it("has refused what it holds after an abort", async () => {
      const { graph, sendAll, said } = pipelineOf(code);
      const outcomes = sendAll("a");
      graph.abort();
      const [outcome] = await outcomes;
      if (!code.startsWith("map(")) expect(outcome).toMatchObject(refusedWith("SLUICE_SHUTTING_DOWN"));
      expect({ used: graph.budget.used, said }).toEqual({ used: 0, said: [] });
    });
  });

  it.each(operatorsUnder("Operators that lose", page))(
    "%s loses deliveries, whose senders are told to send them again",
    { timeout: 60_000 },
    async (code) => {
      const { graph, sendAll, answered, said } = pipelineOf(code);
      const outcomes = await answered(sendAll("a", "unwanted", "unwanted"));
      const lost = outcomes.filter(({ ok }) => !ok);
      expect(lost.length).toBeGreaterThan(0);
      expect(lost.length).toBeLessThan(3);
      for (const outcome of lost) expect(outcome).toMatchObject(refusedWith("SLUICE_DELIVERY_LOST"));
      expect(said).toEqual([expect.stringContaining("the processor lost a delivery")]);
      expect(graph.budget.used).toBe(0);
      graph.abort();
    },
  );

  it("throttleTime keeps the last delivery that it skipped until another one comes", { timeout: 60_000 }, async () => {
    const { graph, sendAll, answered, clock } = pipelineOf("throttleTime(20)");
    const LOST = refusedWith("SLUICE_DELIVERY_LOST");
    const [a, b, c] = [sendAll("a"), sendAll("b"), sendAll("c")];
    expect(await answered(a)).toMatchObject([OK]);
    expect(await answered(b)).toMatchObject([LOST]);
    expect(await Promise.race([c, clock.pass(10_000)])).toBeUndefined();
    expect(await answered(sendAll("d"))).toMatchObject([OK]);
    expect(await answered(c)).toMatchObject([LOST]);
    graph.abort();
  });

  it.each(["take(1)", "first()"])("%s ends the stream, which is handled like an error", async (end) => {
    const { graph, sendAll, answered, said } = pipelineOf(`mergeMap(lookUp), ${end}`);
    expect(await answered(sendAll("a", "b"))).toMatchObject([OK, FAILED]);
    expect(said).toEqual([RESTARTED]);
    expect(await answered(sendAll("c"))).toMatchObject([OK]);
    graph.abort();
  });
}

function errors(page: Page): void {
  let folder: string;
  beforeAll(() => {
    folder = folderOf(page);
  });
  const running: TestPipeline[] = [];
  afterEach(() => Promise.all(running.splice(0).map((pipeline) => pipeline.stop())));
  const tried = new Set<string>();

  async function run(file: string, errorMode = {}) {
    tried.add(file);
    const type = file.replace(".js", "").replaceAll("-", "_");
    const { said, logger } = listener();
    const metrics = countedMetrics();
    const logsPipeline = { receivers: ["memory"], processors: [type], exporters: ["memory"], ...errorMode };
    const yaml = { plugins: [`./${file}`], processors: { [type]: {} }, service: { pipelines: { logs: logsPipeline } } };
    const pipeline = await runPipeline(JSON.stringify(yaml), { folder, logger, metrics, queue: "memory" });
    running.push(pipeline);
    const send = (...batches: Batch[]) => Promise.all(batches.map((batch) => pipeline.send(batch)));
    return { pipeline, send, said, failures: () => metrics.value("sluice_component_failures") };
  }

  it.each([{}, { error_mode: "dead_letter" }])(
    "teams.js has everything inside refused when its function throws, and serves on: %o",
    async (errorMode) => {
      const { pipeline, send, said, failures } = await run("teams.js", errorMode);
      expect(await send(logs("a", "b", "c"), logs("d"))).toMatchObject([FAILED, FAILED]);
      expect(said).toEqual([RESTARTED]);
      expect(failures()).toBeGreaterThan(0);
      expect(await send(logs("d"))).toMatchObject([OK]);
      expect(await pipeline.deadLetters()).toEqual([]);
    },
  );

  it("careful-teams.js keeps the delivery alone on which it fails as a dead letter", async () => {
    const { pipeline, send, said, failures } = await run("careful-teams.js");
    expect(await send(logs("a", "b", "c"), logs("d"))).toMatchObject([OK, OK]);
    expect(await pipeline.deadLetters()).toMatchObject([{ reason: "rejected", message: "the batch is too large" }]);
    await expect.poll(() => pipeline.records()).toMatchObject([{ body: "d", attributes: { team: "team of memory" } }]);
    expect({ said, failures: failures() }).toEqual({
      said: ["could not be delivered: kept as a dead letter"],
      failures: 0,
    });
  });

  it("has no block that is not tried", () => {
    expect([...tried].sort()).toEqual(page.blocks.map(({ file }) => file).sort());
  });
}

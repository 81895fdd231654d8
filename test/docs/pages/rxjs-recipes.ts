import { afterEach, beforeAll, expect, it } from "vitest";
import type { Batch, Logger } from "../../../src/plugin.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { FakeClock, logs, runPipeline, type TestPipeline } from "../../../src/testing.js";
import type { Page } from "../pages.js";
import { folderOf } from "../project.js";

const send = (pipeline: TestPipeline, ...batches: Batch[]) => Promise.all(batches.map((batch) => pipeline.send(batch)));
const textsOf = (pipeline: TestPipeline) => pipeline.records().map(({ body }) => body);
const OK = { ok: true };

/** Every block is a module with a processor, which runs in a pipeline. */
export function rxjsRecipes(page: Page): void {
  let folder: string;
  beforeAll(() => {
    folder = folderOf(page);
  });

  const running: TestPipeline[] = [];
  const complaints: string[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((pipeline) => pipeline.stop()));
    expect(complaints.splice(0)).toEqual([]);
  });

  const say = (_fields: object, message: string) => void complaints.push(message);
  const logger: Logger = { ...silentLogger, warn: say, error: say, child: () => logger };

  const tried = new Set<string>();

  /** The recipe's processor between a receiver and an exporter in memory. */
  async function run(file: string, config: object = {}, clock?: FakeClock): Promise<TestPipeline> {
    tried.add(file);
    const type = file.replace(".js", "").replaceAll("-", "_");
    const yaml = JSON.stringify({
      plugins: [`./${file}`],
      processors: { [type]: config },
      service: { pipelines: { logs: { receivers: ["memory"], processors: [type], exporters: ["memory"] } } },
    });
    const pipeline = await runPipeline(yaml, { folder, logger, ...(clock !== undefined && { clock }) });
    running.push(pipeline);
    return pipeline;
  }

  it("errors-only.js silently drops batches without errors", async () => {
    const pipeline = await run("errors-only.js");
    expect(await send(pipeline, logs("a"), logs("b", { body: "c", severityNumber: 17 }))).toMatchObject([OK, OK]);
    expect(textsOf(pipeline)).toEqual(["b", "c"]);
  });

  it("shout.js edits records", async () => {
    const pipeline = await run("shout.js");
    expect(await send(pipeline, logs("a", "b"))).toMatchObject([OK]);
    expect(textsOf(pipeline)).toEqual(["A", "B"]);
  });

  it("latest.js drops what is overtaken", async () => {
    const clock = new FakeClock();
    const pipeline = await run("latest.js", { quiet_ms: 100 }, clock);
    const outcomes = send(pipeline, logs("a"), logs("b"), logs("c"));
    await clock.pass(99);
    expect(textsOf(pipeline)).toEqual([]);
    await clock.pass(1);
    expect(await outcomes).toMatchObject([OK, OK, OK]);
    expect(textsOf(pipeline)).toEqual(["c"]);
  });

  it("buffer.js merges by count, and by time", async () => {
    const pipeline = await run("buffer.js", { ms: 10, count: 2 });
    expect(await send(pipeline, logs("a"), logs("b"), logs("c"))).toMatchObject([OK, OK, OK]);
    expect(pipeline.exported.map(({ count }) => count)).toEqual([2, 1]);
  });

  it("owner.js looks something up for each", async () => {
    const pipeline = await run("owner.js");
    expect(await send(pipeline, logs("a"), logs("b"))).toMatchObject([OK, OK]);
    expect(pipeline.records().map(({ attributes }) => attributes?.["team"])).toEqual([
      "team of memory",
      "team of memory",
    ]);
  });

  it("patient.js tries again", async () => {
    const pipeline = await run("patient.js");
    expect(await send(pipeline, logs("a"), logs("b"))).toMatchObject([OK, OK]);
    expect(pipeline.records()).toMatchObject([{ attributes: { region: "eu" } }, { attributes: { region: "eu" } }]);
  });

  it("twice.js hands on a copy for each way", async () => {
    const pipeline = await run("twice.js");
    expect(await send(pipeline, logs("a"))).toMatchObject([OK]);
    expect(pipeline.records().map(({ attributes }) => attributes?.["copy"] ?? false)).toEqual([false, true]);
  });

  it("later.js waits on the clock of the pipeline", async () => {
    const clock = new FakeClock();
    const pipeline = await run("later.js", { ms: 1000 }, clock);
    const outcomes = send(pipeline, logs("a"));
    await clock.pass(999);
    expect(textsOf(pipeline)).toEqual([]);
    await clock.pass(1);
    expect(await outcomes).toMatchObject([OK]);
  });

  it("by-service.js merges by key", async () => {
    const pipeline = await run("by-service.js", { ms: 10 });
    expect(await send(pipeline, logs("a"), logs("b"))).toMatchObject([OK, OK]);
    expect(pipeline.exported.map(({ count }) => count)).toEqual([2]);
  });

  it("small-only.js permanently refuses one delivery and no other", async () => {
    const pipeline = await run("small-only.js");
    expect(await send(pipeline, logs("a", "b", "c"), logs("d"))).toMatchObject([
      { ok: false, refusal: { kind: "permanent", message: "more than two records" } },
      OK,
    ]);
  });

  it.each(["buffer.js", "by-service.js", "latest.js"])("%s flushes when its input ends", async (file) => {
    const pipeline = await run(file, { ms: 60_000, quiet_ms: 60_000 });
    const outcome = pipeline.send(logs("a"));
    await pipeline.stop();
    expect(await outcome).toMatchObject(OK);
  });

  it("has no block that is not tried", () => {
    expect([...tried].sort()).toEqual(page.blocks.map(({ file }) => file).sort());
  });
}

import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { fileExporter } from "../../../src/exporters/archive/file/component.js";
import { batchToJson, SIGNALS, type Signal } from "../../../src/plugin.js";
import { otlpJsonFileReceiver } from "../../../src/receivers/file-log/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { plainRecords, receiverConformance } from "../../../src/testing.js";
import { never, startExporter } from "../../exporters/harness.js";
import { logs, metrics, point, spans } from "../../exporters/vendors/recorded.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { temporaryFolder } from "../../support/temporary-folder.js";
import { SetbackIntake, startReceiver } from "../started-receiver.js";
import { keepingLogger } from "./harness.js";

const body = (text: string) => ({ body: { stringValue: text } });
const LOG = batchToJson(logs({ a: "b" }, body("one"), body("two")));
const SPAN = batchToJson(spans({}, {}));
const METRIC = batchToJson(metrics({}, { name: "temp", gauge: { dataPoints: [point(1)] } }));

const configOf = (folder: string, more: object = {}) => ({
  include: [join(folder, "*.json")],
  start_at: "beginning",
  poll_interval: "5ms",
  offsets_directory: join(folder, "offsets"),
  ...more,
});

/** A receiver of all signals, with an intake for each. */
async function startAll(folder: string, signals: readonly Signal[] = SIGNALS, more: object = {}) {
  const { logger, lines } = keepingLogger();
  const intakes = Object.fromEntries(signals.map((signal) => [signal, new SetbackIntake()]));
  const services = { logger, metrics: noMetrics, clock: systemClock, random: () => 0.5, intakes };
  const config = otlpJsonFileReceiver.schema.parse(configOf(folder, more));
  const receiver = otlpJsonFileReceiver.create(config, { id: "otlp_json_file", kind: "receiver", ...services });
  await receiver.start();
  onTestFinished(() => receiver.stop());
  const records = (signal: Signal) => intakes[signal]!.batches.flatMap((batch) => plainRecords(batch));
  return { receiver, intakes, records, lines };
}

const bodiesOf = (records: readonly object[]) => records.map((record) => (record as { body: unknown }).body);

describe("the otlp_json_file receiver", () => {
  it("reads requests of all signals, and adds the name of the file to log records and spans", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.json"), `${LOG}\n${SPAN}\n${METRIC}\n`);
    const { records } = await startAll(folder);
    await expect.poll(() => records("logs").length + records("traces").length + records("metrics").length).toBe(4);
    expect(bodiesOf(records("logs"))).toEqual(["one", "two"]);
    expect(records("logs")[0]).toMatchObject({
      attributes: { "log.file.name": "a.json" },
      resource: { a: "b" },
    });
    expect(records("traces")[0]).toMatchObject({ attributes: { "log.file.name": "a.json" } });
    expect(records("metrics")[0]).toMatchObject({ attributes: {} });
  });

  it("reads what the exporter file writes", async () => {
    const folder = temporaryFolder();
    const exporter = await startExporter(fileExporter, { path: join(folder, "out.json") });
    onTestFinished(() => exporter.stop?.());
    await exporter.send(logs({}, body("one")), never);
    await exporter.send(spans({}, {}), never);
    const { records } = await startAll(folder);
    await expect.poll(() => [records("logs").length, records("traces").length]).toEqual([1, 1]);
  });

  it("hands in the lines of a signal together, and goes on behind them after a restart", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a.json");
    writeFileSync(path, `${LOG}\n${LOG}\n${LOG}\n`);
    const first = await startAll(folder);
    await expect.poll(() => first.records("logs").length).toBe(6);
    expect(first.intakes["logs"]!.batches).toHaveLength(1);
    await first.receiver.stop();
    appendFileSync(path, `${batchToJson(logs({}, body("three")))}\n`);
    const second = await startAll(folder);
    await expect.poll(() => bodiesOf(second.records("logs"))).toEqual(["three"]);
  });

  it("skips signals without a pipeline, and reports lines that are no requests", async () => {
    const folder = temporaryFolder();
    const broken = LOG.slice(0, -5);
    writeFileSync(join(folder, "a.json"), `${SPAN}\n${broken}\nhello\n{}\n{"resourceLogs":[]}\n${LOG}\n`);
    const { records, lines } = await startAll(folder, ["logs"]);
    await expect.poll(() => bodiesOf(records("logs"))).toEqual(["one", "two"]);
    expect(lines.filter((line) => line.includes("a line is not OTLP/JSON"))).toHaveLength(1);
    expect(lines.join()).toContain("a.json");
  });

  it("takes lines that are longer than a megabyte", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.json"), `${batchToJson(logs({}, body("x".repeat(3 * 1024 * 1024))))}\n${LOG}\n`);
    const { records } = await startAll(folder);
    await expect.poll(() => records("logs").length).toBe(3);
  });

  it("keeps the place of lines that are not accepted yet", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.json"), `${LOG}\n`);
    const closed = new SetbackIntake();
    closed.accept = () => new Promise(() => {});
    const receiver = await startReceiver(otlpJsonFileReceiver, configOf(folder), closed, silentLogger);
    void receiver.stop();
    const { records } = await startAll(folder);
    await expect.poll(() => bodiesOf(records("logs"))).toEqual(["one", "two"]);
  });

  it("says that it does not read files again and again", () => {
    const problems = (more: object) => otlpJsonFileReceiver.schema.safeParse(configOf("/tmp", more)).error?.issues;
    expect(problems({ replay_file: false })).toBeUndefined();
    expect(problems({ replay_file: true })).toMatchObject([{ path: ["replay_file"] }]);
    expect(problems({ operators: [] })).toHaveLength(1);
  });

  /** Each receiver has a file of its own, which is there when it starts. */
  const config = () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
    writeFileSync(join(folder, "a.json"), `${LOG}\n${SPAN}\n${METRIC}\n`);
    return configOf(folder);
  };
  for (const { name, run } of receiverConformance(otlpJsonFileReceiver, { config, patienceMs })) it(name, run);
});

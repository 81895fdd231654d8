import { describe, expect, it, onTestFinished } from "vitest";
import { reliability } from "../../../src/extensions/reliability/component.js";
import { type ReceiverFactory, Refusal } from "../../../src/plugin.js";
import { fileReceiver } from "../../../src/receivers/archive/component.js";
import type { Agent } from "../../../src/runtime/host/agent.js";
import { batchToJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { receiverConformance } from "../../../src/testing.js";
import { agentOf, resolve } from "../../support/agent.js";
import { collectingExporter } from "../../support/collecting-exporter.js";
import { CONDITION_LIMIT_MS as patienceMs } from "../../support/limits.js";
import { S3_SERVERS, s3Environment } from "../../support/servers/s3/s3.js";
import { archiveKey, logObject, writeObject } from "../../support/telemetry/archived-objects.js";
import { bodies } from "../../support/telemetry/batches.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const NOON = Date.parse("2026-03-10T12:00:00Z");
const MINUTE = 60_000;
const TIMES = 'starttime: "2026-03-10 12:00", endtime: "2026-03-10 13:00"';

const REQUESTS = {
  logs: { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "a" } }] }] }] },
  traces: { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "a" }] }] }] },
  metrics: {
    resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: "a", gauge: { dataPoints: [{ asInt: "1" }] } }] }] }],
  },
};

function scene(receiver: (folder: string) => string) {
  const folder = temporaryFolder();
  const state = temporaryFolder();
  const collected = collectingExporter();
  const yaml = `
receivers: ${receiver(folder).replace("OFFSETS", `offsets_directory: ${JSON.stringify(`${state}/offsets`)}`)}
exporters: {collect: {sending_queue: {enabled: false}}}
extensions: {reliability: {directory: ${JSON.stringify(`${state}/queue`)}, durability: process}}
service:
  extensions: [reliability]
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [${/^\{(\w+)/.exec(receiver(folder))![1]}], exporters: [collect]}}
`;
  const start = async (): Promise<Agent> => {
    const agent = agentOf(yaml, { components: [reliability, collected.factory] });
    await agent.start();
    onTestFinished(() => agent.stop(1000));
    return agent;
  };
  const add = async (name: string, texts: readonly string[], at = NOON) => {
    const object = await logObject(name, texts, "otlp_proto", "gzip");
    writeObject(folder, archiveKey(at, object.name), object.bytes);
  };
  const texts = () => collected.batches.flatMap(bodies);
  return { folder, collected, start, add, texts };
}

describe("the file receiver", () => {
  it("reads the files of its time range once, from old to new, and not again after a restart", async () => {
    const { start, add, texts, collected } = scene(
      (folder) => `{file: {path: ${folder}, partition_timezone: UTC, ${TIMES}, OFFSETS}}`,
    );
    await add("a", ["before"], NOON - MINUTE);
    await add("b", ["2"], NOON + 30 * MINUTE);
    await add("a", ["1"], NOON);
    await add("c", ["after"], NOON + 60 * MINUTE);
    const agent = await start();
    await expect.poll(texts).toEqual(["1", "2"]);
    await agent.stop(1000);
    const again = await start();
    await again.stop(1000);
    expect(collected.count).toBe(2);
  });

  it("goes on after a restart with what no exporter had taken", async () => {
    const { start, add, texts, collected } = scene(
      (folder) => `{file: {path: ${folder}, partition_timezone: UTC, ${TIMES}, OFFSETS}}`,
    );
    for (let i = 0; i < 20; i++) await add(`${i}`, [`${i}`], NOON + i * MINUTE);
    collected.refuse(new Refusal("transient", "not now"));
    const agent = await start();
    await expect.poll(() => collected.refused).toBeGreaterThan(3);
    await agent.stop(1000);
    expect(texts()).toEqual([]);
    collected.refuse(undefined);
    await start();
    await expect.poll(() => collected.count).toBe(20);
    expect(texts()).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
  });

  it("does not read again what exporters took while the agent stopped", async () => {
    const { start, add, texts, collected } = scene(
      (folder) => `{file: {path: ${folder}, partition_timezone: UTC, ${TIMES}, OFFSETS}}`,
    );
    for (let i = 0; i < 20; i++) await add(`${i}`, [`${i}`], NOON + i * MINUTE);
    collected.shut();
    const agent = await start();
    await expect.poll(() => collected.waiting).toBeGreaterThan(1);
    const stopped = agent.stop(5000);
    collected.open();
    await stopped;
    expect(collected.count).toBeGreaterThan(1);
    await start();
    await expect.poll(() => new Set(texts()).size).toBe(20);
    expect(texts()).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
  });

  it("leaves out files of other prefixes, damaged ones and those of other signals, and marks records if asked", async () => {
    const config = (folder: string) =>
      `{file: {path: ${folder}, partition_timezone: UTC, ${TIMES}, mark_rehydrated: true, OFFSETS}}`;
    const { start, add, texts, collected, folder } = scene(config);
    await add("a", ["good"], NOON);
    writeObject(folder, archiveKey(NOON, "logs_b.binpb"), Buffer.from("damaged"));
    writeObject(folder, archiveKey(NOON, "traces_b.json"), Buffer.from('{"resourceSpans":[]}'));
    const { bytes } = await logObject("x", ["other"]);
    writeObject(folder, archiveKey(NOON, "prod-logs_x.binpb"), bytes);
    await add("z", ["last"], NOON + MINUTE);
    await start();
    await expect.poll(texts).toEqual(["good", "last"]);
    expect(batchToJson(collected.batches[0]!)).toContain(
      `"sluice.rehydrated_from","value":{"stringValue":"file:${folder}/year=2026/month=03/day=10/hour=12/minute=00/logs_a.binpb.gz"}`,
    );
  });

  /** An archive with objects of all signals. */
  const config = () => {
    const folder = temporaryFolder();
    for (const [signal, json] of Object.entries(REQUESTS))
      for (let i = 0; i < 60; i++)
        writeObject(folder, archiveKey(NOON + i * MINUTE, `${signal}_${i}.json`), Buffer.from(JSON.stringify(json)));
    return {
      path: folder,
      partition_timezone: "UTC",
      starttime: "2026-03-10",
      endtime: "2026-03-11",
      offsets_directory: `${folder}/offsets`,
    };
  };
  for (const { name, run } of receiverConformance(fileReceiver as ReceiverFactory, { config, patienceMs }))
    it(name, run);
});

describe("the config of the aws_s3 receiver", () => {
  const yaml = (keys: string) => `
receivers: {awss3: {${keys}}}
exporters: {nop: {}}
service: {pipelines: {logs: {receivers: [awss3], exporters: [nop]}}}
`;
  const downloader = "s3downloader: {s3_bucket: archive, s3_prefix: prod, endpoint_partition_id: aws}";

  it("takes the Collector's keys and times", () => {
    for (const times of [TIMES, 'starttime: "2026-03-10", endtime: "2026-03-10T13:00:00+02:00"'])
      expect(() => resolve(yaml(`${times}, ${downloader}`))).not.toThrow();
  });

  it.each([
    [`${TIMES}, ${downloader}, sqs: {queue_url: x, region: y}`, "objects are found by time"],
    [
      `${TIMES}, ${downloader}, encodings: [{extension: text_encoding, suffix: .txt}]`,
      "encoding extensions do not exist",
    ],
    [`${TIMES}, ${downloader}, notifications: {opampextension: opamp}`, "progress is not sent to an OpAMP server"],
    [`starttime: noon, endtime: "2026-03-10", ${downloader}`, "expected 2026-01-31"],
    [`starttime: "2026-03-11", endtime: "2026-03-10", ${downloader}`, "expected a time after starttime"],
    [`${TIMES}, s3downloader: {s3_bucket: a, s3_partition_format: "%H"}`, "must contain %Y"],
    [`${TIMES}, s3downloader: {s3_bucket: a, s3_partition: day}`, "s3_partition"],
    [`${TIMES}, s3downloader: {s3_bucket: a, s3_partition_timezone: Nowhere/City}`, "expected a zone"],
    [downloader, "starttime"],
  ])("refuses %s", (keys, message) => expect(() => resolve(yaml(keys))).toThrow(message));
});

describe.each(S3_SERVERS)("the aws_s3 receiver at %s", (_name, startServer) => {
  it("reads the objects of its partitions under its prefix, and goes on after failures of the server", async () => {
    const server = await startServer();
    onTestFinished(() => server.close());
    useEnvironment(s3Environment);
    onTestFinished(() => useEnvironment(process.env));
    const place = `{region: us-east-1, s3_bucket: archive, s3_prefix: prod, s3_partition: hour, s3_partition_timezone: UTC, endpoint: "${server.endpoint}", s3_force_path_style: true}`;
    const { start, texts } = scene(() => `{aws_s3: {${TIMES}, s3downloader: ${place}, OFFSETS}}`);
    const { S3Client } = await import("../../../src/runtime/net/aws/s3/s3-client.js");
    const { systemClock } = await import("../../../src/runtime/contract/clock.js");
    const { silentLogger } = await import("../../../src/runtime/contract/observability.js");
    const address = { region: "us-east-1", bucket: "archive", endpoint: new URL(server.endpoint), isPathStyle: true };
    const client = new S3Client(address, "", { clock: systemClock, random: Math.random, logger: silentLogger });
    onTestFinished(() => client.close());
    const { signal } = new AbortController();
    for (let i = 0; i < 6; i++) {
      const { name, bytes } = await logObject(`${i}`, [`${i}`]);
      await client.putObject(`prod/year=2026/month=03/day=10/hour=12/${name}`, bytes, signal);
      await client.putObject(`other/year=2026/month=03/day=10/hour=12/${name}`, bytes, signal);
    }
    if (server.emulator !== undefined) {
      let calls = 0;
      server.emulator.fault = () => (calls++ % 3 === 0 ? "503 SlowDown" : undefined);
    }
    await start();
    await expect.poll(texts).toEqual(["0", "1", "2", "3", "4", "5"]);
  });
});

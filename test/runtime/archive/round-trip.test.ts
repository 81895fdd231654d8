import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { awsS3Exporter } from "../../../src/exporters/archive/aws-s3/component.js";
import { fileExporter } from "../../../src/exporters/archive/file/component.js";
import { reliability } from "../../../src/extensions/reliability/component.js";
import { type Batch, batchFromJson, type Exporter, SIGNALS, type Signal } from "../../../src/plugin.js";
import { batchToJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { useEnvironment } from "../../../src/runtime/system/environment.js";
import { exporterContext, never } from "../../exporters/support.js";
import { agentOf } from "../../support/agent.js";
import { collectingExporter } from "../../support/collecting-exporter.js";
import { S3_SERVERS, s3Environment } from "../../support/servers/s3/s3.js";
import { availableHere } from "../../support/telemetry/with-zstd.js";
import { temporaryFolder } from "../../support/temporary-folder.js";

const HOUR = 3_600_000;
const RECORDS = 6;
const COMPRESSIONS = availableHere(["none", "gzip", "zstd"]);
const FORMS = ["otlp_json", "otlp_proto"].flatMap((format) => COMPRESSIONS.map((packed) => ({ format, packed })));
const BODY_FORMS = COMPRESSIONS.map((packed) => ({ format: "body", packed }));
/** Zones whose clocks differ from UTC by whole hours, by half an hour, and not at all. */
const ZONES = ["UTC", "America/New_York", "Asia/Kolkata"];

/** Requests with records that differ in all their kinds of values, each in a resource of its own. */
const REQUESTS: Readonly<Record<Signal, (id: string, i: number) => object>> = {
  logs: (id, i) => ({
    scopeLogs: [
      {
        scope: { name: "scope", version: "1" },
        logRecords: [
          {
            timeUnixNano: `170000000000000000${i % 10}`,
            severityNumber: 1 + (i % 24),
            body: i % 2 === 0 ? { stringValue: `${id} ${i} ünïcode` } : { kvlistValue: { values: attributes(id, i) } },
            attributes: attributes(id, i),
            traceId: "5b8efff798038103d269b633813fc60c",
          },
        ],
      },
    ],
  }),
  traces: (id, i) => ({
    scopeSpans: [
      {
        spans: [
          {
            traceId: "5b8efff798038103d269b633813fc60c",
            spanId: "eee19b7ec3c1b174",
            name: `${id} ${i}`,
            kind: 1 + (i % 5),
            startTimeUnixNano: "1700000000000000001",
            endTimeUnixNano: "1700000000000000009",
            attributes: attributes(id, i),
            events: [{ timeUnixNano: "1700000000000000002", name: "event", attributes: attributes(id, i) }],
          },
        ],
      },
    ],
  }),
  metrics: (id, i) => ({
    scopeMetrics: [
      {
        metrics: [
          i % 2 === 0
            ? { name: id, unit: "By", sum: { ...CUMULATIVE, isMonotonic: true, dataPoints: [point(id, i)] } }
            : { name: id, histogram: { ...CUMULATIVE, dataPoints: [{ ...HISTOGRAM, attributes: attributes(id, i) }] } },
        ],
      },
    ],
  }),
};
const CONTAINERS = { logs: "resourceLogs", traces: "resourceSpans", metrics: "resourceMetrics" } as const;
const CUMULATIVE = { aggregationTemporality: 2 };
const HISTOGRAM = { timeUnixNano: "1700000000000000001", count: "3", bucketCounts: ["1", "2"], explicitBounds: [0.5] };

function attributes(id: string, i: number): object[] {
  return [
    { key: "id", value: { stringValue: id } },
    { key: "i", value: { intValue: `${i}` } },
    { key: "share", value: { doubleValue: i / 3 } },
    { key: "bytes", value: { bytesValue: Buffer.from([i, 255]).toString("base64") } },
  ];
}

function point(id: string, i: number): object {
  return { timeUnixNano: "1700000000000000001", asInt: `${i}`, attributes: attributes(id, i) };
}

function batchOf(signal: Signal, id: string): Batch {
  const list = Array.from({ length: RECORDS }, (_, i) => ({
    resource: { attributes: [{ key: "service.name", value: { stringValue: id } }] },
    ...REQUESTS[signal](id, i),
  }));
  return batchFromJson(signal, JSON.stringify({ [CONTAINERS[signal]]: list }));
}

/** The records with their resources, in an order that does not depend on how they are divided into batches. */
function recordsOf(batches: readonly Batch[]): string[] {
  return batches.flatMap((batch) => resourcesOf(batch).map((each) => JSON.stringify(withoutMarks(each)))).sort();
}

interface ResourceJson {
  readonly resource: { readonly attributes: readonly { readonly key: string }[] };
}

function resourcesOf(batch: Batch): readonly ResourceJson[] {
  return JSON.parse(batchToJson(batch))[CONTAINERS[batch.signal]];
}

function withoutMarks({ resource, ...rest }: ResourceJson): object {
  return { resource: { attributes: resource.attributes.filter(({ key }) => !key.startsWith("sluice.")) }, ...rest };
}

function bodiesOf(batches: readonly Batch[]): unknown[] {
  return batches
    .flatMap((batch) => resourcesOf(batch) as never as { scopeLogs: { logRecords: { body: object }[] }[] }[])
    .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords.map(({ body }) => body)))
    .map((body) => JSON.stringify(body))
    .sort();
}

/** An archive: exporters that write to it, and both ways to read it. All other keys have their defaults. */
interface TestArchive {
  exporter(format: string, packed: string): Exporter;
  /** A receiver, as YAML. */
  readonly receiver: { readonly type: string; readonly keys: string };
  readonly from: { readonly from: string; readonly endpoint?: string; readonly pathStyle?: boolean };
}

function folderArchive(): TestArchive {
  const folder = temporaryFolder();
  return {
    exporter(format, packed) {
      const keys = {
        path: folder,
        format: format === "otlp_proto" ? "proto" : "json",
        partition: { compression: packed },
      };
      return fileExporter.create(fileExporter.schema.parse(keys) as never, exporterContext());
    },
    receiver: { type: "file", keys: `path: ${JSON.stringify(folder)}` },
    from: { from: `file:${folder}` },
  };
}

async function bucketArchive(start: (typeof S3_SERVERS)[number][1], prefix = ""): Promise<TestArchive> {
  const server = await start();
  onTestFinished(() => server.close());
  useEnvironment(s3Environment);
  onTestFinished(() => useEnvironment(process.env));
  const place = { s3_bucket: "archive", s3_prefix: prefix, endpoint: server.endpoint, s3_force_path_style: true };
  return {
    exporter(marshaler, compression) {
      const keys = { marshaler, s3uploader: { ...place, compression } };
      return awsS3Exporter.create(awsS3Exporter.schema.parse(keys) as never, exporterContext());
    },
    receiver: { type: "aws_s3", keys: `s3downloader: ${JSON.stringify(place)}` },
    from: { from: `s3://archive/${prefix}`, endpoint: server.endpoint, pathStyle: true },
  };
}

type Archived = readonly (readonly [Signal, (typeof FORMS)[number]])[];
const EVERYTHING: Archived = SIGNALS.flatMap((signal) => FORMS.map((form) => [signal, form] as const));
const BODIES: Archived = BODY_FORMS.map((form) => ["logs", form] as const);

async function write(archive: TestArchive, archived: Archived): Promise<Batch[]> {
  const batches: Batch[] = [];
  for (const [signal, { format, packed }] of archived) {
    const exporter = archive.exporter(format, packed);
    const batch = batchOf(signal, `${signal} ${format} ${packed}`);
    await exporter.start?.();
    const firstSeenAt = Date.now();
    const idempotencyKey = `${signal} ${format} ${packed}`;
    // The second attempt takes the place of the first.
    for (const attempt of [1, 2])
      await exporter.send(batch, never, { idempotencyKey, delivery: { attempt, firstSeenAt, receiver: "otlp" } });
    await exporter.stop?.();
    batches.push(batch);
  }
  return batches;
}

async function readerOf(receiver: string) {
  const folder = temporaryFolder();
  const collected = collectingExporter();
  const pipelines = SIGNALS.map(
    (signal) => `${signal}: {receivers: [${receiver.split(":")[0]}], exporters: [collect]}`,
  );
  const agent = agentOf(
    `
receivers: {${receiver}}
exporters: {collect: {sending_queue: {queue_size: 0}}}
extensions: {reliability: {directory: ${JSON.stringify(`${folder}/queue`)}, durability: process}}
service: {extensions: [reliability], telemetry: {metrics: {level: none}}, pipelines: {${pipelines.join(", ")}}}
`.replace("OFFSETS", `offsets_directory: ${JSON.stringify(`${folder}/offsets`)}`),
    { components: [reliability, collected.factory] },
  );
  await agent.start();
  onTestFinished(() => agent.stop(1000));
  return { agent, collected };
}

/** Reads with the receiver. */
async function receive({ receiver: { type, keys } }: TestArchive, count: number): Promise<readonly Batch[]> {
  const [starttime, endtime] = [Date.now() - HOUR, Date.now() + HOUR].map((at) => new Date(at).toISOString());
  const { agent, collected } = await readerOf(
    `${type}: {starttime: "${starttime}", endtime: "${endtime}", ${keys}, OFFSETS}`,
  );
  await expect.poll(() => collected.count).toBe(count);
  await agent.stop(1000);
  return collected.batches;
}

/** Reads with a rehydration. */
async function rehydrate({ from }: TestArchive, count: number): Promise<readonly Batch[]> {
  const { agent, collected } = await readerOf("nop: {}");
  const jobs = agent.admin!.actingAs({ actor: "alice" }).rehydrations!;
  const until = new Date(Date.now() + HOUR).toISOString();
  const { id } = await jobs.start({ ...from, to: "collect", since: "1h", until }, { by: "alice" });
  await expect.poll(async () => (await jobs.get(id))?.state).not.toBe("running");
  expect(await jobs.get(id)).toMatchObject({ state: "done", sent: count, problems: [] });
  await expect.poll(() => collected.count).toBe(count);
  await agent.stop(1000);
  return collected.batches;
}

const ARCHIVES: readonly (readonly [string, () => Promise<TestArchive>])[] = [
  ["a folder", async () => folderArchive()],
  ...S3_SERVERS.map(([name, start]) => [name, () => bucketArchive(start)] as const),
];
const READERS = [
  ["the receiver", receive],
  ["a rehydration", rehydrate],
] as const;

describe.each(ZONES)("in the time zone %s", (zone) => {
  const before = process.env["TZ"];
  beforeEach(() => {
    process.env["TZ"] = zone;
  });
  afterEach(() => {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });

  describe.each(ARCHIVES)("an archive in %s", (_name, make) => {
    it.each(READERS)("is read back by %s with the same records, each once", async (_, read) => {
      const archive = await make();
      const batches = await write(archive, EVERYTHING);
      expect(recordsOf(await read(archive, EVERYTHING.length * RECORDS))).toEqual(recordsOf(batches));
    });
  });

  describe.each(S3_SERVERS)("an archive of bodies in %s", (_name, start) => {
    it.each(READERS)("is read back by %s as texts, each once", async (_, read) => {
      const archive = await bucketArchive(start);
      const isText = (body: unknown) => String(body).startsWith('{"stringValue":"logs body');
      const written = bodiesOf(await write(archive, BODIES)).filter(isText);
      const found = bodiesOf(await read(archive, BODIES.length * RECORDS));
      expect(found).toHaveLength(BODIES.length * RECORDS);
      expect(found.filter(isText)).toEqual(written);
    });
  });
});

describe.each(S3_SERVERS)("an archive with a prefix in %s", (name, start) => {
  // MinIO drops a slash at the start when it stores an object, and not when it lists objects.
  const prefixes = name === "MinIO" ? ["prod/eu/"] : ["/prod", "prod/eu/", "//prod//eu", "/"];
  const cases = prefixes.flatMap((prefix) => READERS.map(([reader, read]) => [prefix, reader, read] as const));
  it.each(cases)("(%s) is read back by %s under the same prefix", async (prefix, _, read) => {
    const archive = await bucketArchive(start, prefix);
    await write(archive, BODIES);
    expect(bodiesOf(await read(archive, BODIES.length * RECORDS))).toHaveLength(BODIES.length * RECORDS);
  });
});
